"""Every bound that callers share, in one table: so many in all, so many for one credential and for one other
machine, and some kept for people.

`duetty doctor` shows the table as it is in force. What a credential holds ends with it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from duetty.clock import SystemClock
from duetty.descriptors import connections, strangers
from duetty.ops.fairness import Fairness
from duetty.ops.shares import Shares
from duetty.session import MAX_VIEWERS

MCP_SESSIONS = 1_000
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Shares are parts of `most`, which is asked for each time: some follow the limits of the process."""

    name: str
    what: str
    most: Callable[[], int]
    each: float = 1 / 4
    each_source: float = 1 / 2
    """For agents at one other machine; this machine is none."""

    for_people: float = 1 / 4

    def shares(self) -> Shares:
        return Shares(
            self.what,
            most=self.most,
            each=self.each,
            each_source=self.each_source,
            for_people=self.for_people,
        )


def _fixed(most: int) -> Callable[[], int]:
    return lambda: most


TABLE = (
    # No credential yet: the oldest goes for the newest, of the same machine if that holds its half.
    Bound(
        name="strangers",
        what="connections without a credential",
        most=strangers,
        each=1,
        for_people=0,
    ),
    Bound(name="connections", what="connections", most=connections, for_people=1 / 8),
    Bound(name="websockets", what="WebSockets and event streams", most=_fixed(256)),
    Bound(
        name="viewers",
        what="viewers of this session",
        most=_fixed(MAX_VIEWERS),
        each=2 / 3,
        each_source=2 / 3,
        for_people=1 / 3,
    ),
    Bound(name="tickets", what="tickets that wait to be used", most=_fixed(1_024), each=1 / 8),
    Bound(name="mcp_sessions", what="MCP sessions", most=lambda: MCP_SESSIONS),
    Bound(name="subscriptions", what="MCP subscriptions", most=_fixed(1_024), each=1 / 2),
    Bound(name="tasks", what="MCP tasks", most=_fixed(1_000)),
    Bound(name="waits", what="calls that wait", most=_fixed(1_024)),
    Bound(name="answers", what="bytes of answers that wait to be read", most=_fixed(64 * MIB)),
    Bound(name="uploads", what="bytes of requests that arrive", most=_fixed(64 * MIB)),
)


class Bounds:
    """The table with who holds what of it."""

    def __init__(self) -> None:
        self._shares = {bound.name: bound.shares() for bound in TABLE}
        self.fairness = Fairness(SystemClock())
        """What each has used of the loop and of what it reads."""

        self.strangers: dict[Any, str] = {}
        """Connections that have shown no credential yet, oldest first, and their sources."""

    def held(self, name: str) -> int:
        return len(self.strangers) if name == "strangers" else self._shares[name].held

    def __getitem__(self, name: str) -> Shares:
        return self._shares[name]

    def __iter__(self) -> Iterator[tuple[Bound, Shares]]:
        return ((bound, self._shares[bound.name]) for bound in TABLE)
