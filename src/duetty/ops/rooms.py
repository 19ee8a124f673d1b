"""Operations on rooms: the tool hosts that joined this hub, and calls of their tools."""

import secrets
from typing import Any

from duetty.calls import Actor, Effect
from duetty.errors import (
    CommandIdReused,
    Deadline,
    RoomBusy,
    RoomLeft,
    RoomNotFound,
    RoomToolNotFound,
    ToolFailed,
)
from duetty.hub import Room
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Services
from duetty.wire.params import Nothing
from duetty.wire.rooms import RoomCallParams, RoomInfo, RoomResult, RoomTool


async def _list(params: Nothing, services: Services, actor: Actor) -> list[RoomInfo]:
    return [room_info(room) for room in services.rooms.of(actor.user)]


async def _call(params: RoomCallParams, services: Services, actor: Actor) -> RoomResult:
    room = services.rooms.find(params.room, actor.user)
    command_id = params.command_id or secrets.token_hex(16)
    result: Any = await room.call(
        command_id,
        params.tool,
        params.args,
        within_s=params.wait_ms / 1000,
        progress=services.progress,
    )
    return RoomResult(command_id=command_id, result=result)


def room_info(room: Room) -> RoomInfo:
    told = room.announced
    return RoomInfo(
        session_id=room.id,
        title=told.title or told.document_name,
        document_name=told.document_name or None,
        file_key=told.file_key or None,
        tools=[
            RoomTool(name=each.name, description=each.description, input_schema=dict(each.schema))
            for each in told.tools.values()
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
