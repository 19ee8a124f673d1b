"""A model as the agent uses one: what it is asked, and what it answers."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from duetty.agent.hands import Tool, ToolCall
from duetty.agent.history import chat_messages
from duetty.agent.limits import about_tokens
from duetty.store import ConversationEntry

WHAT_TO_INSTALL = "pip install 'duetty[agent]', then start the server again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The model's whole answer."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    """None: its price is unknown."""

    model: str = ""
    raw: str | None = None
    note: str | None = None
    """What a person should know of its end, where that was no usual one."""


def request_tokens(
    instructions: str, entries: Sequence[ConversationEntry], tools: Sequence[Tool]
) -> int:
    texts = [instructions, *(each.text for each in chat_messages(entries))]
    texts += [json.dumps([each.description, dict(each.schema)]) for each in tools]
    return about_tokens(sum(map(len, texts)))


def answer_tokens(text: str, calls: Sequence[ToolCall]) -> int:
    texts = [text, *(json.dumps(dict(each.arguments or {})) for each in calls)]
    return about_tokens(sum(map(len, texts)))


class Model(Protocol):
    """One request to a model; the loop around it is ours."""

    @property
    def name(self) -> str: ...

    async def answer(
        self,
        instructions: str,
        entries: Sequence[ConversationEntry],
        tools: Sequence[Tool],
        *,
        on_text: Callable[[str], None],
    ) -> Answered:
        """The next words of the conversation. `on_text` gets them piece by piece as they come.

        Raises:
            ModelUnavailable: if it did not answer, or only in part.
            ModelRefused: if it takes no such request.
            ContextTooLong: if that was too much for it.
        """
        ...


class CheckedModel(Model, Protocol):
    async def check(self) -> str | None:
        """Have its provider say whether address, key and name are good, at no cost: what was found.

        None: the provider cannot be asked so.

        Raises:
            ModelUnavailable: if nothing answers there.
            ModelRefused: if the key is wrong, or there is no such model.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource:
    """Which model, where it is, and the key to it. The key shows in no text of this."""

    model: str
    base_url: str
    key: str = field(repr=False)
    timeout_s: float
    input_usd: float = 0.0
    output_usd: float = 0.0
    """For a million tokens; 0 is what the library's list says."""
