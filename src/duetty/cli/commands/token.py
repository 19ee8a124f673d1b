"""`duetty token`."""

import argparse
import sys

from duetty.cli.reach import add_instance, paths_of, reach
from duetty.errors import NotFound


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    parser.add_argument(
        "--link", action="store_true", help="print a link that signs one browser in, once"
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.link:
        print(reach(arguments).post("/server/link")["link"])
        return 0
    path = paths_of(arguments).token_file
    if not path.exists():
        raise NotFound("there is no token yet", hint="the server makes one when it first starts")
    sys.stdout.write(path.read_text(encoding="utf-8"))
    return 0
