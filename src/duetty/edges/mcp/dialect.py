"""What a dialect is: a published vocabulary of tools and resources over our operations.

A dialect maps names and shapes. It knows nothing of the SDK, of transports or of
sessions: everything it does is a call of an operation.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from duetty.calls import Actor
from duetty.errors import DuettyError
from duetty.ops import Dispatcher

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who is on the other end of a connection."""

    actor: Actor
    cwd: str | None = None
    """Directory in which the agent's host works, where it is on this machine and told us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Operations as this caller may call them."""

    dispatcher: Dispatcher
    caller: Caller

    async def __call__(self, operation: str, arguments: Mapping[str, object] | None = None) -> Any:
        return await self.dispatcher.call(self.caller.actor, operation, arguments or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a tool answers with."""

    content: Json
    text: object = None
    """What the text says, where that is not `content` itself."""

    failure: str | None = None
    """One sentence for the model, when it should reason about a failure."""


def failed(error: DuettyError, **known: object) -> Answer:
    """A failure that the model should reason about, with what is known besides."""
    told: Json = {"code": error.code, "message": error.message}
    if error.hint:
        told["hint"] = error.hint
    return Answer(content={"error": told, **error.details, **known}, failure=error.message)


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
    waits: bool = False
    """Whether it may take long, so that a caller who asked for progress gets it."""

    def input_schema(self) -> Json:
        return {
            "type": "object",
            "properties": dict(self.parameters),
            "required": list(self.required),
            "additionalProperties": False,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    uri: str
    """A template where it holds `{name}`."""

    name: str
    title: str
    description: str
    read: Callable[[Calls, Mapping[str, str]], Awaitable[object]]

    @property
    def is_template(self) -> bool:
        return "{" in self.uri

    def match(self, uri: str) -> dict[str, str] | None:
        """What the template's places hold in this address, if it is one of this resource."""
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(self.uri))
        found = re.fullmatch(pattern, uri)
        if found is None:
            return None
        return {place: unquote(text) for place, text in found.groupdict().items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    name: str
    instructions: str
    tools: Sequence[Tool]
    resources: Sequence[Resource]
