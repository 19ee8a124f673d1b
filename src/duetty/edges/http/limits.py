"""How much one address may ask."""

import math
from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from duetty.clock import Clock
from duetty.edges.http.errors import error_response
from duetty.errors import RateLimited

MAX_PEERS = 4_096
"""Addresses remembered; the one not heard of for longest starts anew."""

REMOTE_PER_S = 100
"""For other machines, when the settings say nothing."""


@dataclass(slots=True)
class _Bucket:
    left: float
    at_s: float


class Bucket:
    """Requests a second for each address, and as many at once after a pause of a second."""

    def __init__(self, per_s: int, clock: Clock) -> None:
        self._per_s = per_s
        self._clock = clock
        self._peers: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, peer: str) -> float:
        """0, or the seconds until there is room again."""
        now_s = self._clock.monotonic_s()
        bucket = self._peers.get(peer)
        if bucket is None:
            bucket = self._peers[peer] = _Bucket(self._per_s, now_s)
            if len(self._peers) > MAX_PEERS:
                self._peers.popitem(last=False)
        self._peers.move_to_end(peer)
        bucket.left = min(self._per_s, bucket.left + (now_s - bucket.at_s) * self._per_s)
        bucket.at_s = now_s
        if bucket.left < 1:
            return (1 - bucket.left) / self._per_s
        bucket.left -= 1
        return 0.0


class RateLimit:
    """Outside of the guard, so that guessing is slowed down too.

    `per_s` as the setting has it: 0 is none, -1 is 100 for other machines only.
    The unix socket is never limited.
    """

    def __init__(self, app: ASGIApp, per_s: int, clock: Clock) -> None:
        self._app = app
        self._spares_loopback = per_s < 0
        self._per_s = REMOTE_PER_S if per_s < 0 else per_s
        self._bucket = Bucket(self._per_s, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if self._per_s and client is not None and not self._is_spared(client[0]):
            wait_s = self._bucket.take(client[0])
            if wait_s > 0:
                error = RateLimited(
                    f"more than {self._per_s} requests a second came from this address",
                    hint="wait for Retry-After seconds; to follow a session, use a WebSocket",
                )
                response = error_response(error)
                response.headers["Retry-After"] = str(math.ceil(wait_s))
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _is_spared(self, peer: str) -> bool:
        return self._spares_loopback and is_loopback(peer)


def is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
