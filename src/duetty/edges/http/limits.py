"""How many requests one address may make."""

import math
from functools import lru_cache
from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from duetty.clock import Clock
from duetty.edges.http.errors import error_response
from duetty.errors import RateLimited
from duetty.ops import Bucket

REMOTE_PER_S = 100
"""For other machines, when the settings say nothing."""


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
