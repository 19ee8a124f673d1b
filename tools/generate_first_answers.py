"""What the bridge answers while its server starts, as the server itself would: `make docs` writes it, a test compares it.

Usage: generate_first_answers.py
"""

import json
from types import SimpleNamespace
from typing import Any, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from anyio.streams.stapled import StapledObjectStream

from duetty.calls import Actor
from duetty.cli.first_answers import FILE, META, MODERN
from duetty.edges.mcp.dialect import Caller
from duetty.edges.mcp.dialects import DIALECTS
from duetty.edges.mcp.transports import Transports
from duetty.hosts import Hosts
from duetty.ops import Bounds

NAMES = ("wsh",)
"""Those whose answers are the same on every machine and at every time."""

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
CLIENT = {"name": "host", "version": "1"}


async def first_answers() -> str:
    """One line for each answer: dialect, revision, method, result."""
    lines: list[str] = []
    # No tool is called, so nothing but the bounds and a list of hosts is behind them.
    nothing = cast("Any", SimpleNamespace(bounds=Bounds(), hosts=Hosts()))
    transports = Transports(DIALECTS, nothing, default=NAMES[0])
    async with transports.running():
        for name in NAMES:
            for version in (*HANDSHAKES, MODERN):
                for method, result in await _asked(transports, name, version):
                    told = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
                    lines.append(f"{name}\t{version}\t{method}\t{told}\n")
    return "".join(lines)


async def _asked(
    transports: Transports, name: str, version: str
) -> list[tuple[str, dict[str, Any]]]:
    asked: list[tuple[str, Any]]
    if version == MODERN:
        meta = {"protocolVersion": MODERN, "clientCapabilities": {}, "clientInfo": CLIENT}
        params: Any = {"_meta": {META + key: value for key, value in meta.items()}}
        asked = [("server/discover", params), ("tools/list", params)]
    else:
        hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
        asked = [("initialize", hello), ("tools/list", {})]
    to_server, said = anyio.create_memory_object_stream[bytes](10)
    heard, from_server = anyio.create_memory_object_stream[bytes](10)
    stream: Any = _Lines(heard, said)
    greeting = ("duetty/hello", {"dialect": name})
    found: list[tuple[str, dict[str, Any]]] = []
    async with anyio.create_task_group() as tasks, to_server, from_server, said, heard:
        tasks.start_soon(transports.lines, Caller(actor=Actor(kind="agent", name="host")), stream)
        for method, params in (greeting, *asked):
            found.append((method, await _ask(to_server, from_server, method, params)))
        tasks.cancel_scope.cancel()
    return found[1:]


class _Lines(StapledObjectStream[bytes]):
    """Messages as a stream of bytes, whose reader says how much it takes: each of ours is less."""

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        return await super().receive()


async def _ask(
    to_server: MemoryObjectSendStream[bytes],
    from_server: MemoryObjectReceiveStream[bytes],
    method: str,
    params: object,
) -> dict[str, Any]:
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    await to_server.send(json.dumps(request).encode() + b"\n")
    return json.loads(await from_server.receive())["result"]


if __name__ == "__main__":
    FILE.write_text(anyio.run(first_answers), encoding="utf-8")
