"""Pages of other sites that the settings list: they may call with a token, never with a cookie."""

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duetty.edges.http.auth import Guard
from duetty.edges.http.errors import error_response
from duetty.edges.http.headers import header_of
from duetty.errors import DuettyError

METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
REQUEST_HEADERS = "Authorization, Content-Type"
PREFLIGHT_S = 600


class Cors:
    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        origin = header_of(scope, b"origin")
        if not origin or not self._guard.origins().is_listed(origin):
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        if scope["method"] == "OPTIONS" and "access-control-request-method" in connection.headers:
            await self._preflight(connection, origin)(scope, receive, send)
            return

        async def send_with_origin(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    (b"access-control-allow-origin", origin.encode("latin-1")),
                    (b"access-control-expose-headers", b"Retry-After, WWW-Authenticate"),
                    (b"cross-origin-resource-policy", b"cross-origin"),
                    (b"vary", b"Origin"),
                ]
            await send(message)

        await self._app(scope, receive, send_with_origin)

    def _preflight(self, connection: HTTPConnection, origin: str) -> Response:
        """Asked by the browser before the page's own request, and so without a token."""
        try:
            self._guard.check_origin(connection)
        except DuettyError as error:
            return error_response(error)
        return Response(
            status_code=204,
            headers={
                "access-control-allow-origin": origin,
                "access-control-allow-methods": METHODS,
                "access-control-allow-headers": REQUEST_HEADERS,
                "access-control-max-age": str(PREFLIGHT_S),
                "vary": "Origin",
            },
        )
