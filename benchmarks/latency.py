"""How long `run("echo hello")` takes, and how soon a long command's end is told."""

import shutil
import time

from benchmarks.bare import running_bare
from benchmarks.measure import Effort, engine, median, percentile, wait_prompt
from benchmarks.report import Line, Table, ms
from tests.engine import Engine

LINE = "echo hello"
ROUNDS = 20
TRIPS = 25
MEDIAN_S, RATIO, END_S = 0.002, 10.0, 0.020


async def run(effort: Effort) -> list[Table]:
    shells = [each for each in ("bash", "zsh", "fish", "dash") if shutil.which(each)]
    lines: list[Line] = []
    async with engine() as running:
        for shell in shells:
            effort.say(f"{shell}, {LINE!r}")
            lines += await _round_trips(running, effort, shell)
        effort.say("'sleep 3; echo done'")
        lines.append(await _told_end(running, effort))
    rounds = effort.times(ROUNDS, quick=3)
    return [
        Table(
            name="latency",
            title="Latency of one command",
            lines=lines,
            notes=[
                f"`run({LINE!r})` through the dispatcher, inside the server's process; median of "
                f"{rounds * TRIPS} calls, in turns of {TRIPS} with the bare PTY.",
                "Beside it: the same shell with the same integration on a bare PTY, in a process of its "
                "own; write the line, read until its trusted done-mark.",
                "“At the prompt”: each call begins when the prompt is ready. “Back to back”: each "
                "begins when the one before has answered, so the shell's own prompt counts in both.",
                "“End known after”: from the time the shell itself took (`$EPOCHREALTIME`) just before "
                "it printed the last line, to the answer of `run`.",
            ],
        )
    ]


async def _round_trips(running: Engine, effort: Effort, shell: str) -> list[Line]:
    session = await running.open(name=shell, command=shell)
    await wait_prompt(session)
    ours: dict[bool, list[float]] = {True: [], False: []}
    bare: dict[bool, list[float]] = {True: [], False: []}
    with running_bare(running.paths.state) as ptys:
        beside, _ = ptys.start(shell)
        for turn in range(1 + effort.times(ROUNDS, quick=3)):
            for rested in (True, False):
                bare_taken = beside.trips(LINE, count=TRIPS, rested=rested)
                taken = [await _one(running, shell, rested=rested) for _ in range(TRIPS)]
                if turn:  # the first warms up
                    ours[rested] += taken
                    bare[rested] += bare_taken
        beside.end()
    await running.call("session.remove", session=shell, signal="KILL")
    return [
        *_lines(f"{shell}, at the prompt", ours[True], bare[True], is_target=shell == "bash"),
        *_lines(f"{shell}, back to back", ours[False], bare[False], is_target=shell == "bash"),
    ]


async def _one(running: Engine, name: str, *, rested: bool) -> float:
    if rested:
        await wait_prompt(running.registry.find(name))
    started_s = time.perf_counter()
    answer = await running.run(LINE, session=name)
    taken_s = time.perf_counter() - started_s
    if (answer.output, answer.exit_code, answer.completed_by) != ("hello", 0, "mark"):
        raise RuntimeError(f"not the answer to {LINE!r}: {answer!r}")
    return taken_s


def _lines(what: str, ours: list[float], bare: list[float], *, is_target: bool) -> list[Line]:
    taken_s, bare_s = median(ours), median(bare)
    beside = f"{ms(bare_s)} bare"
    if not is_target:
        return [Line(what=what, measured=ms(taken_s), beside=beside, ratio=taken_s / bare_s)]
    return [
        Line(
            what=what,
            measured=ms(taken_s),
            beside=beside,
            ratio=taken_s / bare_s,
            target=f"≤ {ms(MEDIAN_S)}",
            met=taken_s <= MEDIAN_S,
        ),
        Line(
            what=f"{what}, ratio",
            measured=ms(taken_s),
            beside=beside,
            ratio=taken_s / bare_s,
            target=f"ratio ≤ {RATIO:.0f}",
            met=taken_s / bare_s <= RATIO,
        ),
        Line(
            what=f"{what}, 95 of 100 within",
            measured=ms(percentile(ours, 95)),
            beside=f"{ms(percentile(bare, 95))} bare",
            ratio=percentile(ours, 95) / percentile(bare, 95),
        ),
    ]


async def _told_end(running: Engine, effort: Effort) -> Line:
    session = await running.open(name="sleeper", command="bash")
    await wait_prompt(session)
    late: list[float] = []
    for _ in range(effort.times(5, quick=1)):
        answer = await running.run("sleep 3; echo done $EPOCHREALTIME", session="sleeper")
        told_s = time.time()
        word, _, ended = answer.output.partition(" ")
        if word != "done":
            raise RuntimeError(f"not the answer: {answer!r}")
        late.append(told_s - float(ended))
    return Line(
        what="`sleep 3; echo done` in bash: end known after",
        measured=ms(median(late)),
        beside=f"{ms(max(late))} at worst",
        target=f"≤ {ms(END_S)}",
        met=max(late) <= END_S,
    )
