"""What a viewer says on `/ws/view`, checked."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from duetty.errors import BadArguments

Mode = Literal["stream", "thumb", "none"]


class Message(BaseModel):
    """An unknown field changes nothing: older servers meet newer pages."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True, strict=True)


class Size(Message):
    cols: int = Field(ge=1, le=10_000)
    rows: int = Field(ge=1, le=10_000)


class OfStream(Message):
    stream: int = Field(ge=0, lt=2**32)


class Open(OfStream):
    session: str
    offset: int | None = Field(None, ge=0, lt=2**63)
    mode: Mode = "stream"
    size: Size | None = None
    scrollback_rows: int = Field(1_000, ge=0, le=200_000)
    role: Literal["page", "attach"] = "page"


class Ack(OfStream):
    offset: int = Field(ge=0, lt=2**63)


class StreamSize(OfStream, Size):
    pass


class Hold(OfStream):
    on: bool = True


class ChangeMode(OfStream):
    mode: Mode


class Watch(Message):
    on: bool = True


class Prove(Message):
    key: str = Field("", max_length=200)
    proof: str = Field(max_length=200)


class Call(Message):
    id: Any = None
    operation: str
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])


VIEWER_MESSAGES: dict[str, type[Message]] = {
    "open": Open,
    "ack": Ack,
    "size": StreamSize,
    "hold": Hold,
    "mode": ChangeMode,
    "close": OfStream,
    "watch": Watch,
    "approvals": Watch,
    "call": Call,
    "prove": Prove,
}
"""By the message's `type`."""


def bad_fields(error: ValidationError) -> BadArguments:
    """One sentence per wrong field; never the value, which may be input."""
    problems = [
        f"{'.'.join(str(part) for part in problem['loc']) or 'message'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    return BadArguments("; ".join(problems))
