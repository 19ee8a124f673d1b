"""What a dialect is: a published vocabulary of tools, resources and prompts over our operations.

A dialect maps names and shapes. It knows nothing of the SDK, of transports or of
sessions: everything it does is a call of an operation.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, Literal, Protocol
from urllib.parse import quote, unquote

from duetty import __version__
from duetty.calls import Actor
from duetty.edges.mcp.peer import Choice, Peer
from duetty.errors import BadSetting, DuettyError, with_executed
from duetty.hosts import HostClient, Hosts
from duetty.ops import Bounds, HostAsk, Progress, Watch

Json = dict[str, Any]


class Dispatching(Protocol):
    """Where calls of operations go: the dispatcher, or a bridge elsewhere."""

    @property
    def bounds(self) -> Bounds: ...

    @property
    def hosts(self) -> Hosts: ...

    @property
    def has_left_runs(self) -> bool: ...

    async def call(
        self,
        actor: Actor,
        name: str,
        arguments: Mapping[str, object],
        *,
        dialect: str = "",
        host: HostAsk | None = None,
        client: HostClient | None = None,
        progress: Progress | None = None,
    ) -> Any: ...

    def watch(self, actor: Actor) -> AbstractContextManager[Watch]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who is on the other end of a connection."""

    actor: Actor
    cwd: str | None = None
    """Directory in which the agent's host works, where it is on this machine and gave one."""

    session: str | None = None
    """The session that its request names beside its arguments, by a header."""

    peer: Peer | None = field(default=None, compare=False, repr=False)
    """Of a connection by lines: its client's state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Operations as this caller may call them."""

    dispatcher: Dispatching
    caller: Caller
    id: str = field(default_factory=lambda: token_hex(8))
    """Of this one use: what it starts can be named by it before it answers."""

    dialect: str = ""
    host: HostAsk | None = None
    """Puts a question of ours to the person at the caller's own host, where that can be done."""

    client: HostClient | None = None
    """That host, where it can be asked for something: a completion, or its person."""

    progress: Progress | None = None
    """Tells a caller who asked for it how far an operation is that knows."""

    choice: Choice = field(default_factory=Choice)
    room_choice: Choice = field(default_factory=Choice)
    how_to_start: str | None = None
    """A session, in this vocabulary."""

    later: Callable[[str, "Telling"], None] | None = None
    """Notifies this client, where it can be notified, of the end of what has this id, once."""

    async def __call__(self, operation: str, arguments: Mapping[str, object] | None = None) -> Any:
        return await self.dispatcher.call(
            self.caller.actor,
            operation,
            arguments or {},
            dialect=self.dialect,
            host=self.host,
            client=self.client,
            progress=self.progress,
        )

    def of_hub(self, error: DuettyError) -> DuettyError:
        """Each error that a user of a hub gets says whether anything can have run."""
        return error if self.caller.actor.user is None else with_executed(error)

    def watch(self) -> AbstractContextManager[Watch]:
        """All sessions that this caller may see, and every change of their list."""
        return self.dispatcher.watch(self.caller.actor)


Telling = Callable[[Calls], Awaitable[Json | None]]
"""Waits for the end of something, and gives what there is to tell of it, if there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """An image as part of an answer."""

    base64: str
    media_type: str = "image/png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool answers with."""

    content: Json
    text: object = None
    """What the text says, where that is not `content` itself."""

    blocks: Sequence[str | Picture] | None = None
    """Texts and pictures as they stand, where the answer is not one text of JSON."""

    failure: str | None = None
    """One sentence for the model, when it should reason about a failure."""

    passed_on: Json | None = None
    """The whole result, as another user gave it."""


def failed(error: DuettyError, **known: object) -> Answer:
    """A failure that the model should reason about, with further fields."""
    message = shortened(error.message)
    fields: Json = {"code": error.code, "message": message}
    if error.hint:
        fields["hint"] = error.hint
    besides = {name: value for name, value in error.details.items() if name not in _OF_THE_CALL}
    content = {"error": fields, **besides, **known}
    # The message stands before it.
    without = {name: value for name, value in fields.items() if name != "message"}
    news = {
        name: value
        for name, value in content.items()
        if value not in (None, False, []) or name == "executed"
    }
    return Answer(content=content, text=news | {"error": without}, failure=message)


MESSAGE_CHARS = 600
EXCERPT_CHARS = 100
_OF_THE_CALL = frozenset({"operation"})
"""What the caller knows, who has just called it."""


def shortened(message: str) -> str:
    """A message may quote a line that is as long as a file: its beginning and end are enough."""
    if len(message) <= MESSAGE_CHARS:
        return message
    left_out = len(message) - MESSAGE_CHARS + EXCERPT_CHARS
    head = message[: MESSAGE_CHARS - 2 * EXCERPT_CHARS]
    return f"{head} [... {left_out} characters ...] {message[-EXCERPT_CHARS:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    title: str
    description: str
    parameters: Mapping[str, Json]
    required: Sequence[str] = ()
    result: Json
    """JSON Schema of the answer's content."""

    run: Callable[[Calls, Json], Awaitable[Answer]]
    is_read_only: bool = False
    is_destructive: bool = False
    is_idempotent: bool = False
    """The same call again changes nothing more. What only reads is so anyway."""

    session_word: str | None = None
    """The argument that names a session. Left out, the one is meant that `session_choice` finds."""

    selecting: Json = field(default_factory=dict[str, Any])
    """Which sessions it can be, where those are not terminals: arguments of `session.select`."""

    opens_session: bool = False
    """Where none is active, it opens one."""

    asks_host: bool = False
    """It may ask the caller's own host for a completion, or its person (`Calls.client`)."""

    tail: Callable[[Calls, Json], Awaitable[str | None]] | None = None
    """Of a tool that may take long: the newest output, for a caller who asked for progress."""

    takes_long: bool = False
    """It may take long, and tells of its progress itself."""

    checks_itself: bool = False
    """Its contract has errors of its own for arguments that do not fit the schema."""

    cut_off: Callable[[Json, str], Answer] | None = None
    """What it answers when the server ends meanwhile, where it has words of its own for that."""

    bound_ms: Callable[[Json], int | None] = lambda arguments: None
    """How long it takes at most, where that is known beforehand."""

    @property
    def may_be_task(self) -> bool:
        """Whether a call of it may outlive its request."""
        return self.takes_long or self.tail is not None

    def needs_choice(self, arguments: Json) -> bool:
        return self.session_word is not None and self.session_word not in arguments

    def input_schema(self) -> Json:
        return {
            "type": "object",
            "properties": dict(self.parameters),
            "required": list(self.required),
            "additionalProperties": False,
        }


Completing = Callable[[Calls, str], Awaitable[Sequence[str]]]
"""Completions of the text that is there already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a resource holds, where that is not JSON."""

    text: str | None = None
    base64: str | None = None
    """In place of a text."""

    media_type: str | None = None
    """Where it is another than the resource says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    uri: str
    """A template where it holds places, as `{name}`. What stands behind a `?` may be left out."""

    name: str
    title: str
    description: str
    read: Callable[[Calls, Mapping[str, str]], Awaitable[object]]
    """A `Content`; anything else becomes JSON."""

    changes_with: Literal["sessions", "session", "reading"]
    """Whether it changes with the list of sessions, with the session that a place names, or is
    looked at again and again for who subscribed."""

    media_type: str | None = "application/json"
    audience: Sequence[Literal["user", "assistant"]] = ()
    priority: float | None = None
    session_place: str = "name"
    """The place that names a session: such a template is listed for each of them."""

    paths: frozenset[str] = frozenset()
    """Places that hold several segments."""

    completes: Mapping[str, Completing] = field(default_factory=dict[str, Completing])
    """By place, besides the one of sessions."""

    @property
    def is_template(self) -> bool:
        return "{" in self.uri

    @property
    def begin(self) -> str:
        """The address without what may be left out."""
        return self.uri.partition("?")[0]

    @property
    def is_of_session(self) -> bool:
        return f"{{{self.session_place}}}" in self.uri

    def of(self, session: str) -> str:
        """The address for this session, where it is a template; without a query."""
        return self.begin.replace(f"{{{self.session_place}}}", quote(session, safe=""))

    def match(self, uri: str) -> dict[str, str] | None:
        """What the template's places hold in this address, if it is one of this resource."""
        path, _, query = self.uri.partition("?")
        given, _, asked = uri.partition("?")
        pattern = re.sub(r"\\{(\w+)\\}", self._place, re.escape(path))
        found = re.fullmatch(pattern, given, re.DOTALL)
        if found is None or (asked and not query):
            return None
        places = {place: unquote(text) for place, text in found.groupdict().items()}
        known = {
            name: place.strip("{}")
            for name, _, place in (each.partition("=") for each in query.split("&") if each)
        }
        for pair in filter(None, asked.split("&")):
            name, _, value = pair.partition("=")
            if name not in known:
                return None
            places[known[name]] = unquote(value)
        return places

    def _place(self, found: re.Match[str]) -> str:
        return f"(?P<{found[1]}>{'.+' if found[1] in self.paths else '[^/]+'})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    name: str
    description: str
    is_required: bool = False
    complete: Completing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A document that teaches a model something, to be asked for by name."""

    name: str
    title: str
    description: str
    text: str = ""
    """The document, where it is always the same."""

    arguments: Sequence[PromptArgument] = ()
    make: Callable[[Calls, Mapping[str, str]], Awaitable[str]] | None = None
    """The document for these arguments, now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """The server's description for clients."""

    name: str = "duetty"
    version: str = __version__
    title: str = "Duetty"
    description: str = "Real terminals, shared by people and agents."


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """What there is at one moment, as the protocol lists it."""

    tools: Sequence[Json]
    seq: Any
    """Of the last change that it has, to be handed back: `changes` waits for one after it."""

    sources: Sequence[str] = ()
    """Whose they are: resources and prompts come and go with them too."""

    resource_changes: int = 0
    prompt_changes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsWanted:
    level: str
    """This and graver ones."""

    tool: str | None = None
    """Of whose server; None: of all."""

    after: int | None = None
    """Those after this number; None: from now on, and they are asked to tell that much."""

    waits: bool = False
    """For the first one, or a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """Log messages of others, as the protocol tells them."""

    seq: int
    messages: Sequence[Json]


async def _nothing(*_asked: Any) -> None:
    return None


async def _no_resources(_calls: Calls) -> tuple[Sequence[Json], Sequence[Json]]:
    return (), ()


async def _no_prompts(_calls: Calls) -> Sequence[Json]:
    return ()


async def _no_words(_calls: Calls) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """Tools, resources and prompts of others, which come and go while the server runs.

    Names and addresses are ours to choose, everything else is passed on as it is.
    """

    offered: Callable[[Calls], Awaitable[Offered]]
    changes: Callable[[Calls, Any], Awaitable[Offered]]
    """What there is after the next change, or after a while."""

    tool: Callable[[str], Tool | None]
    """The tool that this name means, whether or not it is there."""

    resources: Callable[[Calls], Awaitable[tuple[Sequence[Json], Sequence[Json]]]] = _no_resources
    """Resources and templates."""

    read: Callable[[Calls, str], Awaitable[Sequence[Json] | None]] = _nothing
    """The contents at this address; None for one that is none of theirs."""

    prompts: Callable[[Calls], Awaitable[Sequence[Json]]] = _no_prompts
    prompt: Callable[[Calls, str, Mapping[str, str]], Awaitable[Json | None]] = _nothing
    complete: Callable[
        [Calls, Literal["prompt", "resource"], str, tuple[str, str], Mapping[str, str]],
        Awaitable[Sequence[str] | None],
    ] = _nothing
    """What may stand at a place (name, and what stands there); None for what is none of theirs."""

    updates: Callable[[Calls, str, int | None], Awaitable[int | None]] = _nothing
    """How often the resource at this address changed; waits for more than that, or a while. None for
    one that is none of theirs."""

    logs: Callable[[Calls, "LogsWanted"], Awaitable["Logged"]] | None = None
    instructions: Callable[[Calls], Awaitable[str]] = _no_words
    """How they want to be used, as far as that may be passed on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    name: str
    instructions: str
    tools: Sequence[Tool]
    resources: Sequence[Resource] = ()
    prompts: Sequence[Prompt] = ()
    how_to_start: str | None = None
    """A session, by its own tools."""

    left: Callable[[Calls], Awaitable[Sequence[tuple[str, Telling]]]] | None = None
    """What to tell a client of that comes back, by id: it left that running, perhaps under another server."""

    server: ServerInfo = ServerInfo()
    live: Live | None = None
    parts: Sequence["Dialect"] = ()
    """Those that are spoken at once; rules of policy know each call by the one it came in."""

    def part_with(self, has: Callable[["Dialect"], bool]) -> str:
        """The name of the part that has something; of all of them together, if none has."""
        return next((part.name for part in self.parts or (self,) if has(part)), self.name)


def chosen(names: str, known: Mapping[str, Dialect]) -> Dialect:
    """The dialect of this name, or of several names with commas between them, as one.

    Raises:
        BadSetting: if one is unknown, or none is named.
    """
    wanted = dict.fromkeys(name.strip() for name in names.split(",") if name.strip())
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        raise BadSetting(
            f"no dialect {unknown[0][:50]!r}" if unknown else "no dialect is named",
            hint=f"known: {', '.join(known)}; several with commas between them",
        )
    parts = [known[name] for name in sorted(wanted)]
    if len(parts) == 1:
        return parts[0]
    return Dialect(
        name=",".join(part.name for part in parts),
        instructions="\n\n".join(part.instructions for part in parts),
        tools=[tool for part in parts for tool in part.tools],
        resources=[resource for part in parts for resource in part.resources],
        prompts=[prompt for part in parts for prompt in part.prompts],
        left=next((part.left for part in parts if part.left is not None), None),
        live=next((part.live for part in parts if part.live is not None), None),
        parts=parts,
    )
