"""`duetty tag`."""

import argparse

from duetty.cli.reach import add_instance, add_server, reach
from duetty.cli.show import add_json, as_json
from duetty.client import session_path

EXAMPLES = (
    ("duetty tag build", "its tags"),
    ("duetty tag build --add ci --remove draft", "change them, all at once"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("--add", action="append", default=[], metavar="TAG", help="may be repeated")
    parser.add_argument(
        "--remove", action="append", default=[], metavar="TAG", help="may be repeated"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    client, path = reach(arguments), session_path(arguments.session)
    if arguments.add or arguments.remove:
        session = client.patch(path, {"add_tags": arguments.add, "remove_tags": arguments.remove})
    else:
        session = client.get(path)
    if arguments.json:
        as_json(session["tags"])
    else:
        print("\n".join(session["tags"]) if session["tags"] else "No tags.")
    return 0
