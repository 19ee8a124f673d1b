"""Labelled command lines: the shared corpus, more of its kinds by subject, and lines that agents really ran.

A list (`lists/*.txt`) has one command a line, behind its label: `s` safe, `n` needs approval,
`d` destructive, `n/s` where running it unasked is no mistake either; `↵` is a new line, and
the pictures of control characters (`␍`, `␛`) are what they show.
"""

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


_WRITTEN = str.maketrans(
    {"↵": "\n", "␡": "\x7f"} | {chr(0x2400 + code): chr(code) for code in range(32)}
)

LABELS: dict[str, Literal["safe", "needs_approval", "destructive"]] = {
    "s": "safe",
    "n": "needs_approval",
    "n/s": "needs_approval",
    "d": "destructive",
}


def listed(path: Path) -> list[Labelled]:
    commands: list[Labelled] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line and line[0] != "#":
            label, _, command = line.partition(" ")
            commands.append(
                Labelled(
                    f"{path.stem}:{number}",
                    command.translate(_WRITTEN),
                    LABELS[label],
                    label in ("s", "n/s"),
                )
            )
    return commands


CORPUS = labelled("commands.json")
AGENTS: list[str] = [
    each["command"]
    for each in json.loads(Path(__file__).with_name("agent_commands.json").read_text())
]
"""What agents ran in tasks of benchmarks."""

LISTS = {
    path.stem: listed(path) for path in sorted(Path(__file__).with_name("lists").glob("*.txt"))
}


def judged(
    command: str | None,
    *,
    mode: Mode = Mode.INTERACTIVE,
    cwd: str = "",
    workspace: str = "",
    sandbox: str = "",
    shell: str = "",
) -> Judged:
    return Judged(
        operation="command.run",
        effect=Effect.INPUT,
        actor=AGENT,
        mode=mode,
        cwd=cwd,
        workspace=workspace,
        sandbox=sandbox,
        shell=shell,
        command_line=command,
    )


def decided(
    command: str,
    profile: Profile,
    *,
    mode: Mode = Mode.INTERACTIVE,
    rules: RuleSet | None = None,
    cwd: str = "",
    workspace: str = "",
    sandbox: str = "",
    can_ask: bool | None = None,
) -> Decision:
    return decide(
        judged(command, mode=mode, cwd=cwd, workspace=workspace, sandbox=sandbox),
        rules or RuleSet(),
        profile,
        can_ask=mode is Mode.INTERACTIVE if can_ask is None else can_ask,
    )
