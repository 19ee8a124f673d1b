"""`duetty run`."""

import argparse
import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from duetty.cli.reach import add_instance, reach_or_spawn
from duetty.cli.show import as_json, progress
from duetty.client import Client, RemoteError, session_path
from duetty.errors import DuettyError

EXIT_DEADLINE, EXIT_DUETTY = 124, 125


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    parser.add_argument("-s", "--session", help="run in this session; otherwise in one of its own")
    parser.add_argument(
        "--max-wait",
        type=float,
        default=3600,
        metavar="S",
        help="overall bound in seconds (default 3600)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print everything that is known, for scripts"
    )
    parser.add_argument(
        "command", nargs="+", metavar="COMMAND", help="command line; after -- it may have options"
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        return _run(arguments)
    except RemoteError as error:
        if arguments.json:
            as_json({"error": {"code": error.code, "message": error.message, "hint": error.hint}})
        else:
            print(f"duetty: {error.message} [{error.code}]", file=sys.stderr)
            if error.hint:
                print(f"  {error.hint}", file=sys.stderr)
        return EXIT_DUETTY


def _run(arguments: argparse.Namespace) -> int:
    words: list[str] = arguments.command
    # One word is a command line as the shell would read it; several are words to be kept apart.
    line = words[0] if len(words) == 1 else shlex.join(words)
    client = reach_or_spawn(arguments)
    own = None if arguments.session else _open(client)
    name = arguments.session or own
    assert name is not None
    try:
        with progress("running"):
            answer = client.post(
                session_path(name, "/run"),
                {
                    "input": line,
                    "max_wait_ms": max(1, int(arguments.max_wait * 1000)),
                    "max_output_bytes": 16_777_216,
                },
                wait_s=arguments.max_wait + 30,
            )
    finally:
        if own:
            with suppress(DuettyError):
                client.delete(session_path(own))
    return _report(answer, arguments)


def _open(client: Client) -> str:
    opened = client.post(
        "/sessions",
        {"cwd": str(Path.cwd()), "env": dict(os.environ), "inherit_env": False, "tags": ["run"]},
    )
    return str(opened["name"])


def _report(answer: dict[str, Any], arguments: argparse.Namespace) -> int:
    completed_by, exit_code = answer["completed_by"], answer["exit_code"]
    if arguments.json:
        as_json(answer)
    else:
        output = answer["output"]
        if output:
            sys.stdout.write(output + "\n")
            sys.stdout.flush()
        if completed_by == "deadline":
            print(f"duetty: still running after {arguments.max_wait:g} s", file=sys.stderr)
        elif completed_by in ("input", "fullscreen"):
            print(f"duetty: the command waits ({answer['state']})", file=sys.stderr)
    if completed_by in ("mark", "exit") and exit_code is not None:
        return int(exit_code)
    return EXIT_DEADLINE if completed_by == "deadline" else EXIT_DUETTY
