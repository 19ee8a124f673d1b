"""What the server says on `/ws/view`, as shapes.

The server sends plain dictionaries and never loads this module. `tools/generate_page_types.py` makes
the page's types from it, and the tests of the WebSocket hold every message that arrives to it.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from duetty.ids import StateWord
from duetty.wire.approval_shapes import ApprovalInfo, StandingInfo
from duetty.wire.results import SessionInfo
from duetty.wire.surface import OverlayInfo, PanelInfo


class ServerMessage(BaseModel):
    """A field with a default may be left out."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class OfStream(ServerMessage):
    stream: int = Field(description="the viewer's number for one opened session")


class ErrorShape(ServerMessage):
    code: str
    message: str
    hint: str = ""
    details: dict[str, Any] = {}


class Hello(ServerMessage):
    server_id: str
    version: str
    window_bytes: int
    challenge: str = Field("", description="for a browser that came by its cookie, to `prove`")


class Proved(ServerMessage):
    pass


class Opened(OfStream):
    session: SessionInfo
    offset: int
    resumed: bool


class SizeMessage(ServerMessage):
    cols: int
    rows: int
    program_rows: int = Field(description="rows that panels leave to the program")
    top: int = Field(description="where those rows begin")
    holder: Literal["you", "other", "nobody"] = Field(description="who sets the size")


class SizeOfStream(OfStream, SizeMessage):
    pass


class Elements(ServerMessage):
    overlays: list[OverlayInfo]
    panels: list[PanelInfo]
    screen_mode: Literal["normal", "alt"]
    input_mode: Literal["passthrough", "capture"]
    focused: str | None


class ElementsOfStream(OfStream, Elements):
    pass


class StreamEvent(ServerMessage):
    """Its other fields are those of the event: docs/events.md."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    seq: int
    at_ms: int
    event: str


class EventOfStream(OfStream, StreamEvent):
    pass


class Gap(OfStream):
    skipped: int
    start: int
    end: int


class Thumb(OfStream):
    lines: list[str]
    state: StateWord


class StreamEnded(OfStream):
    reason: str
    exit_code: int | None = None


class Sessions(ServerMessage):
    sessions: list[SessionInfo]


class SessionChange(ServerMessage):
    change: Literal["created", "renamed", "updated", "exited", "removed"]
    name: str
    old_name: str = ""
    session: SessionInfo | None = None


class Approvals(ServerMessage):
    approvals: list[ApprovalInfo]


class ApprovalChange(ServerMessage):
    approval: ApprovalInfo


class Standing(ServerMessage):
    standing: list[StandingInfo]


class CallResult(ServerMessage):
    id: Any
    result: Any


class Failure(ServerMessage):
    id: Any = Field(None, description="of the call that failed")
    stream: Any = Field(None, description="whose `open` or message failed, as the viewer named it")
    error: ErrorShape


SERVER_MESSAGES: dict[str, type[ServerMessage]] = {
    "hello": Hello,
    "proved": Proved,
    "opened": Opened,
    "size": SizeOfStream,
    "elements": ElementsOfStream,
    "event": EventOfStream,
    "gap": Gap,
    "thumb": Thumb,
    "ended": StreamEnded,
    "sessions": Sessions,
    "session": SessionChange,
    "approvals": Approvals,
    "approval": ApprovalChange,
    "standing": Standing,
    "result": CallResult,
    "error": Failure,
}
"""By the message's `type`."""
