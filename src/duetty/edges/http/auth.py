"""Who is calling, and whether the request may come from where it says.

Loopback is not a credential: any page in a browser can reach it. So every
request has its Host and Origin checked, and needs a bearer token, or the cookie
that a one-time link gave, or the unix socket, whose peer was checked when it
connected.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from starlette.requests import Request

from duetty.calls import Actor
from duetty.clock import Clock
from duetty.errors import AuthInvalid, AuthRequired, OriginNotAllowed

COOKIE = "duetty"
LINK_S = 600
"""How long a one-time link works; it is printed for the person who starts the server."""

COOKIE_S = 30 * 24 * 3600
MAX_LINKS = 64
MAX_COOKIES = 1_024

OPEN_PATHS = frozenset({"/health", "/login"})
SAFE_METHODS = frozenset({"GET", "HEAD"})


def digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


@dataclass(slots=True, kw_only=True)
class Guard:
    """Knows the secrets only by their digests."""

    token_digest: bytes
    clock: Clock
    allowed_hosts: Callable[[], Collection[str]]
    token_actor: Callable[[str], Actor | None] = lambda token: None
    _links: dict[bytes, float] = field(default_factory=dict[bytes, float])
    _cookies: dict[bytes, float] = field(default_factory=dict[bytes, float])

    def new_link_code(self) -> str:
        """A code that signs one browser in, once."""
        code = secrets.token_urlsafe(24)
        _remember(self._links, digest(code), self.clock.monotonic_s() + LINK_S, MAX_LINKS)
        return code

    def redeem(self, code: str) -> str | None:
        """The cookie that this code buys, the first time."""
        expires_s = self._links.pop(digest(code), None)
        if expires_s is None or expires_s < self.clock.monotonic_s():
            return None
        cookie = secrets.token_urlsafe(32)
        _remember(self._cookies, digest(cookie), self.clock.monotonic_s() + COOKIE_S, MAX_COOKIES)
        return cookie

    def admit(self, request: Request) -> Actor:
        """The actor behind a request.

        Raises:
            AuthRequired: without a credential.
            AuthInvalid: with a wrong one.
            OriginNotAllowed: from a page or name that is not ours.
        """
        if is_unix(request):
            return Actor(kind="person", name="local")
        self.check_origin(request)
        if request.scope["path"] in OPEN_PATHS:
            return Actor(kind="person", name="anonymous")
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and token:
            return self._by_token(token.strip())
        cookie = request.cookies.get(COOKIE)
        if cookie and self._cookies.get(digest(cookie), 0.0) > self.clock.monotonic_s():
            self._check_cookie_use(request)
            return Actor(kind="person", name="browser")
        raise AuthRequired(
            "this request carries no valid credential",
            hint="send 'Authorization: Bearer TOKEN'; `duetty token` prints the token",
        )

    def _by_token(self, token: str) -> Actor:
        if hmac.compare_digest(digest(token), self.token_digest):
            return Actor(kind="agent", name="token")
        actor = self.token_actor(token)
        if actor is None:
            raise AuthInvalid("this token is not valid", hint="`duetty token` prints the token")
        return actor

    def check_origin(self, request: Request) -> None:
        """Whether the request came by a name of ours, and from our own page or none.

        Raises:
            OriginNotAllowed: if not.
        """
        if is_unix(request):
            return
        hosts = self.allowed_hosts()
        host = request.headers.get("host", "")
        if host.lower() not in hosts:
            raise OriginNotAllowed(
                f"host {host[:100]!r} is not a name of this server",
                hint="use the address that the server printed",
            )
        origin = request.headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] not in hosts:
            raise OriginNotAllowed(f"origin {origin[:100]!r} is not this server's page")

    def _check_cookie_use(self, request: Request) -> None:
        """A cookie comes along by itself, so a change must show that our own page asked for it."""
        if request.method in SAFE_METHODS:
            return
        site = request.headers.get("sec-fetch-site", "same-origin")
        if site not in ("same-origin", "none"):
            raise OriginNotAllowed("another site's page asked for a change")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("application/json", "application/octet-stream"):
            raise OriginNotAllowed(
                "a change with a cookie needs a JSON or octet-stream content type"
            )


def is_unix(request: Request) -> bool:
    server = request.scope.get("server")
    return server is not None and server[1] is None


def _remember(kept: dict[bytes, float], key: bytes, expires_s: float, bound: int) -> None:
    if len(kept) >= bound:
        kept.pop(min(kept, key=kept.__getitem__))
    kept[key] = expires_s
