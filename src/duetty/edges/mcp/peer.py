"""A client on a connection, as far as the SDK has come to know it."""

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio

from duetty.calls import Actor
from duetty.hosts import Ability

MAX_HEARD = 256


@dataclass(slots=True, kw_only=True)
class Choice:
    """What one connection knows of the session it means."""

    session_id: str | None = None
    offered: dict[str, str] = field(default_factory=dict[str, str])
    """Ids by id and by name, of the candidates in the last answer."""

    def named(self, session: str) -> None:
        """A call names this one: the choice among the candidates, if it is one of them."""
        if session in self.offered:
            self.session_id = self.offered[session]
            self.offered = {}


@dataclass(slots=True, kw_only=True, eq=False)
class Peer:
    connection: str | None = None
    """What its connection is known by, over restarts of the server too where a bridge tells."""

    version: str | None = None
    """None until the handshake is over, and while it is done again: all goes through the SDK."""

    is_modern: bool = False
    abilities: frozenset[Ability] = frozenset()
    """What it can be asked for."""

    client: str | None = None
    """What it calls itself."""

    owner: Actor | None = None
    tell: Callable[[dict[str, Any]], Awaitable[None]] | None = None
    """Sends it a message that it did not ask for, where its era has such."""

    calls: dict[str | int, anyio.CancelScope] = field(
        default_factory=dict[str | int, anyio.CancelScope]
    )
    """Plain calls on their way, by id."""

    heard: deque[str] = field(default_factory=lambda: deque[str](maxlen=MAX_HEARD))
    """Ids of what it was notified of, the newest of them."""

    choice: Choice = field(default_factory=Choice)
    """The session that it means where it names none."""

    room_choice: Choice = field(default_factory=Choice)
    """The same, of tool hosts."""

    is_gone: bool = False

    def cancel(self, key: str | int) -> None:
        scope = self.calls.get(key)
        if scope is not None:
            scope.cancel()

    def go(self) -> None:
        """The connection is over, and so are the calls on it."""
        self.is_gone = True
        self.version = None
        for scope in self.calls.values():
            scope.cancel()
