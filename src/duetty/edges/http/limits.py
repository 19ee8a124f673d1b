"""How much one owner may have in a time, and how many requests one address may make."""

import math
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from duetty.clock import Clock
from duetty.edges.http.errors import error_response
from duetty.errors import RateLimited

MAX_OWNERS = 4_096
"""Owners remembered; the one not heard of for longest starts anew."""

REMOTE_PER_S = 100
"""For other machines, when the settings say nothing."""


@dataclass(slots=True)
class _Bucket:
    left: float
    at_s: float


class Bucket:
    """So much a second for each owner, and `at_once` after a pause: what a second gives, by default."""

    def __init__(self, per_s: float, clock: Clock, *, at_once: float | None = None) -> None:
        self._per_s = per_s
        self._at_once = per_s if at_once is None else at_once
        self._clock = clock
        self._owners: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, owner: str) -> float:
        """One, if there is one: 0, or the seconds until there is."""
        bucket = self._filled(owner)
        if bucket.left < 1:
            return (1 - bucket.left) / self._per_s
        bucket.left -= 1
        return 0.0

    def spend(self, owner: str, amount: float) -> None:
        """So much, whether it is there or owed from now on."""
        self._filled(owner).left -= amount

    def owed_s(self, owner: str) -> float:
        """The seconds until nothing is owed."""
        bucket = self._owners.get(owner)
        if bucket is None or bucket.left >= 0:  # it only fills meanwhile
            return 0.0
        return max(0.0, -self._filled(owner).left / self._per_s)

    def _filled(self, owner: str) -> _Bucket:
        now_s = self._clock.monotonic_s()
        bucket = self._owners.get(owner)
        if bucket is None:
            bucket = self._owners[owner] = _Bucket(self._at_once, now_s)
            if len(self._owners) > MAX_OWNERS:
                self._owners.popitem(last=False)
        self._owners.move_to_end(owner)
        bucket.left = min(self._at_once, bucket.left + (now_s - bucket.at_s) * self._per_s)
        bucket.at_s = now_s
        return bucket


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
                    details={"retry_after_s": math.ceil(wait_s)},
                )
                await error_response(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _is_spared(self, peer: str) -> bool:
        return self._spares_loopback and is_loopback(peer)


@lru_cache(maxsize=1_024)
def is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
