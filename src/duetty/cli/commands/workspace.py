"""`duetty workspace`."""

import argparse
from pathlib import Path

from duetty.cli.reach import add_instance, add_server, reach
from duetty.cli.show import add_json, as_json
from duetty.client import session_path

EXAMPLES = (
    ("duetty workspace work", "where agents change files of session work without a question"),
    ("duetty workspace work ~/src/app", "from now on there"),
    ("duetty workspace work --none", "nowhere: each deletion is asked about"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("session", metavar="SESSION")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("directory", metavar="DIR", nargs="?", help="its new workspace")
    chosen.add_argument("--none", action="store_true", help="it has none from now on")
    add_json(parser, note=": the session")


def run(arguments: argparse.Namespace) -> int:
    client, path = reach(arguments), session_path(arguments.session)
    if arguments.none or arguments.directory is not None:
        place = "" if arguments.none else str(Path(arguments.directory).expanduser().absolute())
        session = client.patch(path, {"workspace": place})
    else:
        session = client.get(path)
    if arguments.json:
        as_json(session)
    else:
        print(session["workspace"] or "none")
    return 0
