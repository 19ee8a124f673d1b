"""`POST /rooms` and `POST /rooms/{sessionId}`: the bridge's door, for a front that runs elsewhere (docs/rooms.md).

The secret says that the front may call; the user's own token, which it passes on, says whose
rooms it reaches.
"""

import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response

from duetty.calls import Actor, Scope
from duetty.edges.http.arguments import body_of, json_object
from duetty.edges.http.auth import Guard
from duetty.edges.http.errors import error_response
from duetty.edges.http.headers import headers_of
from duetty.edges.http.operations import JsonAnswer, encoded_result, while_wanted
from duetty.edges.http.routes import Endpoint
from duetty.edges.http.stopping import Stopping
from duetty.errors import (
    AuthInvalid,
    AuthRequired,
    BadArguments,
    DuettyError,
    RoomNotFound,
    RoomToolNotFound,
    with_executed,
)
from duetty.ops import OPERATIONS, Dispatcher
from duetty.wire.results import SessionInfo
from duetty.wire.rooms import RoomTools

OF_SECRET = {"field": "secret"}
"""By which a front knows that it is at fault, and not its user."""

BRIDGE = Actor(
    kind="agent", name="bridge", scopes=frozenset({Scope.READ, Scope.INPUT, Scope.CONTROL})
)
"""Who calls with the secret and no user's token."""


Ask = Callable[[Request, Actor, Mapping[str, Any]], Awaitable[Any]]


def bridge_endpoints(
    dispatcher: Dispatcher, guard: Guard, secret: str, stopping: Stopping
) -> dict[str, dict[str, Endpoint]]:
    """By path and method, beside those of operations."""

    async def called(request: Request, actor: Actor, body: Mapping[str, Any]) -> Any:
        return await call_room(dispatcher, actor, request.path_params["room"], body)

    async def listed(_request: Request, actor: Actor, body: Mapping[str, Any]) -> Any:
        return await list_sessions(dispatcher, actor, body)

    def door(ask: Ask) -> Endpoint:
        async def answered(request: Request) -> Response:
            try:
                guard.check_origin(request)
                body = json_object(await body_of(request))
                check_secret(body.get("secret"), secret)
                actor = (
                    guard.admit(request) if headers_of(request.scope, b"authorization") else BRIDGE
                )
                asking = ask(request, actor, body)
                result = await while_wanted(asking, actor, request, guard, stopping)
            except DuettyError as error:
                return error_response(with_executed(error))
            return JsonAnswer(encoded_result(result))

        return answered

    # The last two are where PartyKit has its rooms.
    paths = ("/rooms/{room}", "/parties/main/{room}", "/party/{room}")
    return {"/rooms": {"POST": door(listed)}} | {path: {"POST": door(called)} for path in paths}


async def list_sessions(
    dispatcher: Dispatcher, actor: Actor, body: Mapping[str, Any]
) -> dict[str, Any]:
    """The user's active sessions: tool hosts with their tools, and terminals.

    Raises:
        BadArguments: if `after` or `waitMs` are no numbers.
    """
    given = {"after": body.get("after"), "wait_ms": body.get("waitMs", 0)}
    found: RoomTools = await dispatcher.call(actor, "room.tools", given)
    terminals: list[SessionInfo] = await dispatcher.call(actor, "session.list", {})
    hosts = [
        {
            "sessionId": room.session_id,
            "kind": "tool_host",
            "title": room.title,
            "documentName": room.document_name,
            "fileKey": room.file_key,
            "lastActivityMs": room.last_activity_ms,
            "tools": [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "inputSchema": tool.input_schema,
                }
                for tool in room.tools
            ],
        }
        for room in found.rooms
    ]
    shells = [
        {
            "sessionId": each.id,
            "kind": "terminal",
            "title": each.title or each.command,
            "machine": each.server,
            "cwd": each.cwd,
            "lastActivityMs": each.last_activity_ms,
        }
        for each in terminals
        if each.state != "exited" and each.away_since is None
    ]
    return {"seq": found.seq, "sessions": hosts + shells}


def check_secret(given: object, secret: str) -> None:
    """Raises:
    AuthRequired, AuthInvalid: if it is not the one.
    """
    if not secret:
        raise AuthRequired("this door is shut", hint="set BRIDGE_SECRET where the hub is started")
    if not isinstance(given, str):
        raise AuthInvalid(
            "the body has no `secret`",
            hint="it is the BRIDGE_SECRET that the hub was started with",
            details=OF_SECRET,
        )
    if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode()):
        raise AuthInvalid("this is not the bridge's secret", details=OF_SECRET)


async def call_room(
    dispatcher: Dispatcher, actor: Actor, room: str, body: Mapping[str, Any]
) -> Any:
    """A tool host's tool; of a terminal, the operation of that name.

    Raises:
        DuettyError: what the call fails with.
    """
    tool, args, command_id = body.get("tool"), body.get("args", {}), body.get("commandId")
    if not isinstance(tool, str) or not isinstance(args, dict):
        raise BadArguments("tool: a name; args: an object")
    if not isinstance(command_id, str) or not 0 < len(command_id) <= 200:
        raise BadArguments("commandId: a text of at most 200 characters")
    arguments = cast("dict[str, Any]", args)
    try:
        given = {"room": room, "tool": tool, "args": arguments, "command_id": command_id}
        answer = await dispatcher.call(actor, "room.call", given, command_id=command_id)
    except RoomNotFound as error:
        operation = OPERATIONS.get(tool)
        if operation is None or "session" not in operation.params.model_fields:
            await _refuse(dispatcher, actor, room, tool, error)
            raise
        return await dispatcher.call(
            actor, tool, {**arguments, "session": room}, command_id=command_id
        )
    return answer.result


async def _refuse(
    dispatcher: Dispatcher, actor: Actor, room: str, tool: str, error: RoomNotFound
) -> None:
    """Says what was wrong instead, where the room is a terminal, or may be a user's who was not named.

    Raises:
        RoomToolNotFound: if it is a terminal of this caller.
    """
    try:
        await dispatcher.call(actor, "session.get", {"session": room})
    except DuettyError:
        if actor is BRIDGE:
            error.hint = (
                "without Authorization only the hub's own rooms are reached: send the user's"
            )
        return
    named = [each.name for each in OPERATIONS.values() if "session" in each.params.model_fields]
    raise RoomToolNotFound(tool[:100], sorted(named)) from error
