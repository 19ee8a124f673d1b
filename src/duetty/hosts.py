"""Clients of agents' hosts, as far as they can be asked for something.

A host is the program in which an agent runs. Its client may lend its model
(sampling) and put a form or an address to its person (elicitation). What it can
is what it declared; each caller sets a bound.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from duetty.calls import Actor
from duetty.errors import HostUnavailable

Ability = Literal["sampling", "sampling.tools", "form", "url"]
Method = Literal["sampling/createMessage", "elicitation/create"]
Send = Callable[[Method, Mapping[str, Any], float], Awaitable[dict[str, Any]]]
"""Method, parameters and seconds in; what the client answered out, as it stood on the wire.

Raises:
    HostUnavailable: if it did not answer, or with an error.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HostClient:
    actor: Actor
    """Whose credential it showed."""

    abilities: frozenset[Ability]
    send: Send = field(repr=False)

    @property
    def name(self) -> str:
        """The name it gave itself; not verified."""
        return self.actor.client or self.actor.name

    async def sample(self, request: Mapping[str, Any], *, within_s: float) -> dict[str, Any]:
        """A completion by the host's model: parameters of `sampling/createMessage`, and its result.

        Raises:
            HostUnavailable: if it cannot, would not, or did not in time.
        """
        self._need("sampling.tools" if request.get("tools") else "sampling")
        return await self.send("sampling/createMessage", request, within_s)

    async def elicit(self, request: Mapping[str, Any], *, within_s: float) -> dict[str, Any]:
        """What the person at the host says to a form, or to an address to open.

        Raises:
            HostUnavailable: if it cannot, would not, or did not in time.
        """
        self._need("url" if request.get("mode") == "url" else "form")
        return await self.send("elicitation/create", request, within_s)

    def _need(self, ability: Ability) -> None:
        if ability not in self.abilities:
            raise HostUnavailable(
                f"the client {self.name!r} does not offer {ability}",
                hint="use a host that declares it, or answer on the page",
            )


class Hosts:
    """Connected clients that can be asked at any time, not only while they wait for a call.

    Those of the handshake era: the modern one is asked with the answer to its own call only.
    """

    def __init__(self) -> None:
        self._all: list[HostClient] = []
        self._connections: Counter[str] = Counter()

    def connect(self, connection: str) -> Callable[[], None]:
        """This connection is there, until what this returns is called."""
        self._connections[connection] += 1

        def leave() -> None:
            self._connections[connection] -= 1
            self._connections += Counter()  # only those that are there

        return leave

    def is_connected(self, connection: str) -> bool:
        return connection in self._connections

    def join(self, client: HostClient) -> Callable[[], None]:
        """From now on, until what this returns is called."""
        self._all.append(client)

        def leave() -> None:
            if client in self._all:
                self._all.remove(client)

        return leave

    def those_with(self, ability: Ability) -> list[HostClient]:
        """Newest first."""
        return [each for each in reversed(self._all) if ability in each.abilities]
