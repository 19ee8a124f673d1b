"""The terminal contract's shapes: the request, part by part, and the answer.

A request is not checked on its way in: the contract has errors of its own for
that (`ops/contract`), and an unknown field must reach them.
"""

from typing import Annotated, Any, Literal, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from duetty.ids import StateWord
from duetty.wire.base import (
    MAX_ARGUMENT_BYTES,
    Params,
    Result,
    plain_line,
    system_bytes,
    variables,
)
from duetty.wire.params import MAX_STDIN_CHARS, MAX_WAIT_MS
from duetty.wire.results import Approved

Action = Literal["execute", "read_output", "terminate", "list"]
Mode = Literal["interactive", "headless"]
Intent = Literal["open_only", "execute_command"]
Reason = Literal["destructive", "not_allowlisted", "not_provable", "denied_by_rule"]

MAX_COMMAND_CHARS = 1_000_000
MAX_OUTPUT_BYTES = 1_048_576
MAX_COMPAT_FIELDS = 32


def _plain(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("must be Unicode text") from error
    return text


def _word(text: str) -> str:
    """An argument is given as it is, so none may need to be changed."""
    if plain_line(text) != text:
        raise ValueError("must not contain a carriage return: a shell takes it for the line's end")
    if system_bytes(text) > MAX_ARGUMENT_BYTES:
        raise ValueError(f"must have at most {MAX_ARGUMENT_BYTES} bytes: no program takes more")
    return text


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _directory(text: str) -> str:
    if not text.startswith(("/", "~/")) and text != "~":
        raise ValueError("must be absolute, or begin with ~/")
    return text


Text = Annotated[str, AfterValidator(_plain)]
Filled = Annotated[Text, AfterValidator(_filled)]
TypedLine = Annotated[Text, AfterValidator(plain_line)]
TypedWord = Annotated[Text, AfterValidator(_word)]
"""For a shell's line editor or, headless, for no shell at all: the same texts for both."""
Directory = Annotated[Text, AfterValidator(_directory), Field(max_length=4_096)]
Name = Annotated[Filled, Field(max_length=200)]


class Part(BaseModel):
    """A part of a request: types are strict, an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, strict=True)


class InvocationGiven(Part):
    mode: Mode = Field("interactive", description="headless is never implied, only asked for")


class RuntimeGiven(Part):
    """Hints; each says for what it is."""

    cols: int | None = Field(None, ge=1, le=1_000, description="of a new terminal")
    rows: int | None = Field(None, ge=1, le=1_000, description="of a new terminal")
    name: Name | None = Field(None, description="of a new terminal; chosen when left out")
    shell: Name | None = Field(None, description="program of a new terminal")
    sandbox: Literal["none", "any", "landlock", "bubblewrap"] | None = Field(
        None, description="of a new terminal or a headless command; an agent may only tighten"
    )
    default_cwd: Directory | None = Field(
        None, description="where to begin when execution.cwd is left out"
    )
    open_page: bool = Field(
        False,
        description="interactive: open the page in the person's browser if no viewer is connected, where there is a desktop",
    )
    background: bool = Field(False, description="headless execute: answer at once, it goes on")
    max_output_bytes: int | None = Field(
        None, ge=256, le=MAX_OUTPUT_BYTES, description="of output in the answer"
    )
    stdout_offset: int | None = Field(
        None, ge=-(2**53), le=2**53, description="headless read_output: first byte"
    )
    stderr_offset: int | None = Field(
        None, ge=-(2**53), le=2**53, description="headless read_output: first byte"
    )


class ExecutionGiven(Part):
    command: (
        Annotated[TypedLine, AfterValidator(_filled), Field(max_length=MAX_COMMAND_CHARS)] | None
    ) = Field(None, description="a command line; with args, the program alone")
    args: list[TypedWord] = Field(
        default_factory=list[str], max_length=10_000, description="its arguments, each one word"
    )
    cwd: Directory | None = Field(None, description="directory to begin in")
    env: Annotated[dict[Text, Text], AfterValidator(variables)] = Field(
        default_factory=dict[str, str], description="variables added to the environment"
    )
    stdin: Annotated[Text, Field(max_length=MAX_STDIN_CHARS)] | None = Field(
        None, description="the command's standard input"
    )
    timeout: int | None = Field(
        None, ge=1, le=MAX_WAIT_MS, description="milliseconds to wait; headless is ended then"
    )
    timeout_ms: int | None = Field(None, ge=1, le=MAX_WAIT_MS, description="the same as timeout")
    intent: Intent | None = Field(
        None, description="execute_command when left out; create means open_only"
    )

    @model_validator(mode="after")
    def _one_timeout(self) -> "ExecutionGiven":
        if self.timeout is not None and self.timeout_ms is not None:
            raise ValueError("give timeout or timeout_ms, not both")
        return self


class TargetGiven(Part):
    session: Name | None = Field(None, description="as an answer's target.session gave it")
    terminal: Name | None = Field(None, description="the contract's other word for the same")

    @model_validator(mode="after")
    def _one_identity(self) -> "TargetGiven":
        if None not in (self.session, self.terminal) and self.session != self.terminal:
            raise ValueError("session and terminal name two different ones")
        return self

    @property
    def identity(self) -> str | None:
        return self.session if self.session is not None else self.terminal


def _few(compat: object) -> object:
    if isinstance(compat, dict) and len(compat) > MAX_COMPAT_FIELDS:  # pyright: ignore[reportUnknownArgumentType]  # JSON
        raise ValueError(f"has more than {MAX_COMPAT_FIELDS} fields")
    return compat  # pyright: ignore[reportUnknownVariableType]  # JSON


class CompatGiven(BaseModel):
    """What a bridge from an older call shape says of itself; what we do not know is left alone."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True, strict=True)

    shape: Literal["canonical", "flat"] | None = Field(
        None, description="flat: command, args, session_id … stand beside action"
    )
    client: Annotated[Text, Field(max_length=200)] | None = Field(
        None, description="who calls in the older shape"
    )
    legacy_action: Annotated[Text, Field(max_length=200)] | None = Field(
        None, description="what a bridge was called with before it put the canonical action"
    )


Compat = Annotated[CompatGiven, BeforeValidator(_few)]


class _Published:
    """The schema of this part in that of the request. It is made when a schema is asked for:
    most servers start without.
    """

    def __init__(self, part: type[BaseModel]) -> None:
        self._part = part

    def __get_pydantic_json_schema__(self, *_: object) -> dict[str, Any]:
        schema = self._part.model_json_schema()
        fields: dict[str, dict[str, Any]] = schema["properties"]
        schema["properties"] = {name: _brief(field) for name, field in fields.items()}
        return {key: it for key, it in schema.items() if key != "title"}


def _brief(field: dict[str, Any]) -> dict[str, Any]:
    """Without what every field has: a title, and that it may be null when left out."""
    kinds: list[dict[str, Any]] = [
        each for each in field.get("anyOf", []) if each.get("type") != "null"
    ]
    dropped = {"title"} | ({"anyOf", "default"} if len(kinds) == 1 else set[str]())
    rest = {key: value for key, value in field.items() if key not in dropped}
    return {**kinds[0], **rest} if len(kinds) == 1 else rest


ALIASES: tuple[str, ...] = ("run", "send", "create", "kill", "close")
"""Words of older tools for the canonical actions; what each means is in `ops/contract`."""

_ACTION = WithJsonSchema(
    {
        "type": "string",
        "anyOf": [
            {"enum": ["execute", "read_output", "terminate", "list"]},
            {"enum": list(ALIASES), "deprecated": True},
        ],
    }
)


class TerminalParams(Params):
    """A request, as it came: everything in it is judged by the contract."""

    model_config = ConfigDict(
        extra="allow", frozen=True, json_schema_extra={"required": ["action"]}
    )

    action: Annotated[Any, _ACTION] = Field(
        None, description="what to do; the aliases of older tools still work"
    )
    invocation: Annotated[Any, _Published(InvocationGiven)] = Field(
        None, description="how it is to run"
    )
    runtime: Annotated[Any, _Published(RuntimeGiven)] = Field(None, description="hints")
    execution: Annotated[Any, _Published(ExecutionGiven)] = Field(None, description="what to run")
    target: Annotated[Any, _Published(TargetGiven)] = Field(
        None, description="which one a read_output, terminate or a further execute is for"
    )
    compat: Annotated[Any, _Published(CompatGiven)] = Field(
        None, description="what a bridge from an older call shape says of itself"
    )

    @model_validator(mode="before")
    @classmethod
    def _whole_names(cls, request: Any) -> Any:
        """A field with half a character in its name is an unknown one, like any other."""
        if not isinstance(request, dict):
            return request
        fields = cast("dict[Any, Any]", request)
        return {
            name.encode("utf-8", "replace").decode() if isinstance(name, str) else name: value
            for name, value in fields.items()
        }

    def given(self) -> dict[str, Any]:
        """The fields that were given and are not null; a value that is no part is returned whole."""
        known = {name: getattr(self, name) for name in type(self).model_fields}
        unknown = dict(sorted((self.model_extra or {}).items()))
        return {name: value for name, value in known.items() if value is not None} | unknown


# --- answers ------------------------------------------------------------------


class AliasInfo(Result):
    requested: str | None = Field(description="the action as it came; null if it was no text")
    canonical: Action | None = Field(description="what it means; null if nothing")
    normalised: bool = Field(description="whether an alias was replaced by a canonical action")
    note: str | None = Field(description="how, where one was")


class Metadata(Result):
    contract: Literal["terminal/1"] = "terminal/1"
    trace_id: str
    alias: AliasInfo
    shape: Literal["canonical", "flat"] = Field(description="the call shape it came in")
    lifted: list[str] = Field(description="fields of a flat call, and where each was put")
    mode: Mode | None
    intent: Intent | None
    route: str | None = Field(description="the path it took; null if it took none")
    approval: Approved | None = Field(
        default=None, description="how a person answered for it; null where none was asked"
    )


class TargetInfo(Result):
    session: str
    mode: Mode
    sandbox: str = Field(description="what it runs in: none, landlock or bubblewrap")


class Executed(Result):
    status: Literal[
        "opened", "completed", "awaiting_input", "awaiting_password", "fullscreen", "running"
    ]
    opened: bool = Field(description="whether a new terminal was opened for it")
    exit_code: int | None = Field(description="null means unknown, or that it still runs")
    exit_signal: str | None = None
    output: str | None = Field(description="interactive: what it printed")
    stdout: str | None = None
    stderr: str | None = None
    omitted_bytes: int = Field(
        default=0, description="left out of the answer; read_output has the end"
    )
    cwd: str | None = None
    state: StateWord | None = None
    duration_ms: float | None = None
    known_by: str | None = Field(
        default=None, description="how the end is known: mark, exit, idle …"
    )


class OutputRead(Result):
    state: StateWord
    command: str | None = Field(description="the command that printed it")
    exit_code: int | None
    exit_signal: str | None = None
    output: str | None = Field(description="interactive: the end of what it printed")
    omitted_lines: int = 0
    screen: list[str] | None = Field(default=None, description="interactive: what is visible now")
    stdout: str | None = None
    stderr: str | None = None
    stdout_next: int | None = Field(default=None, description="headless: offset for the next read")
    stderr_next: int | None = None
    cwd: str | None = None


class Terminated(Result):
    state: StateWord
    exit_code: int | None
    exit_signal: str | None = None
    was_running: bool


class Listed(Result):
    session: str
    mode: Mode
    state: StateWord
    command: str
    cwd: str
    created_at: str
    exit_code: int | None
    viewers: int | None = Field(description="how many look at it; null for headless")
    sandbox: str = Field(description="what it runs in: none, landlock or bubblewrap")
    opened_by_you: bool


class Listing(Result):
    terminals: list[Listed]
    counts: dict[Mode, int] = Field(description="how many of yours there are in each mode")


class TerminalAnswer(Result):
    ok: Literal[True] = True
    action: Action
    target: TargetInfo | None
    result: Executed | OutputRead | Terminated | Listing
    metadata: Metadata
