"""Arguments and answers around events and viewers."""

from typing import Any

from pydantic import Field

from duetty.wire.base import Params, Result
from duetty.wire.params import Format


class AnyIdleParams(Params):
    """As published, for all sessions at once."""

    timeout_ms: int = Field(ge=0, description="silence to wait for, at most 300,000")
    format: Format = "styled"
    max_wait_ms: int = Field(30_000, ge=0, description="overall bound, at most 300,000")
    tag: list[str] = Field(default_factory=list, description="only sessions with one of these tags")
    last_session: str | None = Field(
        None, description="the session that was idle last; `last_generation` is about it"
    )
    last_generation: int | None = Field(
        None, description="if nothing happened there since this generation, it must first"
    )
    fresh: bool = Field(False, description="true: the silence begins now at the earliest")


class AnyIdle(Result):
    session: str
    screen: dict[str, Any]
    scrollback_lines: int
    generation: int
