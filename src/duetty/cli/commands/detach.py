"""`duetty detach`."""

import argparse

from duetty.cli.reach import add_instance, add_server, reach
from duetty.client import session_path

EXAMPLES = (("duetty detach build", "every terminal attached to build is sent away"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("session", metavar="SESSION")


def run(arguments: argparse.Namespace) -> int:
    reach(arguments).post(session_path(arguments.session, "/detach"))
    return 0
