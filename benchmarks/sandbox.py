"""What a sandbox costs: a session to its first answer, and a call on its way through policy and audit."""

import time

import anyio

from benchmarks.measure import Effort, engine, median, wait_prompt
from benchmarks.report import Line, Table, ms
from duetty.calls import Actor, Call
from duetty.ops import OPERATIONS
from duetty.ops.resolved_call import ResolvedCall
from duetty.sandbox import support
from tests.engine import Engine

STARTS = 30
PASSAGES = 2_000
PERSON = Actor(kind="person", name="bench")
AGENT = Actor(kind="agent", name="bench")


async def run(effort: Effort) -> list[Table]:
    starts, passages = effort.times(STARTS, quick=3), effort.times(PASSAGES, quick=50)
    async with engine() as running:
        levels = await anyio.to_thread.run_sync(_levels)
        samples: dict[str, list[float]] = {level: [] for level in levels}
        for turn in range(1 + starts):
            effort.say(f"session {turn} of {starts}")
            for level in levels:  # in turns, so that a slow moment hits all of them
                took_s = await _start(running, level)
                if turn:
                    samples[level].append(took_s)
        effort.say("passage")
        passage_s = await _passage(running, passages)
    bare_s = median(samples["none"])
    lines = [
        Line(
            what=f"session in {level}: from the call to the prompt",
            measured=ms(median(taken)),
            beside=f"{ms(bare_s)} bare",
            ratio=median(taken) / bare_s,
        )
        for level, taken in samples.items()
        if level != "none"
    ]
    lines.append(Line(what="a run's way through decision and audit", measured=ms(passage_s)))
    return [
        Table(
            name="sandbox",
            title="Sandbox, policy and audit",
            lines=lines,
            notes=[
                f"bash with marks, one writable workspace, all limits set; median of {starts} sessions, "
                "in turns with bare ones.",
                f"The way of `echo hello`: decided in the profile guarded, two records written; mean of "
                f"{passages}, CPU time of the server's own thread. It is part of what “Latency of one command” bounds; "
                "a bound of its own (0.10 ms, never met) was dropped.",
            ],
        )
    ]


def _levels() -> list[str]:
    offered = support()
    return [
        "none",
        *(["bubblewrap"] if offered.bubblewrap else []),
        *(["landlock"] if offered.has_landlock else []),
    ]


async def _start(running: Engine, level: str) -> float:
    workspace = running.paths.state.parent.parent / "workspace"
    workspace.mkdir(exist_ok=True)
    began_s = time.perf_counter()
    arguments = {
        "name": "bench",
        "command": "bash",
        "cwd": str(workspace),
        "sandbox": level,
        "workspaces": [str(workspace)],
    }
    await running.dispatcher.call(PERSON, "session.open", arguments)
    await wait_prompt(running.registry.find("bench"))
    took_s = time.perf_counter() - began_s
    await running.dispatcher.call(PERSON, "session.remove", {"session": "bench", "signal": "KILL"})
    return took_s


async def _passage(running: Engine, times: int) -> float:
    await running.dispatcher.call(PERSON, "session.open", {"name": "bench", "command": "bash"})
    await wait_prompt(running.registry.find("bench"))
    operation = OPERATIONS["command.run"]
    arguments = {"session": "bench", "input": "echo hello"}
    call = Call(actor=AGENT, operation=operation.name, arguments=arguments)
    params = operation.params.model_validate(arguments)
    resolved = ResolvedCall(
        call=call, operation=operation, params=params, session=running.registry.find("bench")
    )
    deciding = running.services.deciding

    async def unchecked() -> None: ...

    async def runs(_: object) -> None: ...

    began_s = time.thread_time()
    for _ in range(times):
        await deciding.through(resolved, None, unchecked, runs)
    return (time.thread_time() - began_s) / times
