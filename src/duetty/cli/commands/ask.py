"""`duetty ask`."""

import argparse
import os
import stat
import sys
from pathlib import Path
from typing import Any

from duetty.cli.agent_stream import AgentStream
from duetty.cli.reach import add_instance, add_server, reach_or_spawn
from duetty.cli.sandbox_options import add_sandbox, confinement
from duetty.errors import BadArguments

MAX_PIPED_BYTES = 300_000
"""Of what is piped in: its head and its tail."""

EXAMPLES = (
    ('duetty ask "why does the build fail?"', "in a session of its own, in this directory"),
    ('make 2>&1 | duetty ask "why"', "about what is piped in"),
    ('duetty ask --session build "fix that"', "where you work yourself"),
    ('duetty ask --sandbox "run the tests"', "it writes in this directory only"),
    ('duetty ask "explain @src/main.py"', "@PATH, @block:ID, @session, @mcp:SERVER/RESOURCE"),
    ('duetty ask -c 3f2a "and the tests?"', "go on with a conversation"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_instance(parser)
    add_server(parser)
    parser.add_argument("message", nargs="+", metavar="MESSAGE", help="what you want")
    parser.add_argument("--session", "-s", help="work in this session; else in one of its own")
    parser.add_argument("--conversation", "-c", metavar="ID", help="go on with this one")
    add_sandbox(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--quiet", "-q", action="store_true", help="only what the agent says")


def run(arguments: argparse.Namespace) -> int:
    client = reach_or_spawn(arguments)
    wanted: dict[str, Any] = {
        "text": " ".join(arguments.message),
        "session": arguments.session,
        "conversation": arguments.conversation,
        "attached": _piped(),
        "attends": sys.stderr.isatty() or None,
    }
    here = not (arguments.server or arguments.hub)
    if arguments.session is None and arguments.conversation is None and here:
        wanted["cwd"] = str(Path.cwd())
    if arguments.conversation is None and arguments.sandbox != "none":
        wanted |= confinement(arguments, here=here)
    given = {name: value for name, value in wanted.items() if value is not None}
    sent = client.post("/agent/messages", given, wait_s=120)
    stream = AgentStream(client, sent["info"]["id"], arguments, after=sent["seq"])
    return stream.run()


def _piped() -> str | None:
    """What is piped into us; nothing where that is a terminal, or no input at all."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return None
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
        return None
    head = sys.stdin.buffer.read(MAX_PIPED_BYTES // 2)
    tail, left_out = b"", 0
    while chunk := sys.stdin.buffer.read(65_536):
        tail += chunk
        if len(tail) > MAX_PIPED_BYTES // 2:
            left_out += len(tail) - MAX_PIPED_BYTES // 2
            tail = tail[-MAX_PIPED_BYTES // 2 :]
    between = f"\n[… {left_out} bytes left out …]\n".encode() if left_out else b""
    text = (head + between + tail).decode("utf-8", "replace")
    if "\0" in text:
        raise BadArguments("what is piped in is no text")
    return text or None
