"""The whole server below a path, for a proxy that has other things beside it."""

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from duetty.edges.http.auth import is_unix


class Prefix:
    """Takes the prefix off, so that nothing behind it knows of one.

    `/health` is answered without it too, and so is everything on the unix
    socket, which no proxy stands before.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path == self._prefix or path.startswith(f"{self._prefix}/"):
            raw: bytes = scope.get("raw_path") or path.encode()
            scope = {
                **scope,
                "path": path.removeprefix(self._prefix) or "/",
                "raw_path": raw.removeprefix(self._prefix.encode()) or b"/",
            }
        elif path not in ("/health", "/ready") and not is_unix(HTTPConnection(scope)):
            scope = {**scope, "path": "//", "raw_path": b"//"}  # no route has this path
        await self._app(scope, receive, send)
