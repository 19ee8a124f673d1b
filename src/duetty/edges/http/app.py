"""The HTTP edge: routes derived from the operation table, one envelope for every error."""

import base64
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duetty.edges.http.auth import COOKIE, COOKIE_S, Guard
from duetty.edges.http.errors import error_response, plain_error
from duetty.errors import BadArguments, DuettyError, Unavailable
from duetty.ops import Dispatcher, Operation

MAX_BODY_BYTES = 1024 * 1024

HEADERS: Mapping[str, str] = {
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": (
        "default-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "permissions-policy": "geolocation=(), microphone=(), camera=()",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}

log = logging.getLogger("duetty.http")


class BodyTooLarge(BadArguments):
    code = "body_too_large"


Stopping = Callable[[], Awaitable[object]]
"""Returns when the server is about to end."""


def make_app(
    dispatcher: Dispatcher,
    guard: Guard,
    *,
    page: str,
    stopping: Stopping,
    mounts: Mapping[str, ASGIApp] | None = None,
) -> ASGIApp:
    """The whole edge as one ASGI application."""
    routes = [
        _route(operation, dispatcher, guard, stopping)
        for operation in dispatcher.operations.values()
    ]
    routes += [
        StarletteRoute("/", _to_page, methods=["GET"]),
        StarletteRoute("/login", _login(guard), methods=["GET"]),
        StarletteRoute("/ui", _page(guard, page), methods=["GET"]),
    ]
    routes += [StarletteRoute(path, mounted) for path, mounted in (mounts or {}).items()]
    app = Starlette(
        routes=routes,
        exception_handlers={HTTPException: _on_http_exception(guard), Exception: _on_crash},
    )
    app.router.redirect_slashes = False
    return SecurityHeaders(app)


class SecurityHeaders:
    """Pure ASGI, so that it is on every answer and costs next to nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _route(
    operation: Operation[Any, Any], dispatcher: Dispatcher, guard: Guard, stopping: Stopping
) -> StarletteRoute:
    route = operation.route

    async def endpoint(request: Request) -> Response:
        try:
            actor = guard.admit(request)
            arguments = await _arguments(request, operation)
            call = dispatcher.call(actor, operation.name, arguments)
            result = await (_while_wanted(call, request, stopping) if operation.waits else call)
        except DuettyError as error:
            return error_response(error)
        if route.status == 204:
            return Response(status_code=204)
        return Response(_encoded(result), status_code=route.status, media_type="application/json")

    return StarletteRoute(route.path, endpoint, methods=[route.method], name=operation.name)


async def _while_wanted(call: Awaitable[Any], request: Request, stopping: Stopping) -> Any:
    """A wait ends with its client, and with the server: an abandoned one would hold up a session.

    What was typed goes on in either case.
    """
    outcome: list[Any] = []
    ended: list[DuettyError] = []
    async with anyio.create_task_group() as tasks:

        async def watch_client() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            ended.append(BadArguments("the client went away; the command goes on"))
            tasks.cancel_scope.cancel()

        async def watch_server() -> None:
            await stopping()
            ended.append(ServerStopping("the server is stopping; the command goes on"))
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch_client)
        tasks.start_soon(watch_server)
        try:
            outcome.append(await call)
        except DuettyError as error:  # a task group would wrap it
            ended.append(error)
        tasks.cancel_scope.cancel()
    if not outcome:
        raise ended[0]
    return outcome[0]


def _encoded(result: object) -> bytes:
    if isinstance(result, BaseModel):
        return result.model_dump_json().encode("utf-8", "replace")
    return to_json(result, inf_nan_mode="null")


async def _arguments(request: Request, operation: Operation[Any, Any]) -> dict[str, object]:
    arguments: dict[str, object] = {}
    fields = operation.params.model_fields
    for name in request.query_params:
        if name not in fields:
            continue  # as published: an unknown query parameter changes nothing
        values = request.query_params.getlist(name)
        is_list = "list" in str(fields[name].annotation)
        arguments[name] = values if is_list else values[-1]
    if operation.route.raw_body is not None:
        body = await _body(request)
        arguments |= {
            operation.route.raw_body: base64.b64encode(body).decode(),
            "encoding": "base64",
        }
    elif operation.route.method in ("POST", "PUT", "PATCH"):
        arguments |= await _json_body(request)
    return arguments | dict(request.path_params)


async def _json_body(request: Request) -> dict[str, object]:
    body = await _body(request)
    if not body.strip():
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise UnsupportedMediaType(
            "the body must be JSON", hint="send 'Content-Type: application/json'"
        )
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadArguments(f"the body is not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise BadArguments("the body must be a JSON object")
    return parsed  # type: ignore[return-value]  # keys of a JSON object are strings


class ServerStopping(Unavailable):
    code = "server_stopping"


class UnsupportedMediaType(BadArguments):
    code = "unsupported_media_type"


async def _body(request: Request) -> bytes:
    chunks: list[bytes] = []
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise BodyTooLarge(f"the body has more than {MAX_BODY_BYTES} bytes")
            chunks.append(chunk)
    except ClientDisconnect as error:
        raise BadArguments("the client went away before its request was complete") from error
    return b"".join(chunks)


async def _to_page(request: Request) -> Response:
    return RedirectResponse("/ui", status_code=307)


def _login(guard: Guard) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            guard.admit(request)
        except DuettyError as error:
            return error_response(error)
        cookie = guard.redeem(request.query_params.get("code", ""))
        if cookie is None:
            return plain_error(
                403,
                "link_expired",
                "this link was used already, or is too old",
                hint="`duetty token --link` prints a new one",
            )
        response = RedirectResponse("/ui", status_code=303)
        response.set_cookie(
            COOKIE,
            cookie,
            max_age=COOKIE_S,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    return endpoint


def _page(guard: Guard, page: str) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            guard.admit(request)
        except DuettyError as error:
            return error_response(error)
        return HTMLResponse(page)

    return endpoint


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
            hint=f"{request.method} {request.url.path[:200]}",
        )
        response.headers.update(error.headers or {})
        return response

    return handler


async def _on_crash(request: Request, error: Exception) -> Response:
    log.error("request_crashed", exc_info=error)
    return plain_error(
        500, "internal_error", "something went wrong here; the server's log says what"
    )
