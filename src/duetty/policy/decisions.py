"""The values of policy: what is judged, and what came out."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple, cast

from duetty.calls import Actor, Effect
from duetty.policy.proving.recogniser import Command, lone_argv, rebuild


class Profile(StrEnum):
    """How much runs without a person's word."""

    OPEN = "open"
    GUARDED = "guarded"
    STRICT = "strict"


class Mode(StrEnum):
    """Whether a person can see what runs."""

    INTERACTIVE = "interactive"
    HEADLESS = "headless"


Reason = Literal[
    "proven",
    "by_profile",
    "allowed_by_rule",
    "destructive",
    "not_allowlisted",
    "not_provable",
    "asked_by_rule",
    "denied_by_rule",
]
"""Why it was so decided; the first three go with Allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A call as policy sees it: everything a decision may depend on, and nothing else."""

    operation: str
    effect: Effect
    actor: Actor
    dialect: str = ""
    mode: Mode = Mode.INTERACTIVE
    tags: frozenset[str] = frozenset()
    cwd: str = ""
    command_line: str | None = None
    """The line a shell is to run; None where the call runs none."""
    is_raw_input: bool = False
    """Whether it writes input that no shell will have judged before it runs."""
    tool: tuple[str, str] | None = None
    """Server and tool, for a call that goes to an upstream."""
    is_destructive: bool = False
    """The tool's own server says that it destroys; it is believed where that tightens."""
    trust: str = ""
    """How far the tool's server is trusted: trusted, untrusted or sandbox; empty for a call of no tool."""
    shell: str = ""
    """The one that reads the line, by its program's name; empty where any may."""
    workspace: str = ""
    """The directory whose contents are the caller's to change; empty where none is known."""
    home: str = ""
    """The home behind `~`, where it is not where homes are."""
    sandbox: str = ""
    """Empty: not confined. `closed`, `open`: confined, without or with a network."""
    into_program: bool = False
    """A finished line for a program that reads the terminal: only what is catalogued asks."""
    can_go_on: bool = False
    """A shell at its prompt reads it: an unfinished line runs nothing, and the whole is judged again."""

    def to_json(self) -> dict[str, object]:
        return {
            "operation": self.operation,
            "effect": str(self.effect),
            "actor": {"kind": self.actor.kind, "name": self.actor.name},
            "dialect": self.dialect,
            "mode": str(self.mode),
            "tags": sorted(self.tags),
            "cwd": self.cwd,
            "command_line": self.command_line,
            "is_raw_input": self.is_raw_input,
            "tool": list(self.tool) if self.tool else None,
            "is_destructive": self.is_destructive,
            **({"trust": self.trust} if self.trust else {}),
            **({"shell": self.shell} if self.shell else {}),
            **({"workspace": self.workspace} if self.workspace else {}),
            **({"home": self.home} if self.home else {}),
            **({"sandbox": self.sandbox} if self.sandbox else {}),
            **({"into_program": True} if self.into_program else {}),
            **({"can_go_on": True} if self.can_go_on else {}),
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, object]) -> "Judged":
        """The call out of a record of the trail, to decide it again."""
        actor = cast(Mapping[str, str], kept["actor"])
        tool = cast("list[str] | None", kept["tool"])
        return cls(
            operation=str(kept["operation"]),
            effect=Effect(str(kept["effect"])),
            actor=Actor(
                kind=cast(Literal["person", "agent", "node"], actor["kind"]), name=actor["name"]
            ),
            dialect=str(kept["dialect"]),
            mode=Mode(str(kept["mode"])),
            tags=frozenset(cast("list[str]", kept["tags"])),
            cwd=str(kept["cwd"]),
            command_line=cast("str | None", kept["command_line"]),
            is_raw_input=bool(kept["is_raw_input"]),
            tool=(tool[0], tool[1]) if tool else None,
            is_destructive=kept.get("is_destructive") is True,
            trust=str(kept.get("trust", "")),
            shell=str(kept.get("shell", "")),
            workspace=str(kept.get("workspace", "")),
            home=str(kept.get("home", "")),
            sandbox=str(kept.get("sandbox", "")),
            into_program=kept.get("into_program") is True,
            can_go_on=kept.get("can_go_on") is True,
        )


class Canonical(NamedTuple):
    """What to run instead of the text: the judged words, and nothing else."""

    commands: tuple[Command, ...]
    joins: tuple[str, ...]
    shells: frozenset[str]
    """Shells to which the original text says the same."""

    @property
    def text(self) -> str:
        """For `bash --norc --noprofile -c`."""
        return rebuild(self.commands, self.joins)

    @property
    def argv(self) -> tuple[str, ...] | None:
        """The same without any shell, where one command with plain words is all there is."""
        return lone_argv(self.commands)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    """It runs."""

    rule: str
    reason: Reason
    classes: tuple[str, ...] = ()
    canonical: Canonical | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A person decides."""

    rule: str
    reason: Reason
    detail: str
    classes: tuple[str, ...] = ()
    instead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deny:
    """It does not run."""

    rule: str
    reason: Reason
    detail: str
    classes: tuple[str, ...] = ()
    instead: str = ""


Decision = Allow | Ask | Deny

STRICTNESS: dict[type[Decision], int] = {Allow: 0, Ask: 1, Deny: 2}


def to_json(decision: Decision, *, canonical: bool = True) -> dict[str, object]:
    """A decision as the trail keeps it; `canonical`: with what runs instead of the text."""
    kept: dict[str, object] = {
        "decision": type(decision).__name__.lower(),
        "reason": decision.reason,
        "rule": decision.rule,
        "classes": list(decision.classes),
    }
    match decision:
        case Allow(canonical=runs):
            if canonical:
                kept["canonical"] = runs.text if runs else None
                kept["argv"] = list(runs.argv) if runs and runs.argv else None
        case Ask(detail=detail, instead=instead) | Deny(detail=detail, instead=instead):
            kept |= {"detail": detail, "instead": instead}
    return kept
