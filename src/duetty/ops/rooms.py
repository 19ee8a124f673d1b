"""Operations on rooms: the tool hosts that joined this hub, and calls of their tools."""

import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
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
    ToolFailed,
)
from duetty.hub import (
    Announced,
    RemoteRoom,
    Room,
    claim_room,
    find_remote,
    may_return,
    remote_rooms,
)
from duetty.ops.joined_nodes import RELEASE_S
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Services
from duetty.wire.params import Nothing
from duetty.wire.rooms import RoomCallParams, RoomInfo, RoomResult, RoomTool


async def _list(params: Nothing, services: Services, actor: Actor) -> list[RoomInfo]:
    own = [room_info(room.id, room.announced) for room in services.rooms.of(actor.user)]
    return [*own, *await _elsewhere(services, actor.user)]


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
    with services.metrics.calling("room"):
        result: Any = await room.call(
            command_id,
            params.tool,
            params.args,
            within_s=params.wait_ms / 1000,
            progress=services.progress,
        )
    return RoomResult(command_id=command_id, result=result)


def room_info(room: str, announced: Announced) -> RoomInfo:
    return RoomInfo(
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
