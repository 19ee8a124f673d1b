"""Another node as this one knows it: where it is, who it is, whose it is, how it is."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import anyio

from duetty.errors import ServerUnavailable
from duetty.hub.addresses import Address
from duetty.hub.links import Link


class Closing(NamedTuple):
    """Code and reason of a WebSocket's end."""

    code: int
    reason: str


REPLACED = Closing(4409, "another connection of this machine took its place")
DRAINING = Closing(1012, "this hub restarts; join again")

MAX_OPENED = 64
"""Sessions that a node opened and has not listed yet."""

Health = Literal["connecting", "healthy", "unavailable", "rejected", "away"]
"""`away`: it joined once, and is not connected now (`away.py`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a node says it is."""

    hostname: str
    server_id: str
    """Of a node that joined: made from its key, and always the same."""

    version: str


@dataclass(eq=False, slots=True, kw_only=True)
class RemoteNode:
    link: Link
    address: Address | None = None
    """Where we dial it; None for one that dialled us."""

    token: str | None = None
    """This node's own and no other's: ours is never sent to another node."""

    owner: str | None = None
    """The user of this hub whose it is; None is who runs the hub."""

    epoch: int = 0
    """Of a node that joined: grows with each time that it does."""

    sessions: dict[str, str] = field(default_factory=dict[str, str])
    """Of a node that joined: names by id, as it announced them."""

    _opened: dict[str, str] = field(default_factory=dict[str, str])
    """Those that it opened for a caller of ours and has not listed yet."""

    health: Health = "connecting"
    reason: str | None = None
    """Why it is not healthy."""

    away_at_ns: int | None = None
    """When its connection ended, of one that is away."""

    identity: Identity | None = None
    """As the node last announced it; None until it has been reached once."""

    is_leaving: bool = False
    """It leaves on purpose: it is not away."""

    closing: Closing = REPLACED
    """The close message that it gets when its scope is cancelled."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _calls: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])

    @property
    def name(self) -> str:
        """What it is called by: its hostname, or where it is as long as that is not known."""
        if self.identity is None or (self.health == "rejected" and self.address is not None):
            return "" if self.address is None else self.address.authority
        return self.identity.hostname

    @property
    def id(self) -> str:
        """Of a node that joined."""
        return "" if self.identity is None else self.identity.server_id

    @property
    def has_joined(self) -> bool:
        return self.address is None

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"node:{self.id}" if self.address is None else str(self.address)

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    def is_called(self, name: str) -> bool:
        names = {self.name.lower(), self.place, self.id}
        if self.address is not None:
            names.add(self.address.authority)
        return name.lower() in names

    def lists(self, sessions: Mapping[str, str]) -> None:
        """Take the sessions that it announced."""
        for id_ in sessions.keys() & self._opened.keys():
            del self._opened[id_]
        self.sessions = {**self._opened, **sessions}

    def has_opened(self, id_: str, name: str) -> None:
        """Its answer named a new session: the caller can use it at once."""
        if id_ in self.sessions:
            return
        self._opened[id_] = self.sessions[id_] = name
        while len(self._opened) > MAX_OPENED:
            del self._opened[next(iter(self._opened))]

    @property
    def is_called_now(self) -> bool:
        """Whether a call to it is under way."""
        return bool(self._calls)

    @contextmanager
    def calling(self) -> Generator[None]:
        """A call to it, which ends when the node is found to be gone.

        Raises:
            ServerUnavailable: if it is, or goes meanwhile.
        """
        if self.health != "healthy":
            raise self.unavailable(self.reason or "it has not answered yet", executed=False)
        with anyio.CancelScope() as scope:
            self._calls.add(scope)
            try:
                yield
            except ServerUnavailable as error:
                raise self.unavailable(error.message) from error
            finally:
                self._calls.discard(scope)
        if scope.cancelled_caught:
            raise self.unavailable("it went away within the call, which may have had an effect")

    def unavailable(
        self, why: str, *, executed: Literal[False, "unknown"] = "unknown"
    ) -> ServerUnavailable:
        """`executed` False: nothing ran there, and the same call may be made again."""
        return ServerUnavailable(
            f"server {self.name!r} cannot be asked: {why}",
            hint="`duetty servers` shows how each one is",
            details={"server": self.name, "health": self.health, "executed": executed},
        )

    def is_well(self, identity: Identity) -> None:
        self.identity, self.health, self.reason = identity, "healthy", None

    def is_not_well(self, health: Literal["unavailable", "rejected"], reason: str) -> None:
        self.health, self.reason = health, reason
        for scope in self._calls:
            scope.cancel()
