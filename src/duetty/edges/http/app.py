"""The HTTP edge as one ASGI application: routes derived from the operation table, one envelope."""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route as StarletteRoute
from starlette.routing import WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from duetty.clock import Clock
from duetty.edges.http.auth import Guard
from duetty.edges.http.cors import Cors
from duetty.edges.http.errors import error_response, plain_error
from duetty.edges.http.fairness import Fair
from duetty.edges.http.headers import SecurityHeaders
from duetty.edges.http.limits import RateLimit
from duetty.edges.http.operations import operation_endpoints, operation_routes
from duetty.edges.http.prefix import Prefix
from duetty.edges.http.reference import reference_routes
from duetty.edges.http.routes import ByFirstWord, Direct, Endpoint
from duetty.edges.http.sign_in import login
from duetty.edges.http.stopping import Stopping
from duetty.edges.http.upgrade_required import upgrade_routes
from duetty.errors import BadArguments, DuettyError, NotFound
from duetty.ops import Dispatcher, JwtTokens

log = logging.getLogger("duetty.http")


def make_app(
    dispatcher: Dispatcher,
    guard: Guard,
    *,
    stopping: Stopping,
    clock: Clock,
    prefix: str = "",
    rate_limit: int = 0,
    mounts: Mapping[str, ASGIApp] | None = None,
    routes: Sequence[StarletteRoute | WebSocketRoute] = (),
    endpoints: Mapping[str, Mapping[str, Endpoint]] | None = None,
) -> ASGIApp:
    """The whole edge. `mounts`, `routes` and `endpoints` are what other parts answer below the same checks."""
    direct: dict[str, dict[str, Endpoint]] = operation_endpoints(dispatcher, guard, stopping)
    for path, methods in (endpoints or {}).items():
        direct.setdefault(path, {}).update(methods)
    every: list[StarletteRoute | WebSocketRoute] = [
        StarletteRoute("/", _to_page(prefix), methods=["GET"]),
        StarletteRoute("/login", login(guard, prefix), methods=["GET"]),
        *(StarletteRoute(path, mounted) for path, mounted in (mounts or {}).items()),
        *reference_routes(guard, prefix),
        *routes,
        *upgrade_routes(guard),
        *operation_routes(direct),
    ]
    app = Starlette(
        routes=[ByFirstWord(every)],
        exception_handlers={HTTPException: _on_http_exception(guard), Exception: _on_crash},
    )
    app.router.redirect_slashes = False
    app.router.default = _no_route(guard, app.router.not_found)
    whole: ASGIApp = Cors(Direct(direct, app, _on_crash), guard)
    if prefix:
        whole = Prefix(whole, prefix)
    if guard.access.jwt is not None:
        whole = JwtKeys(whole, guard.access.jwt)
    if guard.access.fetch is not None:
        whole = Passed(whole, guard.access.fetch)
    whole = Fair(PlainPaths(whole), guard.access.bounds)
    return SecurityHeaders(RateLimit(whole, rate_limit, clock))


class JwtKeys:
    """Fetches the keys that a token needs, before who shows it is admitted without a wait."""

    def __init__(self, app: ASGIApp, tokens: JwtTokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for name, value in scope.get("headers", ()):
            token = value[7:].decode("latin-1").strip()
            if (
                name == b"authorization"
                and value[:7].lower() == b"bearer "
                and self._tokens.looks_like_one(token)
            ):
                await self._tokens.prepare(token)
        await self._app(scope, receive, send)


class Passed:
    """Has a ticket or a sign-in link here that another replica of the hub made, before it is looked at."""

    def __init__(self, app: ASGIApp, fetch: Callable[[str], Awaitable[None]]) -> None:
        self._app = app
        self._fetch = fetch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for name, value in scope.get("headers", ()):
            if name == b"authorization" and value[:7].lower() == b"ticket ":
                await self._fetch(value[7:].decode("latin-1").strip())
        query: bytes = scope.get("query_string", b"")
        if (b"ticket=" in query and scope["type"] == "websocket") or (
            b"code=" in query and scope["path"].endswith("/login")
        ):
            fields = parse_qs(query.decode("latin-1"), max_num_fields=100)
            for given in [*fields.get("ticket", ())[:1], *fields.get("code", ())[:1]]:
                await self._fetch(given)
        await self._app(scope, receive, send)


class PlainPaths:
    """Refuses paths that mean one thing here and another to a proxy in front.

    The server decodes a path before it looks for the route, so an encoded slash
    would move what follows into another place.
    """

    _TRICKS = re.compile(
        rb"%(?:2f|5c|[01][0-9a-f]|7f)|%(?![0-9a-f]{2})|[\x00-\x20\x7f]", re.IGNORECASE
    )

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes = scope.get("raw_path") or b""
        if self._TRICKS.search(raw) or "\ufffd" in scope["path"]:
            error = BadArguments(
                "the path is not well-formed",
                hint="it is UTF-8, percent-encoded; names hold no slash and no control character",
            )
            await error_response(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _to_page(prefix: str) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return RedirectResponse(f"{prefix}/ui", status_code=307)

    return endpoint


def _no_route(guard: Guard, otherwise: ASGIApp) -> ASGIApp:
    """The framework closes an upgrade that no route takes without a word."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await otherwise(scope, receive, send)
            return
        websocket = WebSocket(scope, receive, send)
        try:
            guard.check_origin(websocket)
            raise NotFound(
                "there is no WebSocket here",
                hint="they are in /openapi.json, and for people in /docs, under `stream`",
            )
        except DuettyError as error:
            await websocket.send_denial_response(error_response(error))

    return answer


_CODES = {404: "not_found", 405: "method_not_allowed", 413: "body_too_large"}


def _on_http_exception(guard: Guard) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handler(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        try:
            guard.check_origin(request)  # another name's page learns nothing, not even what exists
        except DuettyError as refused:
            return error_response(refused)
        response = plain_error(
            error.status_code,
            _CODES.get(error.status_code, "invalid_request"),
            str(error.detail),
            hint="the routes are in /openapi.json, and for people in /docs",
        )
        response.headers.update(error.headers or {})
        return response

    return handler


async def _on_crash(_request: Request, error: Exception) -> Response:
    log.error("request_crashed", exc_info=error)
    return plain_error(
        500, "internal_error", "something went wrong here; the server's log says what"
    )
