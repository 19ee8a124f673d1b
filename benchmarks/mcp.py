"""What MCP costs: a call beside a bare SDK tool, cold starts, memory, many at once, a model's tasks."""

import compileall
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import psutil
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import duetty
from benchmarks.measure import Effort, median, percentile, temporary_home
from benchmarks.report import Line, Table, mb, ms
from tests.edges.mcp.connect import connected, nowhere
from tests.edges.mcp.host import hosted
from tests.edges.mcp.model import NEEDS, TASKS, solve
from tests.server_process import ServerProcess, running_server

ROUNDS, TRIPS = 10, 25
STARTS = 10
SESSIONS = 100
ADDED_S, CPU_RATIO = 0.003, 2.5
WARM_S, COLD_S = 0.250, 1.5
BRIDGE_BYTES = 20 * (1 << 20)
SLOWEST = 10.0
TOKENS = 4_500


async def run(effort: Effort) -> list[Table]:
    tables: list[Table] = []
    # As an installed package is: a checkout may have sources without byte code beside them.
    compileall.compile_dir(str(Path(duetty.__file__).parent), quiet=2)
    with temporary_home() as home, running_server(home) as server:
        lines: list[Line] = []
        for way in ("stdio-2025", "stdio-2026", "http-2025", "http-2026"):
            effort.say(f"echo hello, {way}")
            lines += await _calls(server, effort, way)
        for way in ("stdio-2026", "http-2026"):
            effort.say(f"echo hello with progress, {way}")
            lines += await _calls(server, effort, way, progress=True)
        effort.say("many at once")
        lines.append(await _many(server, effort))
        effort.say("starts")
        lines += await _starts(server, effort)
        lines.append(await _tokens(server))
        tables.append(
            Table(
                name="mcp",
                title="MCP",
                lines=lines,
                notes=[
                    'Calls: `wsh_run_command("echo hello", view="output")`, median, in turns with `echo` of a bare '
                    "server of the same SDK, over the same transport and by the same client.",
                    "CPU: of the server and bridge together, beside the CPU of the bare server.",
                    "Cold start: from starting `duetty mcp` to the answer of `tools/list`. Without a server the bridge "
                    "gives it while one starts; `wsh_create_session`, the first call, waits for that one.",
                ],
            )
        )
        effort.say("tasks of a model")
        tables.append(await _tasks(server))
    return tables


# --- one call -----------------------------------------------------------------------


@asynccontextmanager
async def _echo(way: str) -> AsyncGenerator[tuple[Client, list[psutil.Process]]]:
    """A bare tool over the same transport, and the processes that serve it."""
    kind, era = way.split("-")
    mode = "legacy" if era == "2025" else "auto"
    async with AsyncExitStack() as stack:
        before = {child.pid for child in psutil.Process().children(recursive=True)}
        if kind == "stdio":
            parameters = StdioServerParameters(
                command=sys.executable, args=["-m", "benchmarks.mcp_echo", "stdio"]
            )
            transport = stdio_client(parameters, errlog=stack.enter_context(nowhere()))
        else:
            process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.mcp_echo", "http"], stdout=subprocess.PIPE
            )
            stack.callback(_end, process)
            assert process.stdout is not None
            port = int(await anyio.to_thread.run_sync(process.stdout.readline))
            transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp")
        client = await stack.enter_async_context(Client(transport, mode=mode))
        children = psutil.Process().children(recursive=True)
        yield client, [child for child in children if child.pid not in before]


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


async def _calls(
    server: ServerProcess, effort: Effort, way: str, *, progress: bool = False
) -> list[Line]:
    rounds = effort.times(ROUNDS, quick=2)
    ours: list[float] = []
    bare: list[float] = []
    ours_cpu = bare_cpu = 0.0
    assert server.process is not None
    async with _echo(way) as (echo, echo_processes):
        before = {child.pid for child in psutil.Process().children(recursive=True)}
        async with connected(way, server) as client:
            children = psutil.Process().children(recursive=True)
            processes = [child for child in children if child.pid not in before]
            processes.append(psutil.Process(server.process.pid))
            name = f"s{secrets.token_hex(4)}"
            await client.call_tool("wsh_create_session", {"name": name, "command": "bash"})
            wanted: dict[str, object] = {
                "session": name,
                "input": "echo hello",
                "view": "output",
            }
            for turn in range(1 + rounds):
                cpu = _cpu_s(processes)
                taken = [
                    await _time(client, "wsh_run_command", wanted, progress) for _ in range(TRIPS)
                ]
                spent = _cpu_s(processes) - cpu
                cpu = _cpu_s(echo_processes)
                taken_bare = [
                    await _time(echo, "echo", {"text": "hello"}, progress) for _ in range(TRIPS)
                ]
                if turn:  # the first warms everything
                    ours += taken
                    bare += taken_bare
                    ours_cpu += spent
                    bare_cpu += _cpu_s(echo_processes) - cpu
            await client.call_tool("wsh_manage_session", {"session": name, "action": "kill"})
    calls = rounds * TRIPS
    added = median(ours) - median(bare)
    what = f"{way}, with progress" if progress else way
    return [
        Line(
            what=f"`echo hello`, {what}",
            measured=f"{ms(median(ours))}, p95 {ms(percentile(ours, 95))}",
            beside=f"{ms(median(bare))} echo tool",
            ratio=median(ours) / median(bare),
            target=f"adds ≤ {ms(ADDED_S)}",
            met=added <= ADDED_S,
        ),
        Line(
            what=f"CPU of a call, {what}",
            measured=ms(ours_cpu / calls),
            beside=f"{ms(bare_cpu / calls)} echo tool",
            ratio=ours_cpu / bare_cpu if bare_cpu else None,
            target=f"≤ {CPU_RATIO} times",
            met=ours_cpu <= CPU_RATIO * bare_cpu,
        ),
    ]


async def _time(
    client: Client, tool: str, arguments: dict[str, object], progress: bool = False
) -> float:
    began_s = time.perf_counter()
    await client.call_tool(tool, arguments, progress_callback=_ignore if progress else None)
    return time.perf_counter() - began_s


async def _ignore(progress: float, total: float | None, message: str | None) -> None:
    """What most hosts do with it, after asking for it."""


def _cpu_s(processes: list[psutil.Process]) -> float:
    total = 0.0
    for process in processes:
        times = process.cpu_times()
        total += times.user + times.system
    return total


# --- many, starts, sizes --------------------------------------------------------------


async def _many(server: ServerProcess, effort: Effort) -> Line:
    count = effort.times(SESSIONS, quick=10)
    taken: list[float] = []
    async with connected("stdio-2026", server) as client:
        names = [f"n{number}" for number in range(count)]
        for name in names:
            await client.call_tool("wsh_create_session", {"name": name, "command": "bash"})
        wanted = {"input": "echo hello", "view": "output"}
        for name in names:  # every shell has started
            await client.call_tool("wsh_run_command", {"session": name, **wanted})

        async def one(name: str) -> None:
            taken.append(await _time(client, "wsh_run_command", {"session": name, **wanted}))

        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(one, name)
        for name in names:
            await client.call_tool("wsh_manage_session", {"session": name, "action": "kill"})
    return Line(
        what=f"{count} runs at once on {count} sessions",
        measured=f"median {ms(median(taken))}",
        beside=f"slowest {ms(max(taken))}",
        ratio=max(taken) / median(taken),
        target=f"slowest ≤ {SLOWEST:.0f} times the median",
        met=max(taken) <= SLOWEST * median(taken),
    )


async def _starts(server: ServerProcess, effort: Effort) -> list[Line]:
    rounds = effort.times(STARTS, quick=2)
    warm: list[float] = []
    sizes: list[int] = []
    for _ in range(rounds):
        taken_s, size = await anyio.to_thread.run_sync(_start, server)
        warm.append(taken_s)
        sizes.append(size)
    cold: list[float] = []
    first: list[float] = []
    for _ in range(max(2, rounds // 3)):
        with temporary_home() as home:
            alone = ServerProcess(home)
            try:
                listed_s, called_s = await anyio.to_thread.run_sync(_start_to_call, alone)
                cold.append(listed_s)
                first.append(called_s)
            finally:
                await anyio.to_thread.run_sync(alone.command, "stop")
    return [
        Line(
            what="cold start, server running",
            measured=ms(median(warm)),
            target=f"≤ {ms(WARM_S)}",
            met=median(warm) <= WARM_S,
        ),
        Line(
            what="cold start, no server",
            measured=ms(median(cold)),
            target=f"≤ {ms(COLD_S)}",
            met=median(cold) <= COLD_S,
        ),
        Line(
            what="the same, to the answer of a first call",
            measured=ms(median(first)),
        ),
        Line(
            what="memory of the bridge",
            measured=mb(median(sizes)),
            target=f"≤ {mb(BRIDGE_BYTES)}",
            met=median(sizes) <= BRIDGE_BYTES,
        ),
    ]


def _start(server: ServerProcess) -> tuple[float, int]:
    began_s = time.perf_counter()
    with hosted(server) as host:
        host.shake_hands()
        host.ask("tools/list")
        taken_s = time.perf_counter() - began_s
        return taken_s, psutil.Process(host.process.pid).memory_info().rss


def _start_to_call(server: ServerProcess) -> tuple[float, float]:
    """To the list of tools, which the bridge has, and to an answer that only a server can give."""
    began_s = time.perf_counter()
    with hosted(server) as host:
        host.shake_hands()
        host.ask("tools/list")
        listed_s = time.perf_counter() - began_s
        host.call("wsh_create_session", name="first")
        return listed_s, time.perf_counter() - began_s


async def _tokens(server: ServerProcess) -> Line:
    async with connected("stdio-2025", server) as client:
        listed = await client.list_tools()
    tokens = len(listed.model_dump_json(by_alias=True, exclude_none=True)) / 4
    return Line(
        what="`tools/list` of the default dialect",
        measured=f"{tokens:,.0f} tokens",
        target=f"≤ {TOKENS:,} (characters ÷ 4)",
        met=tokens <= TOKENS,
    )


async def _tasks(server: ServerProcess) -> Table:
    lines: list[Line] = []
    async with connected("stdio-2025", server) as client:
        for what in TASKS:
            if (needed := NEEDS.get(what)) and shutil.which(needed) is None:
                continue
            with temporary_home() as place:
                spent = await solve(client, what, f"m{secrets.token_hex(4)}", Path(place))
            lines.append(
                Line(
                    what=what,
                    measured=f"{spent.calls} calls",
                    beside=f"{spent.bytes:,} bytes read, {ms(spent.wall_s)}",
                )
            )
    return Table(
        name="model",
        title="Tasks with tool calls only",
        lines=lines,
        notes=[
            "Scripted as a model would do it (`tests/edges/mcp/model.py`); bytes are of text that it would read.",
            f"Load average of the machine meanwhile: {os.getloadavg()[0]:.1f}.",
        ],
    )
