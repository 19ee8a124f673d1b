"""Headers on every answer, errors included."""

from collections.abc import Awaitable, Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

API_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""An answer of the API is read by programs: shown in a browser, it loads and runs nothing."""

DOCUMENT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
"""A screen as a page or picture: what a program printed, shown without any right of ours."""

HEADERS: Mapping[str, str] = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": API_POLICY,
    "permissions-policy": "geolocation=(), microphone=(), camera=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

ENCODED = tuple((name.encode(), value.encode()) for name, value in HEADERS.items())


_NAMES = frozenset(name for name, _ in ENCODED)


_TABLE = "duetty.headers"


def headers_of(scope: Scope, name: bytes) -> list[str]:
    """Every header of this name, which is in lower case.

    The framework's own table takes longer than all that is asked of it here, and each layer would make one.
    """
    table = _table(scope)
    if table is None:
        return [value.decode("latin-1") for given, value in scope["headers"] if given == name]
    found = table.get(name)
    return [] if found is None else [found.decode("latin-1")]


def header_of(scope: Scope, name: bytes) -> str:
    """The first of this name; empty if there is none."""
    table = _table(scope)
    if table is None:
        return next(iter(headers_of(scope, name)), "")
    return table.get(name, b"").decode("latin-1")


def _table(scope: Scope) -> dict[bytes, bytes] | None:
    """None where a name stands more than once."""
    if _TABLE not in scope:
        table = dict(scope["headers"])
        scope[_TABLE] = table if len(table) == len(scope["headers"]) else None
    return scope[_TABLE]


class SecurityHeaders:
    """Pure ASGI, so that it is on every answer and costs next to nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        def send_with_headers(message: Message) -> Awaitable[None]:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                ours = ENCODED
                if not _NAMES.isdisjoint([name for name, _ in message["headers"]]):
                    given = {name for name, _ in message["headers"]}  # the page has its own policy
                    ours = tuple(header for header in ENCODED if header[0] not in given)
                message["headers"] = [*message["headers"], *ours]
            return send(message)

        await self._app(scope, receive, send_with_headers)
