"""A route for each operation: the table says what, this says how it looks over HTTP."""

import json
import re
from collections.abc import Awaitable, Mapping
from typing import Any
from urllib.parse import quote, unquote

import anyio
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from duetty.calls import Actor, Effect
from duetty.edges.http.arguments import Arguments, Malformed
from duetty.edges.http.auth import Guard
from duetty.edges.http.errors import error_response
from duetty.edges.http.headers import DOCUMENT_POLICY, header_of
from duetty.edges.http.peer import GONE
from duetty.edges.http.routes import Endpoint
from duetty.edges.http.stopping import End, Stopping
from duetty.errors import BadArguments, DuettyError, ServerStopping, TokenRevoked
from duetty.ops import SESSION_HEADER, Dispatcher, Operation, Stream


def operation_endpoints(
    dispatcher: Dispatcher, guard: Guard, stopping: Stopping
) -> dict[str, dict[str, Endpoint]]:
    """By path and method. What is offered for each session stands under `/session` too, for the one that
    is meant.
    """
    by_path: dict[str, dict[str, Endpoint]] = {}
    for operation in dispatcher.operations.values():
        endpoint = _endpoint(operation, dispatcher, guard, stopping)
        path, method = operation.route.path, operation.route.method
        for each in {path, path.replace("/sessions/{session}", "/session")}:
            by_path.setdefault(each, {})[method] = endpoint
    return by_path


def operation_routes(by_path: Mapping[str, Mapping[str, Endpoint]]) -> list[StarletteRoute]:
    """One for each path, so that the answer to a wrong method lists all the right ones."""
    return [
        StarletteRoute(path, _ByMethod(methods), methods=list(methods))
        for path, methods in sorted(by_path.items(), key=lambda item: _order(item[0]))
    ]


def _order(path: str) -> tuple[str, ...]:
    """A word before a placeholder: `/sessions/{session}/input/mode` is not a session's own."""
    return tuple("~" if part.startswith("{") else part for part in path.split("/"))


class _ByMethod:
    """An application of its own: the framework would put two more of its layers around a function."""

    def __init__(self, methods: Mapping[str, Endpoint]) -> None:
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        method = "GET" if request.method == "HEAD" else request.method
        response = await self._methods[method](request)
        await response(scope, receive, send)


def _endpoint(
    operation: Operation[Any, Any], dispatcher: Dispatcher, guard: Guard, stopping: Stopping
) -> Endpoint:
    arguments = Arguments(operation)
    has_session = "{session}" in operation.route.path

    async def endpoint(request: Request) -> Response:
        given: dict[str, object] = {}
        where: dict[str, str] = {}
        try:
            actor = guard.admit(request)
            given = await arguments.read(request)
            if has_session and "session" not in given:
                where = {"session": await _meant(request, dispatcher, actor)}
            given = given | where
            call = dispatcher.call(actor, operation.name, given, streaming=True, **_manner(request))
            if operation.waits or operation.effect is not Effect.READ:
                result = await while_wanted(call, actor, request, guard, stopping)
            else:
                result = await call
        except Malformed as error:
            refusal = error if operation.malformed is None else operation.malformed(error)
            return error_response(refusal)
        except ServerStopping as error:
            cut_off = operation.cut_off
            return error_response(error if cut_off is None else cut_off(given, error.message))
        except DuettyError as error:
            return error_response(error)
        answer = _answer(result, operation.route.status)
        if where:
            answer.headers[SESSION_HEADER] = quote(where["session"])
        return answer

    return endpoint


async def _meant(request: Request, dispatcher: Dispatcher, actor: Actor) -> str:
    """The session of a request that names none in its path and arguments."""
    if (named := request.headers.get(SESSION_HEADER)) is not None:
        return unquote(named)
    selected = await dispatcher.call(actor, "session.select", {})
    return str(selected.session)


MANNER = "duetty.manner"
"""In the state of a request that came through a hub: how its caller asked there."""

_PLAIN: Mapping[str, Any] = {}

COMMAND_ID = b"duetty-command-id"
"""Names a call: the node that it is for does what has the same one once."""


def _manner(request: Request) -> Mapping[str, Any]:
    manner = request.scope.get("state", {}).get(MANNER)
    if manner is not None:
        return manner
    command_id = header_of(request.scope, COMMAND_ID)
    return {"command_id": command_id[:100]} if command_id else _PLAIN


def _answer(result: object, status: int) -> Response:
    if status == 204:
        return Response(status_code=204)
    if isinstance(result, Stream):
        headers = {"content-security-policy": DOCUMENT_POLICY}
        if result.filename is not None:
            name = re.sub(r"[^\w.-]", "_", result.filename, flags=re.ASCII)
            headers["content-disposition"] = f'attachment; filename="{name}"'
        if isinstance(result.content, bytes):
            return Response(result.content, media_type=result.media_type, headers=headers)
        return StreamingResponse(result.content, media_type=result.media_type, headers=headers)
    return JsonAnswer(encoded_result(result), status)


class JsonAnswer(Response):
    """The framework's own takes as long for its two headers as for all of the answer."""

    def __init__(self, body: bytes, status: int = 200) -> None:
        self.status_code = status
        self.background = None
        self.body = body
        self.raw_headers = [
            (b"content-length", b"%d" % len(body)),
            (b"content-type", b"application/json"),
        ]


def encoded_result(result: object) -> bytes:
    try:
        if isinstance(result, BaseModel):
            return result.model_dump_json().encode()
        return to_json(result, inf_nan_mode="null")
    except PydanticSerializationError:  # a lone surrogate in what a tool host answered
        plain = result.model_dump() if isinstance(result, BaseModel) else result
        return json.dumps(plain, default=str).encode()


async def while_wanted(
    call: Awaitable[Any], actor: Actor, request: Request, guard: Guard, stopping: Stopping
) -> Any:
    """A wait ends with its client, its token and the server: an abandoned one would hold up a
    session, and a question to a person needs a caller who still waits. A typed command goes
    on in any case.
    """
    connection: End | None = request.scope.get("state", {}).get(GONE)
    ending = _Ending(anyio.CancelScope())
    leave = guard.live.join(actor.token, ending.revoked)
    stopping.join(ending.stopped)
    if connection is not None:
        connection.join(ending.left)
    try:
        with ending.scope:
            if connection is None:
                return await _watching(call, request, ending)
            return await call
    except DuettyError as error:
        if ending.error is None:
            raise
        raise ending.error from error
    finally:
        leave()
        stopping.leave(ending.stopped)
        if connection is not None:
            connection.leave(ending.left)
    assert ending.error is not None
    raise ending.error


class _Ending:
    """Why a wait ended before its call did. A class: closures for each of thousands of calls a second are felt."""

    __slots__ = ("error", "scope")

    def __init__(self, scope: anyio.CancelScope) -> None:
        self.scope = scope
        self.error: DuettyError | None = None

    def _end(self, error: DuettyError) -> None:
        self.error = self.error or error
        self.scope.cancel()

    def left(self) -> None:
        self._end(BadArguments("the client went away; the command goes on"))

    def stopped(self) -> None:
        self._end(ServerStopping())

    def revoked(self) -> None:
        self._end(TokenRevoked("unknown"))


async def _watching(call: Awaitable[Any], request: Request, ending: _Ending) -> Any:
    """A request that came through a hub has no connection of its own that says when its client goes."""

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        ending.left()

    failed: DuettyError | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            return await call
        except DuettyError as error:  # the group would wrap it
            failed = error
        finally:
            tasks.cancel_scope.cancel()
    if failed is not None:
        raise failed
    return None  # cancelled, and the caller says why
