"""What the operations answer with, as it crosses the boundary."""

from typing import Any, Literal

from pydantic import Field

from duetty.ids import StateWord
from duetty.wire.base import Result


class SessionInfo(Result):
    name: str
    id: str
    server: str
    pid: int | None
    command: str
    rows: int
    cols: int
    clients: int
    tags: list[str]
    last_activity_ms: int
    state: StateWord
    state_known_by: Literal["keeper", "marks", "terminal", "kernel", "nothing"]
    integration: str = Field(description="bash, zsh, fish, sh, or none")
    integration_reason: str | None
    cwd: str
    title: str
    created_at: str
    exit_code: int | None
    exit_signal: str | None
    degraded: str | None = Field(description="what no longer works as promised, and why")


class BlockInfo(Result):
    id: str
    number: int
    session: str
    command_line: str | None
    cwd: str | None
    exit_code: int | None
    started_at: str
    duration_ms: float | None
    output_bytes: int | None
    actor: str
    running: bool


class Done(Result):
    """It was done; there is nothing to say about it."""


class Health(Result):
    status: Literal["ok"]


class Link(Result):
    link: str


class Written(Result):
    bytes: int


class RunResult(Result):
    completed_by: Literal["mark", "exit", "input", "fullscreen", "text", "idle", "deadline"]
    exit_code: int | None = Field(description="null means unknown")
    output: str | None
    output_bytes: int
    omitted_bytes: int
    omitted_lines: int
    block: str | None = Field(description="id by which the whole output can be paged")
    blocks: list[str]
    state: StateWord
    state_known_by: str
    continuation: bool = Field(description="the shell waits for the rest of the command line")
    cwd: str
    duration_ms: float
    generation: int
    match: str | None
    screen: dict[str, Any] | None


class WaitResult(Result):
    reason: Literal["idle", "text", "block", "exit", "state"]
    generation: int
    state: StateWord
    state_known_by: str
    match: str | None
    block: BlockInfo | None
    exit_code: int | None
    screen: dict[str, Any]
    scrollback_lines: int
    last_activity_ms: int


class BlockOutput(Result):
    block: BlockInfo
    lines: list[str]
    offset: int
    total_lines: int


class SearchHit(Result):
    block: BlockInfo
    field: Literal["command", "output"]
    snippet: str
    matches: list[tuple[int, int]] = Field(description="start and end of each match in the snippet")


class ServerStatus(Result):
    hostname: str
    version: str
    server_id: str
    instance: str
    pid: int
    keeper_pid: int | None
    address: str
    sessions: int
    exited_sessions: int
    uptime_s: float
    degraded: dict[str, str]
    """Part and reason of everything that does not work as promised."""
