"""`duetty wait`."""

import argparse
import sys
from typing import get_args

from duetty.cli.reach import add_instance, add_server, reach
from duetty.cli.show import add_json, as_json, progress
from duetty.client import RemoteError, session_path
from duetty.ids import StateWord

EXIT_DEADLINE = 124

EXIT_CODES = (
    "0 it happened, 1 failed, 2 wrong command line, 3 no server answers, 124 the time was up"
)

EXAMPLES = (
    ("duetty wait build --state prompt", "until its shell is ready for the next command"),
    ("duetty wait build --text 'listening on'", "until that was printed"),
    ("duetty wait build --exit && echo gone", "until its process has ended"),
    ("duetty wait build --idle 2 --max-wait 60", "until it was silent for 2 s"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("session", metavar="SESSION")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--text", help="until this text was printed")
    what.add_argument("--regex", help="until something printed matches")
    what.add_argument("--idle", type=float, metavar="S", help="until it was silent for S seconds")
    what.add_argument("--exit", action="store_true", help="until its process has ended")
    what.add_argument(
        "--state", action="append", choices=get_args(StateWord), help="until it does this"
    )
    parser.add_argument(
        "--max-wait", type=float, default=30, metavar="S", help="overall bound (default 30 s)"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    wanted = {
        "text": arguments.text,
        "regex": arguments.regex,
        "idle_ms": None if arguments.idle is None else int(arguments.idle * 1000),
        "exit": arguments.exit or None,
        "state": arguments.state,
        "max_wait_ms": max(1, int(arguments.max_wait * 1000)),
    }
    try:
        with progress("waiting"):
            answer = reach(arguments).post(
                session_path(arguments.session, "/wait"),
                {name: value for name, value in wanted.items() if value is not None},
                wait_s=arguments.max_wait + 30,
            )
    except RemoteError as error:
        if error.status != 504 and not error.code.endswith("_timeout"):
            raise
        print(f"duetty: {error.message} [{error.code}]", file=sys.stderr)
        return EXIT_DEADLINE
    if arguments.json:
        as_json(answer)
    elif answer["match"]:
        from duetty.cli.show import visible

        print(visible(answer["match"]))
    return 0
