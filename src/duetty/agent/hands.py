"""What the agent can do, as it is handed in: tools by their names, and words to a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from duetty.agent.conversation import Conversation

MAX_RESULT_CHARS = 24_000
"""Of a result that the model is given: head and tail. The rest can be read in parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """What the model asked for."""

    id: str
    tool: str
    arguments: Mapping[str, Any] | None
    """None: what came is no JSON object."""

    text: str = ""
    """What came, where it is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """The outcome of a call, as the model gets it."""

    text: str
    ok: bool = True
    code: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """For viewers: session, block, exit code, a diff."""


class Hands(Protocol):
    """Every call in here goes the way of any call: decided, asked about, run, recorded."""

    async def tools(self, conversation: "Conversation") -> Sequence[Tool]: ...

    async def call(self, conversation: "Conversation", call: ToolCall) -> ToolOutcome:
        """An error that a model could mend is returned, not raised."""
        ...

    async def instructions(self, conversation: "Conversation") -> str:
        """The system prompt: the same for all of a conversation."""
        ...

    async def context(self, conversation: "Conversation", text: str) -> Sequence[tuple[str, str]]:
        """What a message is about: name and text of each piece, those that it names first."""
        ...

    async def news(self, conversation: "Conversation") -> Sequence[str]:
        """What others did meanwhile where the agent works."""
        ...

    async def may_go_on(self, conversation: "Conversation", question: str) -> bool:
        """Ask a person; False where no person can be asked."""
        ...

    async def show_step(self, conversation: "Conversation", step: str | None) -> None:
        """Name the step where the agent works; None takes the name away."""
        ...

    async def end_resting(self, quiet_s: float) -> None:
        """End sessions that the agent opened, where nothing has happened for so long."""
        ...

    def check(self, conversation: "Conversation") -> None:
        """Raises:
        Refused: if who began the conversation may do nothing any more.
        """
        ...


def shortened(text: str, most: int = MAX_RESULT_CHARS) -> str:
    """Head and tail of a text, with a count of what is left out between them."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most // 3
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out} characters left out …]\n{text[-tail:]}"


def step_text(tool: str, arguments: Mapping[str, Any] | None) -> str:
    """A call in few words."""
    given = arguments or {}
    shown = next(
        (
            str(given[name])
            for name in ("input", "text", "data", "keys", "path", "query", "content")
            if given.get(name)
        ),
        "",
    )
    return " ".join(f"{tool} {shown}".split())[:120]
