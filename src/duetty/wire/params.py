"""Arguments of the operations, as they cross the boundary."""

import base64
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from duetty.ids import StateWord
from duetty.wire.base import CommandLine, Params, SystemText, variables

MAX_WAIT_MS = 86_400_000
MAX_IDLE_MS = 300_000
MAX_RUN_BYTES = 1 << 30
MAX_INPUT_CHARS = 1_000_000
MAX_STDIN_CHARS = 8_000_000

Format = Literal["styled", "plain"]
Text = Annotated[str, Field(max_length=10_000)]
Texts = Text | Annotated[list[Text], Field(min_length=1, max_length=16)]
"""One, or any of several."""

SessionName = Annotated[str, Field(description="name of the session")]


class Nothing(Params):
    """No arguments."""


class StdinParams(Params):
    """Of what runs a command line."""

    stdin: str | None = Field(
        None,
        max_length=MAX_STDIN_CHARS,
        description="the command's standard input; it is part of no command line and no history",
    )
    stdin_encoding: Literal["utf8", "base64"] = "utf8"

    @model_validator(mode="after")
    def _is_base64(self) -> Self:
        self.stdin_bytes()
        return self

    def stdin_bytes(self) -> bytes:
        text = self.stdin or ""
        if self.stdin_encoding == "base64":
            return base64.b64decode(text, validate=True)
        return text.encode("utf-8", "surrogatepass")


class TokenCreateParams(Params):
    name: str = Field(
        description="whose it is, for lists and history", min_length=1, max_length=100
    )
    scopes: list[Literal["read", "input", "control", "approve", "admin"]] = Field(
        description="what it allows; none includes another, but `approve` comes with `read`",
        min_length=1,
        max_length=16,
    )
    session: str | None = Field(None, description="name of the only session it reaches")
    expires_in_s: int | None = Field(
        None, ge=1, le=10 * 366 * 86_400, description="seconds until it is refused"
    )

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not name.isprintable():
            raise ValueError("must be printable")
        return name


class TokenParams(Params):
    token: str = Field(description="id of the token")


class StopParams(Params):
    keep_sessions: bool = Field(False, description="true: programs live on with the keeper")


class OpenParams(Params):
    name: str | None = Field(None, description="name; a number is chosen when left out")
    command: SystemText | None = Field(
        None, description="command to run; the user's shell when left out", max_length=100_000
    )
    rows: int | None = Field(None, description="height, brought into 1 to 1000")
    cols: int | None = Field(None, description="width, brought into 1 to 1000")
    cwd: SystemText | None = Field(
        None, description="directory to start in; the user's home when left out"
    )
    env: dict[SystemText, SystemText] | None = Field(
        None, description="variables added to the environment"
    )
    tags: list[str] = Field(default_factory=list, description="labels to find it by")
    integration: bool | None = Field(
        None, description="whether the shell announces commands by marks"
    )
    sandbox: Literal["none", "any", "landlock", "bubblewrap"] | None = Field(
        None, description="what it runs in; any is the best there is; an agent may only tighten"
    )
    workspaces: list[SystemText] | None = Field(
        None,
        description="what a sandboxed session may write; an agent may leave out some of the workspaces"
        " that the settings name, and name no others",
        max_length=16,
    )
    background: bool = Field(
        False, description="a later answer to the caller reports its end (`command.ended`)"
    )
    max_run_ms: int | None = Field(
        None, ge=1, le=MAX_WAIT_MS, description="the session is ended after this time"
    )
    max_output_bytes: int | None = Field(
        None, ge=1, description="the session is ended when it has printed more"
    )
    keep_name: bool = Field(
        False, description="no other session gets its name after its exit, until it is removed"
    )
    inherit_env: bool = Field(
        True, description="false: `env` is the whole environment, nothing of the server's is added"
    )

    @field_validator("env")
    @classmethod
    def _variables(cls, env: dict[str, str] | None) -> dict[str, str] | None:
        return None if env is None else variables(env)


class ListParams(Params):
    tag: list[str] = Field(default_factory=list, description="only sessions with one of these tags")


class SessionParams(Params):
    session: SessionName


class SelectParams(Params):
    remembered: str | None = Field(
        None, description="id of the session that was chosen before, if it is still active"
    )
    room_tool: str | None = Field(
        None,
        description="of tool hosts in place of terminals: those that announced this tool",
        max_length=200,
    )


class UpdateParams(SessionParams):
    name: str | None = Field(None, description="new name")
    add_tags: list[str] = Field(default_factory=list)
    remove_tags: list[str] = Field(default_factory=list)
    workspace: SystemText | None = Field(
        None,
        description="absolute directory in which agents change files unasked, empty for none;"
        " only a person can set it",
    )


class ResizeParams(SessionParams):
    cols: int = Field(description="width, brought into 1 to 1000")
    rows: int = Field(description="height, brought into 1 to 1000")


SignalName = Literal["HUP", "INT", "QUIT", "TERM", "KILL", "STOP", "CONT", "USR1", "USR2", "TSTP"]


class CloseParams(SessionParams):
    signal: SignalName = Field("HUP", description="sent first; KILL follows after the grace")
    grace_ms: int | None = Field(None, ge=0, le=60_000, description="time until KILL")


class SignalParams(SessionParams):
    signal: SignalName
    whom: Literal["foreground", "process", "group", "all"] = Field(
        "foreground", description="foreground program, session's process, its group, or all of them"
    )


class WatchParams(SessionParams):
    """What to wait for, and what to tell of it."""

    timeout_ms: int = Field(
        2_000,
        ge=1,
        le=MAX_IDLE_MS,
        description="silence that counts as an end where there are no marks",
    )
    max_wait_ms: int = Field(
        30_000, ge=1, le=MAX_WAIT_MS, description="overall bound; the command goes on after it"
    )
    until_text: Texts | None = Field(
        None, description="answer as soon as the output holds this text, or one of these"
    )
    until_regex: Texts | None = Field(None, description="the same with regular expressions")
    format: Format = "plain"
    screen: bool = Field(False, description="whether the answer carries the screen")
    changes: bool = Field(
        False, description="whether it carries the rows that changed since this caller's last look"
    )
    max_output_bytes: int | None = Field(None, ge=256, le=16_777_216)
    max_run_ms: int = Field(
        MAX_WAIT_MS,
        ge=1,
        le=MAX_WAIT_MS,
        description="of a command that goes on in a session that its agent opened: it is ended after"
        " this time, unless an actor has typed since",
    )
    max_run_bytes: int = Field(
        MAX_RUN_BYTES, ge=1, description="the same, when it has printed more than this"
    )


class TypingParams(WatchParams):
    wait: Literal["none", "settle", "end"] = Field(
        "none",
        description="settle: until what is typed shows; end: as a run, until the command ends or waits",
    )


class WriteParams(TypingParams):
    data: str = Field(description="what to write", max_length=2 * MAX_INPUT_CHARS)
    encoding: Literal["utf8", "base64"] = "utf8"


class PressParams(TypingParams):
    keys: list[str] = Field(
        description="named keys such as Enter, Ctrl-C, Up, F5, Alt-x, or single characters",
        min_length=1,
        max_length=1_000,
    )


class PasteParams(SessionParams):
    text: str = Field(max_length=MAX_INPUT_CHARS)


class ScreenParams(SessionParams):
    format: Format = "styled"


class SnapshotParams(SessionParams):
    format: Literal["vt", "html", "svg", "png"] = "vt"
    scale: int = Field(2, ge=1, le=4, description="pixels of a png for each of a svg")
    elements: bool = Field(False, description="with panels and overlays, as viewers see it")


class RecordingParams(SessionParams):
    version: Literal[2, 3] = Field(3, description="of the asciicast format")


class IdleParams(SessionParams):
    """As published; `session.wait` can wait for more."""

    timeout_ms: int = Field(ge=0, description="silence to wait for, at most 300,000")
    format: Format = "styled"
    max_wait_ms: int = Field(30_000, ge=0, description="overall bound, at most 300,000")
    last_generation: int | None = Field(
        None, description="if nothing happened since this generation, wait until something does"
    )
    fresh: bool = Field(False, description="true: the silence begins now at the earliest")


class PersistParams(Params):
    persistent: bool = Field(description="false: end when no session and no client is left")


class ScrollbackParams(SessionParams):
    format: Format = "styled"
    offset: int = Field(
        0, ge=-(2**31), le=2**31, description="from the oldest row; negative counts from the newest"
    )
    limit: int = Field(100, ge=0, description="rows, at most 10,000")


class ReadOutputParams(SessionParams):
    cursor: int = Field(
        0, ge=-(2**62), le=2**62, description="first byte; negative counts from the end"
    )
    max_bytes: int = Field(65_536, ge=1, le=1_048_576)
    wait_ms: int = Field(
        0, ge=0, le=MAX_WAIT_MS, description="wait so long for something behind the cursor"
    )


class BlocksParams(SessionParams):
    limit: int = Field(50, ge=1, le=1_000)
    before: int | None = Field(None, description="only blocks with a smaller number")


class BlockOutputParams(SessionParams):
    block: str = Field(description="id or number of the block")
    offset: int = Field(
        0, ge=-(2**31), le=2**31, description="first line; negative counts from the end"
    )
    limit: int = Field(1_000, ge=1, le=100_000, description="lines")


class HistoryParams(Params):
    session: str | None = Field(None, description="only this session")
    limit: int = Field(50, ge=1, le=1_000)


class SearchParams(Params):
    query: str = Field(description='words, "quoted phrases", prefix*', max_length=1_000)
    session: str | None = Field(None, description="only this session")
    cwd: SystemText | None = None
    failed: bool | None = Field(None, description="true: only commands that failed")
    limit: int = Field(20, ge=1, le=200)


class RunParams(StdinParams, WatchParams):
    input: CommandLine = Field(
        description="command line to type; Enter is added when missing", max_length=MAX_INPUT_CHARS
    )
    screen: bool = Field(True, description="whether the answer carries the screen")
    interrupt: bool = Field(
        False, description="do what Ctrl-C does when the time is up or the caller goes"
    )
    why: str | None = Field(
        None,
        max_length=500,
        description="what for, in the caller's words: shown to the person who is asked, if one is",
    )


class WaitParams(SessionParams):
    """Exactly one condition; `idle_ms` with `last_generation` or `fresh`."""

    idle_ms: int | None = Field(None, ge=0, le=MAX_IDLE_MS, description="silence to wait for")
    last_generation: int | None = None
    fresh: bool = False
    text: Texts | None = Field(None, description="a text, or any of several; regex besides")
    regex: Texts | None = None
    block: int | None = Field(None, description="a block with a number above this is closed")
    exit: bool = False
    state: list[StateWord] = Field(default_factory=list[StateWord])
    max_wait_ms: int = Field(30_000, ge=1, le=MAX_WAIT_MS)
    format: Format = "plain"

    @model_validator(mode="after")
    def _one_condition(self) -> Self:
        given = [
            self.idle_ms is not None,
            self.text is not None or self.regex is not None,
            self.block is not None,
            self.exit,
            bool(self.state),
        ]
        if sum(given) != 1:
            raise ValueError("give exactly one of idle_ms, text or regex, block, exit, state")
        return self
