"""`duetty persist`."""

import argparse

from duetty.cli.reach import add_instance, reach
from duetty.cli.show import add_json, as_json

EXAMPLES = (
    ("duetty persist", "whether the server stays when it is idle"),
    ("duetty persist on", "it stays until `duetty stop`"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser, hub=False)
    parser.add_argument("mode", nargs="?", choices=("on", "off"), help="asked for when left out")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    client = reach(arguments)
    if arguments.mode is None:
        answer = client.get("/server/persist")
    else:
        answer = client.put("/server/persist", {"persistent": arguments.mode == "on"})
    if arguments.json:
        as_json(answer)
    elif answer["persistent"]:
        print("The server stays until `duetty stop`.")
    else:
        print("The server ends when its last session and its last client are gone.")
    return 0
