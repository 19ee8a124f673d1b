"""`duetty rename`."""

import argparse

from duetty.cli.reach import add_instance, add_server, reach
from duetty.client import session_path

EXAMPLES = (("duetty rename 0 build", "session 0 is called build from now on"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("name", metavar="NAME", help="its new name")


def run(arguments: argparse.Namespace) -> int:
    reach(arguments).patch(session_path(arguments.session), {"name": arguments.name})
    return 0
