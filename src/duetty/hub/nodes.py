"""Another node as this one knows it: where it is, who it is, how it is."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import anyio

from duetty.errors import ServerUnavailable
from duetty.hub.addresses import Address

Health = Literal["connecting", "healthy", "unavailable", "rejected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who a node says it is."""

    hostname: str
    server_id: str
    version: str


@dataclass(eq=False, slots=True, kw_only=True)
class RemoteNode:
    address: Address
    token: str | None
    """This node's own and no other's: ours is never sent to anybody."""

    health: Health = "connecting"
    reason: str | None = None
    """Why it is not healthy."""

    identity: Identity | None = None
    """As it was last told; None until it has been reached once."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _calls: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])

    @property
    def name(self) -> str:
        """What it is called by: its hostname, or where it is as long as that is not known."""
        if self.identity is None or self.health == "rejected":
            return self.address.authority
        return self.identity.hostname

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    def is_called(self, name: str) -> bool:
        return name.lower() in (self.name.lower(), self.address.authority, str(self.address))

    @contextmanager
    def calling(self) -> Generator[None]:
        """A call to it, which ends when the node is found to be gone.

        Raises:
            ServerUnavailable: if it is, or goes meanwhile.
        """
        if self.health != "healthy":
            raise self.unavailable(self.reason or "it has not answered yet")
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

    def unavailable(self, why: str) -> ServerUnavailable:
        return ServerUnavailable(
            f"server {self.name!r} cannot be asked: {why}",
            hint="`duetty servers` shows how each one is",
            details={"server": self.name, "health": self.health},
        )

    def is_well(self, identity: Identity) -> None:
        self.identity, self.health, self.reason = identity, "healthy", None

    def is_not_well(self, health: Literal["unavailable", "rejected"], reason: str) -> None:
        self.health, self.reason = health, reason
        for scope in self._calls:
            scope.cancel()
