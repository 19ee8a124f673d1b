"""Decisions a second: lines seen for the first time, and lines that come again."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio.to_thread

from benchmarks.measure import Effort, median
from benchmarks.report import Line, Table
from duetty.calls import Actor, Effect
from duetty.policy import Judged, Mode, Profile, RuleSet, analysis, decide

ROUNDS = 40
TARGET = 20_000
CORPUS = Path(__file__).parent.parent / "tests" / "policy" / "commands.json"

_AGENT = Actor(kind="agent", name="bench")


async def run(effort: Effort) -> list[Table]:
    return await anyio.to_thread.run_sync(_run, effort)


def _run(effort: Effort) -> list[Table]:
    kept = json.loads(CORPUS.read_text())
    short = [each["command"] for each in kept if len(each["command"]) <= 80]
    safe = [each["command"] for each in kept if each["label"] == "safe"]
    rounds = effort.times(ROUNDS, quick=2)
    made = [f"git log --oneline -{number} -- src/file{number}.py" for number in range(1_000)]
    cases: list[tuple[str, Sequence[str], bool, int | None]] = [
        ("lines that read, each for the first time", made, False, TARGET),
        ("the corpus' safe lines, each for the first time", safe, False, TARGET),
        ("the whole corpus' short lines, each for the first time", short, False, TARGET),
        ("the same, as they come again", short, True, TARGET),
    ]
    lines: list[Line] = []
    for what, texts, again, target in cases:
        effort.say(what)
        rates = [_rate(texts, again=again) for _ in range(rounds)]
        rate = max(rates)
        lines.append(
            Line(
                what=what,
                measured=f"{rate:,.0f}/s",
                beside=f"{median(rates):,.0f}/s median round",
                target=f"≥ {target:,}/s" if target else "",
                met=rate >= target if target else None,
            )
        )
    return [
        Table(
            name="policy",
            title="Decisions",
            lines=lines,
            notes=[
                f"`policy.decide`, profile `guarded`, processor time of one thread, best of {rounds} rounds: what "
                "others take of the machine counts as its time, and the same rounds differ by half within a minute. "
                "What is remembered is bounded (4,096 lines of up to 1 KiB).",
            ],
        )
    ]


def _rate(texts: Sequence[str], *, again: bool) -> float:
    calls = [
        Judged(
            operation="command.run",
            effect=Effect.INPUT,
            actor=_AGENT,
            mode=Mode.INTERACTIVE,
            command_line=text,
        )
        for text in texts
    ]
    analysis.forget()
    if again:
        _decide_all(calls)
    return len(calls) / _time(lambda: _decide_all(calls))


def _decide_all(calls: Sequence[Judged]) -> None:
    rules = RuleSet()
    for call in calls:
        decide(call, rules, Profile.GUARDED, can_ask=True)


def _time(work: Callable[[], None]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began
