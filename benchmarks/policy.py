"""The guardrail: what it asks and misses, how fast it decides, what a line costs that an agent types."""

import json
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence

import anyio.to_thread
import httpx

from benchmarks.guardrail import CORPORA, NO_RULES, guardrail, judged
from benchmarks.measure import Effort, median, temporary_home
from benchmarks.report import Line, Table, ms
from duetty.policy import Judged, Profile, analysis, decide
from tests.edges.mcp.connect import call as use
from tests.edges.mcp.connect import connected
from tests.server_process import ServerProcess, running_server

ROUNDS = 40
TARGET = 30_000
ROUND_TRIPS, TRIPS = 10, 25
SETTLE_S = 0.01


async def run(effort: Effort) -> list[Table]:
    effort.say("asks and misses")
    tables = [guardrail(), await anyio.to_thread.run_sync(_speed, effort)]
    with temporary_home() as home, running_server(home) as server:
        tables.append(await _typed(server, effort))
    return tables


# --- decisions a second ---------------------------------------------------------------


def _speed(effort: Effort) -> Table:
    kept = json.loads((CORPORA / "commands.json").read_text())
    short = [each["command"] for each in kept if len(each["command"]) <= 80]
    safe = [each["command"] for each in kept if each["label"] == "safe"]
    rounds = effort.times(ROUNDS, quick=2)
    made = [f"git log --oneline -{number} -- src/file{number}.py" for number in range(1_000)]
    cases: list[tuple[str, Sequence[str], bool]] = [
        ("lines that read, each for the first time", made, False),
        ("the corpus' safe lines, each for the first time", safe, False),
        ("the whole corpus' short lines, each for the first time", short, False),
        ("the same, as they come again", short, True),
    ]
    lines: list[Line] = []
    for what, texts, again in cases:
        effort.say(what)
        rates = [_rate(texts, again=again) for _ in range(rounds)]
        lines.append(
            Line(
                what=what,
                measured=f"{median(rates):,.0f}/s",
                beside=f"{max(rates):,.0f}/s best round",
                target=f"≥ {TARGET:,}/s",
                met=median(rates) >= TARGET,
            )
        )
    return Table(
        name="policy",
        title="Decisions",
        lines=lines,
        notes=[
            f"`policy.decide`, profile `guarded`, processor time of one thread, median of {rounds} rounds. "
            "What is remembered is bounded (4,096 lines of up to 1 KiB).",
        ],
    )


def _rate(texts: Sequence[str], *, again: bool) -> float:
    calls = [judged(text) for text in texts]
    analysis.forget()
    if again:
        _decide_all(calls)
    return len(calls) / _time(lambda: _decide_all(calls))


def _decide_all(calls: Sequence[Judged]) -> None:
    for call in calls:
        decide(call, NO_RULES, Profile.GUARDED, can_ask=True)


def _time(work: Callable[[], None]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


# --- a typed line beside a run --------------------------------------------------------


async def _typed(server: ServerProcess, effort: Effort) -> Table:
    """Both by an agent, from outside the server's process, in turns at one shell."""
    rounds = effort.times(ROUND_TRIPS, quick=2)
    lines: list[Line] = []
    for way, measure in (("HTTP", _typed_http), ("MCP", _typed_mcp)):
        effort.say(f"typed and run, {way}")
        typed, ended, ran = await measure(server, rounds)
        lines += [
            Line(
                what=f"`echo hello` and Enter typed, {way}: until it is answered",
                measured=ms(median(typed)),
                beside=f"{ms(median(ran))} run",
            ),
            Line(
                what=f"… until the command has ended, {way}",
                measured=ms(median(ended)),
                beside=f"{ms(median(ran))} run",
                ratio=median(ended) / median(ran),
            ),
        ]
    return Table(
        name="typed",
        title="A line that an agent types",
        lines=lines,
        notes=[
            f"bash, profile `guarded`, median of {rounds * TRIPS} calls, in turns of {TRIPS} with `run('echo hello')` "
            "in the same session. The end of a typed command is asked for in a second call, which run does not need.",
        ],
    )


_Taken = tuple[list[float], list[float], list[float]]
"""Seconds until a typed line was answered, until its command had ended, and of a run."""


async def _typed_http(server: ServerProcess, rounds: int) -> _Taken:
    headers = {"Authorization": f"Bearer {server.token()}"}
    async with httpx.AsyncClient(base_url=server.url(), headers=headers, timeout=60) as client:
        name = f"s{secrets.token_hex(4)}"
        (await client.post("/sessions", json={"name": name, "command": "bash"})).raise_for_status()
        place = f"/sessions/{name}"

        async def run_line() -> None:
            line = {"input": "echo hello"}
            (await client.post(f"{place}/run", json=line)).raise_for_status()

        async def type_line() -> None:
            (await client.post(f"{place}/input", content=b"echo hello\r")).raise_for_status()

        async def wait_ended(block: int) -> None:
            answer = await client.post(f"{place}/wait", json={"block": block})
            answer.raise_for_status()

        return await _in_turns(run_line, type_line, wait_ended, rounds)


async def _typed_mcp(server: ServerProcess, rounds: int) -> _Taken:
    async with connected("stdio-2025", server) as client:
        name = f"s{secrets.token_hex(4)}"
        await use(client, "wsh_create_session", name=name, command="bash")

        async def run_line() -> None:
            await use(client, "wsh_run_command", session=name, input="echo hello", view="output")

        async def type_line() -> None:
            await use(client, "wsh_send_input", session=name, input="echo hello", keys=["Enter"])

        async def wait_ended(block: int) -> None:
            await anyio.to_thread.run_sync(
                lambda: server.client.post(f"/sessions/{name}/wait", {"block": block})
            )

        return await _in_turns(run_line, type_line, wait_ended, rounds)


async def _in_turns(
    run_line: Callable[[], Awaitable[None]],
    type_line: Callable[[], Awaitable[None]],
    wait_ended: Callable[[int], Awaitable[None]],
    rounds: int,
) -> _Taken:
    typed: list[float] = []
    ended: list[float] = []
    ran: list[float] = []
    block = 0
    """Number of the newest command: each line makes one."""
    for turn in range(1 + rounds):
        for _ in range(TRIPS):
            await anyio.sleep(SETTLE_S)  # at a prompt that is ready, as an agent finds it
            began_s = time.perf_counter()
            await run_line()
            block += 1
            if turn:  # the first warms everything
                ran.append(time.perf_counter() - began_s)
        for _ in range(TRIPS):
            await anyio.sleep(SETTLE_S)
            began_s = time.perf_counter()
            await type_line()
            answered_s = time.perf_counter()
            await wait_ended(block)
            block += 1
            if turn:
                typed.append(answered_s - began_s)
                ended.append(time.perf_counter() - began_s)
    return typed, ended, ran
