"""Five hundred sessions at once: what opening one costs, and whether the rest notice."""

import time

from benchmarks.bare import Bare, running_bare
from benchmarks.measure import Effort, engine, median, percentile, wait_prompt
from benchmarks.report import Line, Table, ms
from tests.engine import Engine

SESSIONS = 500
BEYOND_S = 0.015
CALLS = 100


async def run(effort: Effort) -> list[Table]:
    count = effort.times(SESSIONS, quick=40)
    call_s: list[float] = []
    prompt_s: list[float] = []
    bare_s: list[float] = []
    async with engine() as running:
        first = await running.open(name="first", command="bash")
        await wait_prompt(first)
        alone_s = await _echoes(running)
        with running_bare(running.paths.state) as bare:
            for number in range(count):
                if number % 50 == 0:
                    effort.say(f"{number} of {count} open")
                bare_s.append(_bare_start(bare))
                opened_s, ready_s = await _open(running, f"s-{number}")
                call_s.append(opened_s)
                prompt_s.append(ready_s)
        alive = running.registry.alive
        if alive != count + 1:
            raise RuntimeError(f"only {alive} of {count + 1} are alive")
        crowded_s = await _echoes(running)
        list_s = await _list(running)
        effort.say("closing them")
    beyond_s = median(prompt_s) - median(bare_s)
    tenth = count // 10
    return [
        Table(
            name="many",
            title=f"{count} sessions at once",
            lines=[
                Line(
                    what="open until the first prompt",
                    measured=ms(median(prompt_s)),
                    beside=f"{ms(median(bare_s))} bare shell",
                    ratio=median(prompt_s) / median(bare_s),
                ),
                Line(
                    what="the same, beyond the shell's own start",
                    measured=ms(beyond_s),
                    target=f"≤ {ms(BEYOND_S)}",
                    met=beyond_s <= BEYOND_S,
                ),
                Line(
                    what="the call `session.open` itself",
                    measured=ms(median(call_s)),
                    beside=f"{ms(percentile(call_s, 95))} at 95 of 100",
                ),
                Line(
                    what=f"open until the first prompt, the last {tenth}",
                    measured=ms(median(prompt_s[-tenth:])),
                    beside=f"{ms(median(prompt_s[:tenth]))} the first {tenth}",
                    ratio=median(prompt_s[-tenth:]) / median(prompt_s[:tenth]),
                ),
                Line(
                    what=f"`run('echo')` with {count} sessions open",
                    measured=ms(crowded_s),
                    beside=f"{ms(alone_s)} with one",
                    ratio=crowded_s / alone_s,
                ),
                Line(what=f"`session.list` of {count} sessions", measured=ms(list_s)),
            ],
            notes=[
                f"bash, opened one after the other through the dispatcher; all {count} stay open. Medians.",
                "Beside it, in turns: fork and exec of the same bash with the same integration on a bare "
                "PTY by a small process, until its first prompt mark.",
            ],
        )
    ]


def _bare_start(bare: Bare) -> float:
    shell, taken_s = bare.start("bash")
    shell.end()
    return taken_s


async def _open(running: Engine, name: str) -> tuple[float, float]:
    started_s = time.perf_counter()
    session = await running.open(name=name, command="bash")
    opened_s = time.perf_counter() - started_s
    await wait_prompt(session)
    return opened_s, time.perf_counter() - started_s


async def _echoes(running: Engine) -> float:
    taken: list[float] = []
    for _ in range(CALLS):
        await wait_prompt(running.registry.find("first"))
        started_s = time.perf_counter()
        await running.run("echo", session="first")
        taken.append(time.perf_counter() - started_s)
    return median(taken)


async def _list(running: Engine) -> float:
    taken: list[float] = []
    for _ in range(5):
        started_s = time.perf_counter()
        await running.call("session.list")
        taken.append(time.perf_counter() - started_s)
    return median(taken)
