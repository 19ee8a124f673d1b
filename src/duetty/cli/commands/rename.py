"""`duetty rename`."""

import argparse

from duetty.cli.reach import add_instance, add_server, reach
from duetty.cli.show import add_json, as_json
from duetty.client import session_path

EXAMPLES = (("duetty rename 0 build", "session 0 is called build from now on"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("name", metavar="NAME", help="its new name")
    add_json(parser, note=": the session")


def run(arguments: argparse.Namespace) -> int:
    renamed = reach(arguments).patch(session_path(arguments.session), {"name": arguments.name})
    if arguments.json:
        as_json(renamed)
    return 0
