"""`duetty replay`."""

import argparse
import os
from pathlib import Path

from duetty.cli.reach import add_instance, add_server, reach
from duetty.client import session_path
from duetty.errors import BadArguments

EXAMPLES = (
    (
        "duetty replay build.cast",
        "play a recording (space pauses, + and - change the speed, q ends)",
    ),
    ("duetty replay build --speed 4", "what session build printed, four times as fast"),
    ("duetty replay build.cast --idle 1", "no pause longer than a second"),
    ("duetty replay build.cast --text", "the last screen as text, at once"),
    ("duetty replay build --messages", "messages to the agent and its calls, with times"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("source", metavar="FILE|SESSION", help="an asciicast, or a session's name")
    parser.add_argument("--speed", type=float, default=1.0, help="times as fast (default 1)")
    parser.add_argument(
        "--idle",
        type=float,
        metavar="S",
        help="longest pause in seconds; as recorded when left out",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--text", action="store_true", help="print the last screen, play nothing")
    instead.add_argument(
        "--messages", action="store_true", help="print the recording's markers, play nothing"
    )


def run(arguments: argparse.Namespace) -> int:
    from duetty.cli.attach.outer import Outer, abilities_of
    from duetty.cli.player import Player, last_screen, markers, parse_recording

    if not 0.01 <= arguments.speed <= 1000:
        raise BadArguments("--speed is between 0.01 and 1000")
    recording = parse_recording(_lines(arguments), idle_s=arguments.idle)
    if arguments.text:
        print("\n".join(last_screen(recording)))
        return 0
    if arguments.messages:
        print("\n".join(markers(recording)))
        return 0
    outer = Outer()
    try:
        Player(recording, outer, abilities_of(os.environ), speed=arguments.speed).run()
    finally:
        outer.close()
    return 0


def _lines(arguments: argparse.Namespace) -> list[bytes]:
    path = Path(arguments.source)
    if path.is_file():
        return path.read_bytes().splitlines()
    if "/" in arguments.source or path.suffix == ".cast":
        raise BadArguments(f"there is no file {arguments.source}")
    with reach(arguments).lines(
        session_path(arguments.source, "/recording"), version="3", wait_s=300
    ) as lines:
        return list(lines)
