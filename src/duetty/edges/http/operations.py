"""A route for each operation: the table says what, this says how it looks over HTTP."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, unquote

import anyio
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from duetty.calls import Actor, Effect
from duetty.edges.http.arguments import Arguments, Malformed
from duetty.edges.http.auth import Guard
from duetty.edges.http.errors import error_response
from duetty.edges.http.headers import DOCUMENT_POLICY
from duetty.edges.http.peer import GONE
from duetty.edges.http.stopping import End, Stopping
from duetty.errors import BadArguments, DuettyError, ServerStopping, TokenRevoked
from duetty.ops import SESSION_HEADER, Dispatcher, Operation, Stream

Endpoint = Callable[[Request], Awaitable[Response]]


def operation_routes(
    dispatcher: Dispatcher, guard: Guard, stopping: Stopping
) -> list[StarletteRoute]:
    """One for each path, so that the answer to a wrong method lists all the right ones.

    What is offered for each session stands under `/session` too, for the one that is meant.
    """
    by_path: dict[str, dict[str, Endpoint]] = {}
    for operation in dispatcher.operations.values():
        endpoint = _endpoint(operation, dispatcher, guard, stopping)
        path, method = operation.route.path, operation.route.method
        for each in {path, path.replace("/sessions/{session}", "/session")}:
            by_path.setdefault(each, {})[method] = endpoint
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

COMMAND_ID = "duetty-command-id"
"""Names a call: the node that it is for does what has the same one once."""


def _manner(request: Request) -> Mapping[str, Any]:
    manner = request.scope.get("state", {}).get(MANNER)
    if manner is not None:
        return manner
    command_id = request.headers.get(COMMAND_ID, "")
    return {"command_id": command_id[:100]} if command_id else {}


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
    return Response(encoded_result(result), status_code=status, media_type="application/json")


def encoded_result(result: object) -> bytes:
    if isinstance(result, BaseModel):
        return result.model_dump_json().encode("utf-8", "replace")
    return to_json(result, inf_nan_mode="null")


async def while_wanted(
    call: Awaitable[Any], actor: Actor, request: Request, guard: Guard, stopping: Stopping
) -> Any:
    """A wait ends with its client, its token and the server: an abandoned one would hold up a
    session, and a question to a person needs a caller who still waits. A typed command goes
    on in any case.
    """
    ended: list[DuettyError] = []
    scope = anyio.CancelScope()

    def end(error: DuettyError) -> None:
        ended.append(error)
        scope.cancel()

    left = BadArguments("the client went away; the command goes on")
    revoked = TokenRevoked("unknown")
    with (
        scope,
        stopping.joined(lambda: end(ServerStopping())),
        guard.live.joined(actor, lambda: end(revoked)),
    ):
        async with _while_there(request, lambda: end(left)):
            try:
                return await call
            except DuettyError as error:  # a task group would wrap it
                ended.append(error)
    raise ended[0]


@asynccontextmanager
async def _while_there(request: Request, left: Callable[[], None]) -> AsyncGenerator[None]:
    """`left` is called when the client goes. Its connection says so; a request that came through a
    hub has none of its own, and is waited for.
    """
    connection: End | None = request.scope.get("state", {}).get(GONE)
    if connection is not None:
        with connection.joined(left):
            yield
        return

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        left()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            yield
        finally:
            tasks.cancel_scope.cancel()
