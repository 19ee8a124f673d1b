"""Labelled command lines: the shared corpus, and more that were written without looking at the rules."""

import json
from pathlib import Path
from typing import Literal, NamedTuple

from duetty.calls import Actor, Effect
from duetty.policy import Decision, Judged, Mode, Profile, RuleSet, decide

AGENT = Actor(kind="agent", name="tester")


class Labelled(NamedTuple):
    id: str
    command: str
    label: Literal["safe", "needs_approval", "destructive"]
    may_run: bool
    """Whether running it unasked is no mistake."""


def labelled(name: str) -> list[Labelled]:
    kept = json.loads(Path(__file__).with_name(name).read_text())
    return [
        Labelled(
            each["id"],
            each["command"],
            each["label"],
            each["label"] == "safe" or "safe" in each.get("also_ok", []),
        )
        for each in kept
    ]


CORPUS = labelled("commands.json")
MORE = labelled("more_commands.json")


def judged(command: str | None, *, mode: Mode = Mode.INTERACTIVE, cwd: str = "") -> Judged:
    return Judged(
        operation="command.run",
        effect=Effect.INPUT,
        actor=AGENT,
        mode=mode,
        cwd=cwd,
        command_line=command,
    )


def decided(
    command: str,
    profile: Profile,
    *,
    mode: Mode = Mode.INTERACTIVE,
    rules: RuleSet | None = None,
    cwd: str = "",
    can_ask: bool | None = None,
) -> Decision:
    return decide(
        judged(command, mode=mode, cwd=cwd),
        rules or RuleSet(),
        profile,
        can_ask=mode is Mode.INTERACTIVE if can_ask is None else can_ask,
    )
