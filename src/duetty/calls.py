"""Who asks for what: actor, effect, call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class Effect(StrEnum):
    """The worst an operation can do, from harmless to grave."""

    READ = "read"
    DISPLAY = "display"
    INPUT = "input"
    CONTROL = "control"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who makes a call."""

    kind: Literal["person", "agent", "node"]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An actor's request for an operation."""

    actor: Actor
    operation: str
    arguments: Mapping[str, object] = field(default_factory=dict[str, object])
