"""`duetty keys`."""

import argparse

from duetty.cli.reach import add_instance, add_server, reach
from duetty.client import session_path

EXAMPLES = (
    ("duetty keys build Ctrl-C", "interrupt"),
    ("duetty keys editor Escape : w q Enter", "save and leave vim"),
    ("duetty keys menu Down Down Enter", "choose the third entry"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument(
        "keys",
        nargs="+",
        metavar="KEY",
        help="Enter, Tab, Escape, Up, F5, Ctrl-C, Alt-x … or single characters",
    )


def run(arguments: argparse.Namespace) -> int:
    reach(arguments).post(session_path(arguments.session, "/keys"), {"keys": arguments.keys})
    return 0
