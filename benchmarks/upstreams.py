"""What the gateway adds to a call of an upstream's tool, and what a thousand tools cost.

Side by side: the same client calls the same program, once directly over its standard
streams, once through the gateway.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import AsyncExitStack, ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from benchmarks.measure import Effort, median, percentile, temporary_home
from benchmarks.report import Line, Table, ms
from duetty.upstreams.upstream_settings import as_toml
from tests.edges.mcp.connect import connected, nowhere
from tests.edges.mcp.host import MODERN, hosted
from tests.server_process import ServerProcess, running_server
from tests.upstreams.real_tools import real_tools
from tests.upstreams.running import plain
from tests.upstreams.test_gateway import trust

ROUNDS, TRIPS = 12, 25
ADDED_S = 0.002
LIST_S = 0.050
START_S = 1.0
UPSTREAMS, TOOLS = 20, 1_000
STARTS = 5
LISTS = 20

ECHO: dict[str, dict[str, Any]] = {
    "SDK's server": {
        "command": sys.executable,
        "args": ["-m", "benchmarks.mcp_echo", "stdio"],
        "cwd": str(Path.cwd()),
        "permissions": {"trust_level": "trusted"},
    },
    "bare server": plain(),
}
WAYS = ("stdio-2025", "stdio-2026", "http-2025", "http-2026")


async def run(effort: Effort) -> list[Table]:
    lines = [*await _calls(effort), *await _many(effort)]
    return [
        Table(
            name="upstreams",
            title="Upstreams",
            lines=lines,
            notes=[
                "Calls: `echo` of a program over its standard streams, called by the SDK's client through the gateway, in turns with the "
                "same client that started the same program itself. Added is the difference of the medians.",
                f"{UPSTREAMS} upstreams with {TOOLS:,} tools between them, real ones of npm servers; “all listed” with `mcp.list_at_most` raised, in pages. "
                "A list is timed until a client has all of it as JSON; the SDK's own client takes longer, as it makes objects of it. "
                "Start: from the start of `duetty server` until it answers, and until it lists every tool that was accepted.",
            ],
        )
    ]


# --- one call -------------------------------------------------------------------------


async def _calls(effort: Effort) -> list[Line]:
    lines: list[Line] = []
    with temporary_home() as home:
        names = {kind: f"echo{at}" for at, kind in enumerate(ECHO)}
        config = "\n".join(as_toml(names[kind], table) for kind, table in ECHO.items())
        (home / "config.toml").write_text(config, encoding="utf-8")
        with running_server(home) as server:
            for name in names.values():
                trust(server, name)
            for kind, table in ECHO.items():
                for way in WAYS if kind == "SDK's server" else ("stdio-2025",):
                    effort.say(f"{kind}, {way}")
                    tool = f"mcp__{names[kind]}__echo"
                    lines.append(await _beside(server, effort, way, kind, table, tool))
    return lines


async def _beside(
    server: ServerProcess, effort: Effort, way: str, kind: str, table: dict[str, Any], tool: str
) -> Line:
    mode = "legacy" if way.endswith("2025") else "auto"
    parameters = StdioServerParameters(
        command=table["command"], args=table["args"], cwd=table.get("cwd")
    )
    ours: list[float] = []
    bare: list[float] = []
    async with AsyncExitStack() as stack:
        transport = stdio_client(parameters, errlog=stack.enter_context(nowhere()))
        direct = await stack.enter_async_context(Client(transport, mode=mode))
        gateway = await stack.enter_async_context(connected(way, server, dialect="gateway"))
        for turn in range(1 + effort.times(ROUNDS, quick=2)):
            taken = [await _time(gateway, tool) for _ in range(TRIPS)]
            taken_bare = [await _time(direct, "echo") for _ in range(TRIPS)]
            if turn:  # the first warms everything
                ours += taken
                bare += taken_bare
    added = median(ours) - median(bare)
    return Line(
        what=f"a call through the gateway, {way}, {kind}",
        measured=f"{ms(median(ours))}, p95 {ms(percentile(ours, 95))}",
        beside=f"{ms(median(bare))} directly",
        ratio=median(ours) / median(bare),
        target=f"adds ≤ {ms(ADDED_S)}: {ms(added)}",
        met=added <= ADDED_S,
    )


async def _time(client: Client, tool: str) -> float:
    began_s = time.perf_counter()
    await client.call_tool(tool, {"text": "hello"})
    return time.perf_counter() - began_s


# --- a thousand tools -----------------------------------------------------------------


def many_tables(home: Path, *, at_most: int | None = None) -> list[str]:
    """Writes the settings of all of them; their names."""
    real = [wire for _, wire in real_tools()]
    names: list[str] = []
    config = [] if at_most is None else [f"[mcp]\nlist_at_most = {at_most}\n"]
    for number in range(UPSTREAMS):
        each = TOOLS // UPSTREAMS
        tools = [
            {**real[(number * each + at) % len(real)], "name": f"tool_{number}_{at}"}
            for at in range(each)
        ]
        name = f"server-{number}"
        file = home / f"{name}.json"
        file.write_text(json.dumps(tools), encoding="utf-8")
        config.append(as_toml(name, plain(tools_file=str(file))))
        names.append(name)
    (home / "config.toml").write_text("\n".join(config), encoding="utf-8")
    return names


async def _many(effort: Effort) -> list[Line]:
    lines: list[Line] = []
    for what, at_most in (("all listed", 10_000), ("as it is by default", None)):
        with temporary_home() as home:
            names = many_tables(home, at_most=at_most)
            with running_server(home) as server:
                for name in names:
                    trust(server, name)
                for way in ("stdio-2025", "http-2026"):
                    effort.say(f"{TOOLS} tools, {what}, {way}")
                    lines.append(await _lists(server, way, what))
            if at_most is None:
                effort.say("starts")
                lines += await _starts(home, effort)
    return lines


async def _lists(server: ServerProcess, way: str, what: str) -> Line:
    """By a client that reads the answers as JSON, beside the SDK's, which makes objects of them."""
    count, plain_s = await anyio.to_thread.run_sync(_plain_lists, server, way)
    taken: list[float] = []
    async with connected(way, server, dialect="gateway") as client:
        for turn in range(1 + LISTS):
            began_s = time.perf_counter()
            cursor = None
            while True:
                page = await client.list_tools(cursor=cursor, cache_mode="refresh")
                cursor = page.next_cursor
                if cursor is None:
                    break
            if turn:
                taken.append(time.perf_counter() - began_s)
    return Line(
        what=f"`tools/list` of {TOOLS:,} tools, {what}, {way}",
        measured=f"{ms(median(plain_s))}, p95 {ms(percentile(plain_s, 95))}",
        beside=f"{count} tools; {ms(median(taken))} in the SDK's client",
        target=f"≤ {ms(LIST_S)}",
        met=median(plain_s) <= LIST_S,
    )


def _plain_lists(server: ServerProcess, way: str) -> tuple[int, list[float]]:
    """How many tools there are, and how long each list took with all its pages."""
    with ExitStack() as stack:
        if way.startswith("stdio"):
            host = stack.enter_context(hosted(server, "--dialect", "gateway"))
            host.shake_hands()

            def ask(params: dict[str, Any]) -> dict[str, Any]:
                return host.ask("tools/list", params)["result"]
        else:
            address = urlsplit(server.url())
            assert address.hostname is not None
            connection = HTTPConnection(address.hostname, address.port)
            stack.callback(connection.close)
            headers = {
                "Authorization": f"Bearer {server.token()}",
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": MODERN["io.modelcontextprotocol/protocolVersion"],
                "MCP-Method": "tools/list",
            }

            def ask(params: dict[str, Any]) -> dict[str, Any]:
                request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
                body = json.dumps(request | {"params": params | {"_meta": MODERN}})
                connection.request("POST", "/mcp/gateway", body, headers)
                return json.loads(connection.getresponse().read())["result"]

        count, taken = 0, list[float]()
        for turn in range(1 + LISTS):
            began_s = time.perf_counter()
            page = ask({})
            count = len(page["tools"])
            while (cursor := page.get("nextCursor")) is not None:
                page = ask({"cursor": cursor})
                count += len(page["tools"])
            if turn:  # the first is made, the others are kept
                taken.append(time.perf_counter() - began_s)
    return count, taken


async def _starts(home: Path, effort: Effort) -> list[Line]:
    with_them, listed, settled = list[float](), list[float](), list[float]()
    alone: list[float] = []
    for _ in range(effort.times(STARTS, quick=1)):
        up_s, listed_s, settled_s = await anyio.to_thread.run_sync(_start, home, True)
        with_them.append(up_s)
        listed.append(listed_s)
        settled.append(settled_s)
        with temporary_home() as empty:
            alone.append((await anyio.to_thread.run_sync(_start, empty, False))[0])
    return [
        Line(
            what=f"start with {UPSTREAMS} upstreams, until it answers",
            measured=ms(median(with_them)),
            beside=f"{ms(median(alone))} without any",
            ratio=median(with_them) / median(alone),
            target=f"≤ {ms(START_S)}",
            met=median(with_them) <= START_S,
        ),
        Line(
            what="the same, until it lists all that was accepted",
            measured=ms(median(listed)),
            target=f"≤ {ms(START_S)}",
            met=median(listed) <= START_S,
        ),
        Line(what="the same, until every upstream runs", measured=ms(median(settled))),
    ]


def _start(home: Path, has_upstreams: bool) -> tuple[float, float, float]:
    server = ServerProcess(home)
    began_s = time.perf_counter()
    server.process = subprocess.Popen(
        [sys.executable, "-m", "duetty", "server", "--bind", "127.0.0.1:0"],
        env={**os.environ, **server.env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        while not server.paths.address_file.exists() or server._pid() is None:  # pyright: ignore[reportPrivateUsage]
            assert server.process.poll() is None, "the server ended"
            time.sleep(0.002)
        up_s = time.perf_counter() - began_s
        if not has_upstreams:
            return up_s, 0.0, 0.0
        while len(server.client.get("/upstreams/tools")["tools"]) < TOOLS:
            time.sleep(0.002)
        listed_s = time.perf_counter() - began_s
        found = server.client.get("/upstreams")
        while any(each["state"] == "starting" for each in found["upstreams"]):
            found = server.client.get("/upstreams", after=found["seq"], wait_ms=5_000)
        return up_s, listed_s, time.perf_counter() - began_s
    finally:
        server.end()
