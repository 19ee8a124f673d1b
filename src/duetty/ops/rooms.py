"""Operations on rooms: the tool hosts that joined this hub, and calls of their tools."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any

import anyio

from duetty.calls import Actor, Effect
from duetty.errors import (
    CommandIdReused,
    Deadline,
    DuettyError,
    RoomBusy,
    RoomLeft,
    RoomNotFound,
    RoomToolNotFound,
    TokenRevoked,
    ToolFailed,
)
from duetty.hub import (
    Announced,
    RemoteRoom,
    Room,
    announce_again,
    claim_room,
    find_remote,
    logged,
    may_return,
    plain_tool_name,
    remote_rooms,
)
from duetty.ops.joined_nodes import RELEASE_S
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.selection import Candidate
from duetty.ops.services import Services
from duetty.wire.params import Nothing
from duetty.wire.rooms import (
    RoomCallParams,
    RoomInfo,
    RoomResult,
    RoomTool,
    RoomTools,
    RoomToolsParams,
)

HOW_TO_JOIN = "start a program that joins as a tool host, such as the plugin of a design tool"


async def _list(params: Nothing, services: Services, actor: Actor) -> list[RoomInfo]:
    return await listed_rooms(services, actor.user)


async def listed_rooms(services: Services, user: str | None) -> list[RoomInfo]:
    now_s = monotonic()
    own = [
        room_info(room.id, room.announced, int((now_s - room.active_s) * 1000))
        for room in services.rooms.of(user)
    ]
    return [*own, *await _elsewhere(services, user)]


async def _tools(params: RoomToolsParams, services: Services, actor: Actor) -> RoomTools:
    rooms = services.rooms
    if params.after is not None and params.wait_ms:
        with anyio.move_on_after(params.wait_ms / 1000):
            while rooms.changes <= params.after:
                await rooms.changed()
    seq = rooms.changes
    return RoomTools(seq=seq, rooms=await listed_rooms(services, actor.user))


def room_candidates(rooms: Sequence[RoomInfo], tool: str) -> list[Candidate]:
    """Those that a call of this tool can mean."""
    return [
        Candidate(
            session_id=room.session_id,
            name=room.session_id,
            title=room.title,
            machine="",
            cwd="",
            last_activity_ms=room.last_activity_ms,
            document_name=room.document_name,
            file_key=room.file_key,
        )
        for room in rooms
        if any(tool in (each.name, plain_tool_name(each.name)) for each in room.tools)
    ]


async def _elsewhere(services: Services, user: str | None) -> list[RoomInfo]:
    """Of other replicas; one that does not answer now is left out."""
    if services.replicas is None:
        return []
    found: list[RoomInfo] = []

    async def ask(room: RemoteRoom) -> None:
        with suppress(DuettyError):
            found.append(room_info(room.id, await room.announced()))

    async with anyio.create_task_group() as tasks:
        for room in remote_rooms(services.replicas.directory, user):
            tasks.start_soon(ask, room)
    return sorted(found, key=lambda each: each.session_id)


async def find_room(services: Services, room: str, user: str | None) -> Room | RemoteRoom:
    """Raises:
    RoomNotFound: if this user has none of this id.
    EngineUnavailable: if that cannot be known now.
    """
    if services.replicas is None or services.rooms.has(room):
        return services.rooms.find(room, user)
    return await find_remote(services.replicas.directory, room, user)


async def open_room(
    services: Services, actor: Actor, announced: Announced, send: Callable[[str], Awaitable[None]]
) -> Room:
    """Raises:
    BadArguments, Exhausted: if it cannot be one.
    EngineUnavailable, SessionClaimed: if the other replicas cannot know of it.
    """
    rooms, replicas = services.rooms, services.replicas
    returns = (
        replicas is not None
        and bool(announced.room)
        and not rooms.has(announced.room)
        and await may_return(replicas.directory, announced, actor.user)
    )
    room = rooms.join(announced, actor.user, send, returns=returns)
    if replicas is not None:
        try:
            services.room_claims[room.id] = await claim_room(replicas.directory, room)
        except DuettyError:
            rooms.leave(room)
            raise
    return room


async def hear_room(services: Services, room: Room, message: Mapping[str, Any], size: int) -> None:
    """Raises:
    BadArguments: if it is no message of a host.
    """
    if await room.take(message, size):
        services.rooms.touch()
        claim = services.room_claims.get(room.id)
        if claim is not None:
            await announce_again(claim)


async def close_room(services: Services, room: Room) -> None:
    services.rooms.leave(room)
    if not services.rooms.has(room.id):
        claim = services.room_claims.pop(room.id, None)
        if claim is not None:
            with anyio.move_on_after(RELEASE_S, shield=True):
                await claim.release()


async def _call(params: RoomCallParams, services: Services, actor: Actor) -> RoomResult:
    room = await find_room(services, params.room, actor.user)
    command_id = params.command_id or secrets.token_hex(16)
    line = logged(
        "call_routed",
        services.clock,
        reads=False,
        command_id=command_id,
        operation="room.call",
        room=params.room[:100],
        user=actor.user,
    )
    access = services.access

    def ends(end: Callable[[], object]) -> Callable[[], None]:
        return access.live.join(actor.token, end)

    with line, services.metrics.calling("room"):
        try:
            result: Any = await room.call(
                command_id,
                params.tool,
                params.args,
                within_s=params.wait_ms / 1000,
                progress=services.progress,
                ends=ends,
            )
        except Deadline:
            if not access.is_good(actor):
                raise TokenRevoked("unknown") from None
            raise
    return RoomResult(command_id=command_id, result=result)


def room_info(room: str, announced: Announced, last_activity_ms: int = 0) -> RoomInfo:
    return RoomInfo(
        last_activity_ms=last_activity_ms,
        session_id=room,
        title=announced.title or announced.document_name,
        document_name=announced.document_name or None,
        file_key=announced.file_key or None,
        tools=[
            RoomTool(name=each.name, description=each.description, input_schema=dict(each.schema))
            for each in announced.tools.values()
        ],
    )


LIST = Operation(
    name="room.list",
    summary="The tool hosts that joined this hub: what each shows, and its tools.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=list[RoomInfo],
    run=_list,
    route=Route(method="GET", path="/rooms"),
)
TOOLS = Operation(
    name="room.tools",
    summary="The same with the number of the last change; waits for one after it.",
    effect=Effect.READ,
    judged=PLAIN,
    params=RoomToolsParams,
    result=RoomTools,
    run=_tools,
    route=Route(method="GET", path="/rooms/tools"),
    waits=True,
)
CALL = Operation(
    name="room.call",
    summary="Call a tool of a tool host; the arguments are checked against what it announced.",
    effect=Effect.INPUT,
    judged=PLAIN,
    params=RoomCallParams,
    result=RoomResult,
    run=_call,
    route=Route(method="POST", path="/rooms/{room}/call"),
    waits=True,
    errors=(
        RoomNotFound,
        RoomToolNotFound,
        RoomBusy,
        RoomLeft,
        CommandIdReused,
        Deadline,
        ToolFailed,
    ),
)
