"""How long a session may run and how much it may print: kept with it, so a new server holds to it too."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

BoundReached = Literal["deadline", "output", "memory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    ends_at_ns: int | None = None
    max_output_bytes: int | None = None
    left: Mapping[str, str] = field(default_factory=dict[str, str])
    """Who stopped waiting for what and has not heard of its end: a caller by the id of the session or block."""


NO_BOUNDS = Bounds()


def bounds_text(bounds: Bounds) -> str | None:
    return None if bounds == NO_BOUNDS else json.dumps(asdict(bounds))


def parse_bounds(text: str | None) -> Bounds:
    """None of those of a later version, which say more than we know."""
    try:
        return Bounds(**json.loads(text)) if text else NO_BOUNDS
    except (ValueError, TypeError, RecursionError):
        return NO_BOUNDS
