"""`duetty run`."""

import argparse
import os
import shlex
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

from duetty.cli.environment import callers_environment
from duetty.cli.reach import add_instance, add_server, reach_or_spawn
from duetty.cli.run_streams import Stream, piped_input
from duetty.cli.sandbox_options import add_sandbox, confinement
from duetty.cli.show import add_json, as_json, harmless, progress
from duetty.client import Client, RemoteError, session_path
from duetty.errors import BadArguments, DuettyError

EXIT_DEADLINE, EXIT_DUETTY = 124, 125

EXIT_CODES = (
    "the command's own; 124 the time was up and it goes on, 125 Duetty failed or the command"
    " waits for a person to type, 128 + N ended by signal N"
)
MAX_OUTPUT_BYTES = 16_777_216

EXAMPLES = (
    ("duetty run make test", "in a session of its own, here; its exit code is ours"),
    ("duetty run -s build 'cd src && make'", "in session build, with its directory and variables"),
    ("duetty run --json -- ls -l", "exit code, output, duration … for scripts"),
    ("duetty run --server build1 uname -a", "on another server, in its home directory"),
    (
        "duetty run --sandbox=any ./untrusted.sh",
        "it can write in this directory only, and has no network",
    ),
    ("git diff | duetty run wc -l", "standard input goes to the command"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument(
        "-s",
        "--session",
        metavar="SESSION",
        help="run in this session; otherwise in one of its own",
    )
    parser.add_argument(
        "--max-wait",
        type=float,
        default=3600,
        metavar="S",
        help="overall bound in seconds (default 3600)",
    )
    parser.add_argument(
        "--stream",
        action="store_true",
        help="print lines as they come (the default on a terminal)",
    )
    parser.add_argument(
        "-n", "--no-input", action="store_true", help="do not pass on what is piped in"
    )
    add_sandbox(parser)
    add_json(parser, note=": everything that is known")
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="COMMAND", help="command line, to the end"
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
    words = command_words(arguments.command)
    if not words:
        raise BadArguments("which command?", hint="for example `duetty run make test`")
    if arguments.session and (arguments.sandbox or arguments.workspace):
        raise BadArguments(
            "a session that is there keeps the sandbox it was opened with",
            hint="leave out -s for one of its own, or open one: `duetty new -d --sandbox=any`",
        )
    # One word is a command line as the shell would read it; several are words to be kept apart.
    line = words[0] if len(words) == 1 else shlex.join(words)
    client = reach_or_spawn(arguments)
    opened = (
        client.get(session_path(arguments.session))
        if arguments.session
        else _open(client, arguments)
    )
    name = str(arguments.session or opened["name"])
    try:
        with piped_input(
            line,
            opened["integration"],
            enabled=not (arguments.no_input or arguments.server or arguments.hub),
            seen_at=_seen_at(opened, arguments),
        ) as fed:
            stream = _stream(client, name, arguments)
            with stream if stream is not None else nullcontext(), _waiting(stream):
                answer = client.post(
                    session_path(name, "/run"),
                    {
                        "input": fed,
                        "max_wait_ms": max(1, int(arguments.max_wait * 1000)),
                        "max_output_bytes": MAX_OUTPUT_BYTES,
                    },
                    wait_s=arguments.max_wait + 30,
                )
    finally:
        if not arguments.session:
            with suppress(DuettyError):
                client.delete(session_path(name))
    return _report(answer, arguments, printed_lines=stream.printed if stream is not None else 0)


def command_words(words: list[str]) -> list[str]:
    """Without the `--` that may stand before it."""
    return words[1:] if words[:1] == ["--"] else words


def _stream(client: Client, session: str, arguments: argparse.Namespace) -> Stream | None:
    if arguments.json or not (arguments.stream or sys.stdout.isatty()):
        return None
    return Stream(client, session)


def _waiting(stream: Stream | None) -> AbstractContextManager[None]:
    """A sign of life, unless the command's own lines are one."""
    return progress("running") if stream is None else nullcontext()


def _open(client: Client, arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.server is not None or arguments.hub:
        # This directory, these variables and what is piped in are of this machine.
        return client.post("/sessions", {"tags": ["run"], **confinement(arguments, here=False)})
    return client.post(
        "/sessions",
        {
            "cwd": str(Path.cwd()),
            "env": callers_environment(os.environ),
            "inherit_env": False,
            "tags": ["run"],
            **confinement(arguments),
        },
    )


def _seen_at(opened: dict[str, Any], arguments: argparse.Namespace) -> Path | None:
    """A directory on both sides of the session's sandbox, if it has one: its /tmp is its own."""
    if opened["sandbox"] == "none":
        return None
    return Path(arguments.workspace[0]).absolute() if arguments.workspace else Path.cwd()


def _report(answer: dict[str, Any], arguments: argparse.Namespace, *, printed_lines: int) -> int:
    completed_by, exit_code = answer["completed_by"], answer["exit_code"]
    if arguments.json:
        as_json(answer)
    else:
        output: str = answer["output"] or ""
        rest = output.split("\n")[printed_lines:] if output else []
        if rest:
            sys.stdout.write(harmless("\n".join(rest)) + "\n")
            sys.stdout.flush()
        if completed_by == "deadline":
            print(f"duetty: still running after {arguments.max_wait:g} s", file=sys.stderr)
        elif completed_by in ("input", "fullscreen"):
            print(f"duetty: the command waits ({answer['state']})", file=sys.stderr)
    if completed_by in ("mark", "exit") and exit_code is not None:
        return int(exit_code)
    return EXIT_DEADLINE if completed_by == "deadline" else EXIT_DUETTY
