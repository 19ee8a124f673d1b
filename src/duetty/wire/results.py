"""What the operations answer with, as it crosses the boundary."""

from typing import Annotated, Any, Literal

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from duetty.ids import StateWord
from duetty.wire.base import Result


class Foreground(Result):
    name: str
    pid: int
    running_s: float


TerminalMode = Literal["raw", "no_echo"]


class Background(Result):
    """A command that goes on by itself."""

    owner: str
    command_line: str | None
    block: str | None = Field(
        description="of one that its caller stopped waiting for; null where the session is the command"
    )
    ends_at: str | None
    output_bytes: int
    max_output_bytes: int | None


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
    integration: str = Field(description="the shell that announces its command lines, or none")
    integration_reason: str | None
    cwd: str
    title: str
    created_at: str
    exit_code: int | None
    exit_signal: str | None
    sandbox: str = Field("none", description="what it runs in: none, landlock or bubblewrap")
    workspace: str | None = Field(
        None, description="directory in which agents change files unasked; null for none"
    )
    foreground: Foreground | None = Field(
        None, description="the program that has the terminal; null for a shell at its prompt"
    )
    terminal: TerminalMode | None = Field(
        None, description="raw: keys reach the program one by one; no_echo: they are not shown"
    )
    background: Background | None = Field(
        None, description="the command that goes on by itself here"
    )
    degraded: str | None = Field(description="what no longer works as promised, and why")
    away_since: str | None = Field(
        None,
        description="its machine is not connected to the hub since then: nothing else is known",
    )


class SelectedSession(Result):
    session: str = Field(description="its name")
    session_id: str
    machine: str
    reason: Literal["only", "remembered"]


class ScreenRgb(Result):
    r: int
    g: int
    b: int


class ScreenTrueColour(Result):
    rgb: ScreenRgb


class ScreenIndexed(Result):
    indexed: int = Field(description="0 to 255")


class ScreenSpan(Result):
    """Neighbouring cells that look the same. What is left out has its default."""

    text: str
    fg: ScreenIndexed | ScreenTrueColour | None = None
    bg: ScreenIndexed | ScreenTrueColour | None = None
    bold: bool = False
    faint: bool = False
    italic: bool = False
    underline: bool = False
    strikethrough: bool = False
    blink: bool = False
    inverse: bool = False
    link: str | None = None


class ScreenCursor(Result):
    row: int
    col: int
    visible: bool


class ScreenShape(Result):
    epoch: int = Field(description="grows with every change")
    first_line_index: int
    total_lines: int = Field(description="rows of scrollback and screen together")
    lines: list[list[ScreenSpan] | str] = Field(
        description="exactly `rows`: spans when styled, texts when plain"
    )
    cursor: ScreenCursor
    cols: int
    rows: int
    alternate_active: bool


class _AsScreen:
    """A screen is made as a plain value, hundreds of times a second; only schemas need its model."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(ScreenShape.__pydantic_core_schema__)


Screen = Annotated[dict[str, Any], _AsScreen]


class TimedScreenShape(ScreenShape):
    last_activity_ms: int


class ScrollbackShape(Result):
    epoch: int
    lines: list[list[ScreenSpan] | str]
    total_lines: int
    offset: int = Field(description="of the first row given, from the oldest")


class Idle(Result):
    screen: Screen
    scrollback_lines: int
    generation: int
    last_activity_ms: int


class Persistent(Result):
    persistent: bool


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


class Document(Result):
    """A picture or recording, where it is not the answer's whole body."""

    media_type: str
    encoding: Literal["utf8", "base64"]
    data: str


class Health(Result):
    status: Literal["ok"]


class Ticket(Result):
    ticket: str


class WhoAmI(Result):
    kind: Literal["person", "agent", "node"]
    name: str
    user: str | None = Field(None, description="of a hub: the user behind the credential")
    scopes: list[str]
    session: str | None = Field(description="the only session it reaches")


class TokenInfo(Result):
    id: str
    kind: Literal["token", "login", "browser"]
    user: str | None = Field(None, description="of a hub: whose it is")
    name: str
    scopes: list[str]
    session: str | None = Field(description="the only session it reaches")
    valid: bool
    created_at: str
    expires_at: str | None
    last_used_at: str | None = Field(description="to the minute")
    revoked_at: str | None


class NewToken(Result):
    token: str = Field(description="the token itself: it is not kept and cannot be shown again")
    info: TokenInfo


class Link(Result):
    link: str


class Approved(Result):
    """The answer of the person who approved the call."""

    id: str = Field(description="of the question")
    edited: bool = Field(description="whether another command line ran than the one that was sent")
    command: str | None = Field(description="the one that ran, where it was edited")
    note: str | None = Field(description="the person's own words, if any")


class RunResult(Result):
    completed_by: Literal["mark", "exit", "input", "fullscreen", "text", "idle", "deadline"]
    exit_code: int | None = Field(description="null means unknown")
    output: str | None
    output_bytes: int
    omitted_bytes: int
    omitted_lines: int
    block: str | None = Field(description="id by which the whole output can be paged")
    blocks: list[str]
    running: str | None = Field(
        None,
        description="of several commands, the one that runs now; `blocks` are those that ended",
    )
    state: StateWord
    state_known_by: str
    into_program: bool = Field(
        description="no shell was at its prompt: the program that had the terminal was given the line"
    )
    continuation: bool = Field(description="the shell waits for the rest of the command line")
    cwd: str
    duration_ms: float
    generation: int
    match: str | None
    match_line: str | None = Field(None, description="the line of output that it stands in")
    matched: str | None = Field(None, description="the text or pattern that it is a match of")
    match_row: int | None = Field(None, description="its row in the scrollback, from the oldest")
    screen: Screen | None
    foreground: Foreground | None = Field(None, description="the program that has the terminal")
    terminal: TerminalMode | None = Field(None, description="as in `session.get`")
    cursor: ScreenCursor | None = None
    changed: dict[int, str] | None = Field(
        None, description="rows that changed since this caller's last look, by number"
    )
    background: Background | None = Field(
        None, description="what it goes on as, where the wait for it is over before it"
    )
    approved: Approved | None = Field(
        default=None, description="how a person answered for it; null where none was asked"
    )


class Written(Result):
    bytes: int
    after: RunResult | None = Field(description="what came of it, where the call waited for that")
    had_effect: bool | None = Field(
        description="false: an interrupt that changed nothing; null where it is unknown"
    )


class LeftRunning(Result):
    """A command that its caller stopped waiting for."""

    session: str
    session_id: str
    block: str | None = Field(description="null where the session is the command")
    running: bool


class Ended(Result):
    """A command that its caller did not wait for to the end."""

    session: str
    block: str | None = Field(description="by which its output can be paged")
    command_line: str | None
    exit_code: int | None
    duration_ms: float | None
    bound_reached: Literal["deadline", "output", "memory"] | None = Field(
        default=None, description="which of its bounds ended it, if one did"
    )


class WaitResult(Result):
    reason: Literal["idle", "text", "block", "exit", "state"]
    generation: int
    state: StateWord
    state_known_by: str
    match: str | None
    match_line: str | None = Field(None, description="the line that it stands in")
    matched: str | None = Field(None, description="the text or pattern that it is a match of")
    match_row: int | None = Field(None, description="its row in the scrollback, from the oldest")
    foreground: Foreground | None = None
    terminal: TerminalMode | None = None
    block: BlockInfo | None
    exit_code: int | None
    screen: Screen
    scrollback_lines: int
    last_activity_ms: int


class ReadOutput(Result):
    """What a session printed, as text, from a byte on."""

    text: str
    cursor: int = Field(description="where this begins: later than asked for, where that is gone")
    next: int = Field(description="the cursor with which to go on")
    gone_bytes: int = Field(description="behind the cursor asked for, and no longer kept")
    state: StateWord
    exit_code: int | None


class BlockOutput(Result):
    block: BlockInfo
    lines: list[str]
    offset: int
    total_lines: int
    gone_bytes: int = Field(0, description="from its beginning, which are no longer kept")


class SearchHit(Result):
    block: BlockInfo
    field: Literal["command", "output"]
    snippet: str
    matches: list[tuple[int, int]] = Field(description="start and end of each match in the snippet")


class HostEntry(Result):
    """One server in an MCP host's configuration."""

    command: str
    args: list[str]
    env: dict[str, str]


class Limit(Result):
    """A bound that callers share, as it is in force now."""

    name: str
    what: str
    most: int
    each: int = Field(description="for one credential")
    each_source: int = Field(description="for agents at one other machine")
    for_people: int = Field(description="kept for people")
    held: int = Field(description="now; for viewers, of the session that has the most")


class ServerLimits(Result):
    open_files: int = Field(description="that this process may have, which some bounds follow")
    limits: list[Limit]


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
    guardrail: Literal["open", "guarded", "strict"] = Field(
        description="the profile by which policy judges what agents ask to run"
    )
    boundary: Literal["none", "landlock", "bubblewrap", "unavailable"] = Field(
        description="the sandbox of new sessions; `unavailable`: one is set that this machine cannot give"
    )
    confined_sessions: int = Field(description="of the open ones, those in a sandbox")
    standing_approvals: int = Field(description="answers of people that cover later calls")
    mcp_host: HostEntry = Field(
        description="for the configuration of an MCP host on the server's machine"
    )
    degraded: dict[str, str]
    """Part and reason of everything that does not work as promised."""
