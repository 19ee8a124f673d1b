"""Shapes of rooms: tool hosts that joined a hub."""

from typing import Any

from pydantic import Field

from duetty.wire.base import Params, Result


class RoomCallParams(Params):
    room: str = Field(description="its session id", max_length=200)
    tool: str = Field(description="a tool that it announced", max_length=200)
    args: dict[str, Any] = Field(default_factory=dict, description="as its schema says")
    command_id: str | None = Field(
        None, description="names the call: the same one again is done once", max_length=200
    )
    wait_ms: int = Field(30_000, description="for the answer", ge=1, le=600_000)


class RoomToolsParams(Params):
    after: int | None = Field(None, description="wait for a change after this number")
    wait_ms: int = Field(0, description="how long at most", ge=0, le=600_000)


class RoomTool(Result):
    name: str
    description: str
    input_schema: dict[str, Any]


class RoomInfo(Result):
    session_id: str
    title: str
    document_name: str | None
    file_key: str | None
    tools: list[RoomTool]
    last_activity_ms: int = Field(0, description="since its last call or message")


class RoomTools(Result):
    seq: int = Field(description="of the last change")
    rooms: list[RoomInfo]


class RoomResult(Result):
    command_id: str
    result: Any = Field(description="what the tool host answered")
