"""Machines that joined once and are not connected now: whose each is, since when, and what it had.

A record is one key below `kept.away`, so it is known to every replica and after a restart. It is
written when the connection ends, and removed when the machine joins again, leaves on purpose, is
removed by a person, or was away for too long.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, cast

from duetty.clock import Clock
from duetty.errors import EngineUnavailable, ServerUnavailable
from duetty.hub.bus import Bus, Held, Subscription, joined
from duetty.hub.nodes import Identity, RemoteNode

AWAY_EACH = 200
"""Machines of one user that are remembered; of more, the one that is longest away is forgotten."""

AWAY_SESSIONS = 200
"""Of one machine."""


class _NoLink:
    """To a machine that is not connected."""

    def request(self, *_arguments: object, **_named: object) -> Any:
        raise ServerUnavailable("it is away")

    socket = request


_NO_LINK = _NoLink()


def away_node(
    id_: str,
    *,
    owner: str | None,
    hostname: str,
    version: str,
    sessions: Mapping[str, str],
    at_ns: int,
) -> RemoteNode:
    """A machine as it was when it was last here."""
    since = datetime.fromtimestamp(at_ns / 1e9, UTC).isoformat(timespec="seconds")
    node = RemoteNode(
        link=_NO_LINK, owner=owner, sessions=dict(list(sessions.items())[:AWAY_SESSIONS])
    )
    node.identity = Identity(hostname=hostname, server_id=id_, version=version)
    node.health, node.reason, node.away_at_ns = "away", f"it is away since {since}", at_ns
    return node


class AwayMachines:
    def __init__(
        self, bus: Bus, clock: Clock, *, forget_s: float, changed: Callable[[], None]
    ) -> None:
        """`changed` is called when a replica changed what is away."""
        self._on_change = changed
        self._bus = bus
        self._clock = clock
        self._forget_s = forget_s
        self._by_key: dict[str, RemoteNode] = {}
        self._watch: Subscription | None = None

    async def start(self) -> None:
        self._watch = await self._bus.watch("kept.away", self._hear)

    async def close(self) -> None:
        if self._watch is not None:
            with suppress(EngineUnavailable):
                await self._watch.close()

    def of(self, user: str | None) -> list[RemoteNode]:
        return [node for node in self._by_key.values() if node.owner == user and self._counts(node)]

    def _counts(self, node: RemoteNode) -> bool:
        left_ns = self._clock.wall_ns() - (node.away_at_ns or 0)
        return left_ns < self._forget_s * 1e9

    def note(self, node: RemoteNode) -> RemoteNode:
        """It is known here at once; `keep` tells the others."""
        assert node.identity is not None
        away = away_node(
            node.id,
            owner=node.owner,
            hostname=node.identity.hostname,
            version=node.identity.version,
            sessions=node.sessions,
            at_ns=self._clock.wall_ns(),
        )
        self._by_key[_key(node.id)] = away
        return away

    async def keep(self, away: RemoteNode) -> None:
        assert away.identity is not None
        fields = {
            "id": away.id,
            "user": away.owner,
            "hostname": away.identity.hostname,
            "version": away.identity.version,
            "sessions": list(away.sessions.items()),
            "at_ns": away.away_at_ns,
        }
        with suppress(EngineUnavailable):
            await self._bus.put(_key(away.id), json.dumps(fields).encode())
        own = sorted(self.of(away.owner), key=lambda each: each.away_at_ns or 0)
        for each in own[:-AWAY_EACH]:
            await self.forget(each.id)

    async def forget(self, id_: str) -> None:
        """It is back, or not to be remembered."""
        if self._by_key.pop(_key(id_), None) is not None:
            with suppress(EngineUnavailable):
                await self._bus.delete(_key(id_))

    async def forget_old(self) -> None:
        for node in list(self._by_key.values()):
            if not self._counts(node):
                await self.forget(node.id)

    def _hear(self, key: str, held: Held | None) -> None:
        node = None if held is None else _parsed(held.value)
        if node is None:
            self._by_key.pop(key, None)
        else:
            self._by_key[key] = node
        self._on_change()


def _key(id_: str) -> str:
    return joined("kept", "away", id_)


def _parsed(value: bytes) -> RemoteNode | None:
    try:
        fields = cast("dict[str, Any]", json.loads(value))
        return away_node(
            str(fields["id"]),
            owner=fields["user"],
            hostname=str(fields["hostname"]),
            version=str(fields["version"]),
            sessions=dict(fields["sessions"]),
            at_ns=int(fields["at_ns"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError, OSError):
        return None
