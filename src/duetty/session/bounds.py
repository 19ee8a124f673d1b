"""How long a session or a run may take and how much it may print: kept, so a new server holds to it too."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

BoundReached = Literal["deadline", "output", "memory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a caller stopped waiting for, and whom to tell of its end.

    The bounds are those of a run in front; a session that is a run itself has its own.
    """

    caller: str
    ends_at_ns: int | None = None
    max_output_bytes: int | None = None
    start: int = 0
    """Journal offset at which its output begins."""

    bound_reached: BoundReached | None = None
    """Which of its bounds ended it, if one did."""

    @property
    def is_bounded(self) -> bool:
        return self.ends_at_ns is not None or self.max_output_bytes is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    ends_at_ns: int | None = None
    max_output_bytes: int | None = None
    left: Mapping[str, Left] = field(default_factory=dict[str, Left])
    """By the id of the session or block."""


NO_BOUNDS = Bounds()


def bounds_text(bounds: Bounds) -> str | None:
    return None if bounds == NO_BOUNDS else json.dumps(asdict(bounds))


def parse_bounds(text: str | None) -> Bounds:
    """None of those of a later version, which say more than we know."""
    try:
        fields: dict[str, Any] = json.loads(text) if text else {}
        left = {what: Left(**each) for what, each in fields.pop("left", {}).items()}
        return Bounds(**fields, left=left)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return NO_BOUNDS
