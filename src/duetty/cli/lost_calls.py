"""The answer to a tool call whose server died, in the shape of the tool's own contract.

A process of its own finds the words (`python -m duetty.cli.lost_calls`): it loads what a server
loads, and the bridge would hold that memory for as long as its host lives.
"""

import json
import subprocess
import sys
from typing import Any

TOOL = "terminal"
"""The one tool whose contract has an error of its own for this."""

MODERN = "io.modelcontextprotocol/protocolVersion"
"""What a request of the modern era says of itself; its answer says that it is complete."""

WORDS_S = 20.0


def cut_off_answer(line: bytes, message: str) -> bytes | None:
    """The whole answer; None, where an error of JSON-RPC says it all."""
    match json.loads(line):
        case {"params": {"name": str() as name}} if name == TOOL:
            pass
        case _:
            return None
    words = [sys.executable, "-m", "duetty.cli.lost_calls", message]
    try:
        done = subprocess.run(  # noqa: S603 - ourselves
            words, input=line, capture_output=True, timeout=WORDS_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout or None


def _answer(line: bytes, message: str) -> bytes:
    from duetty.edges.mcp.dialects.terminal import cut_off
    from duetty.edges.mcp.plain_calls import response_json, result_json

    request: dict[str, Any] = json.loads(line)
    params: dict[str, Any] = request["params"]
    members = result_json(cut_off(params.get("arguments"), message))
    if MODERN in (params.get("_meta") or {}):
        members += b',"resultType":"complete"'
    return response_json(request["id"], members)


if __name__ == "__main__":
    sys.stdout.buffer.write(_answer(sys.stdin.buffer.read(), sys.argv[1]))
