"""A host's own model, borrowed over MCP sampling: for who has none set here."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from duetty.agent.hands import Tool, ToolCall
from duetty.agent.history import ChatMessage, chat_messages
from duetty.agent.model import Answered, answer_tokens, request_tokens
from duetty.errors import HostUnavailable, ModelUnavailable
from duetty.hosts import HostClient
from duetty.store import ConversationEntry

MAX_TOKENS = 8_192
WITHIN_S = 600.0

_CALL = re.compile(r"```tool\s*\n(.*?)\n\s*```", re.DOTALL)

_HOW_TO_CALL = """

You call a tool by ending your answer with one block of this form, and nothing behind it:
```tool
{"tool": "NAME", "arguments": {…}}
```
The next message has its result. Tools, as JSON:
"""


class HostModel:
    """`client` finds the host anew for each request: it may have connected again meanwhile."""

    def __init__(self, client: Callable[[], HostClient | None]) -> None:
        self._client = client

    @property
    def name(self) -> str:
        client = self._client()
        return "borrowed" if client is None else f"borrowed from {client.name}"

    async def answer(
        self,
        instructions: str,
        entries: Sequence[ConversationEntry],
        tools: Sequence[Tool],
        *,
        on_text: Callable[[str], None],
    ) -> Answered:
        client = self._client()
        if client is None:
            raise ModelUnavailable(
                "the host that lent its model has gone",
                hint="connect it again, or set agent.model; then resume",
            )
        knows_tools = "sampling.tools" in client.abilities
        request: dict[str, Any] = {
            "messages": _with_tools(entries) if knows_tools else _as_text(entries),
            "systemPrompt": instructions,
            "maxTokens": MAX_TOKENS,
        }
        listed = [
            {"name": each.name, "description": each.description, "inputSchema": dict(each.schema)}
            for each in tools
        ]
        if listed and knows_tools:
            request["tools"] = listed
        elif listed:
            request["systemPrompt"] += _HOW_TO_CALL + json.dumps(listed, separators=(",", ":"))
        try:
            result = await client.sample(request, within_s=WITHIN_S)
        except HostUnavailable as error:
            raise ModelUnavailable(error.message, hint=error.hint) from error
        answered = _answered(
            result, len(entries), tokens_in=request_tokens(instructions, entries, tools)
        )
        if answered.text:
            on_text(answered.text)
        return answered


def _answered(result: dict[str, Any], number: int, *, tokens_in: int) -> Answered:
    content: Any = result.get("content")
    blocks = cast("list[Any]", content) if isinstance(content, list) else [content]
    texts = [each["text"] for each in blocks if each and each.get("type") == "text"]
    calls = [
        ToolCall(id=str(each["id"]), tool=str(each["name"]), arguments=each.get("input") or {})
        for each in blocks
        if each and each.get("type") == "tool_use"
    ]
    text = "\n".join(texts)
    if not calls and (found := _CALL.search(text)) is not None:
        calls = [_written_call(found[1], number)]
        text = text[: found.start()].rstrip()
    return Answered(
        text=text,
        calls=tuple(calls),
        tokens_in=tokens_in,
        tokens_out=answer_tokens(text, calls),
        model=str(result.get("model", "")),
    )


def _written_call(text: str, number: int) -> ToolCall:
    id_ = f"written_{number}"
    try:
        parsed: Any = json.loads(text)
        name: str = str(parsed["tool"])
        arguments: Any = parsed.get("arguments") or {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ToolCall(id=id_, tool="unknown", arguments=None, text=text)
    if not isinstance(arguments, dict):
        return ToolCall(id=id_, tool=name, arguments=None, text=text)
    return ToolCall(id=id_, tool=name, arguments=cast("dict[str, Any]", arguments))


def _with_tools(entries: Sequence[ConversationEntry]) -> list[dict[str, Any]]:
    def block(each: ChatMessage) -> list[dict[str, Any]]:
        if each.role == "result":
            text = {"type": "text", "text": each.text}
            return [{"type": "tool_result", "toolUseId": each.call, "content": [text]}]
        words = [{"type": "text", "text": each.text}] if each.text else []
        uses = [
            {"type": "tool_use", "id": call.id, "name": call.tool, "input": call.arguments or {}}
            for call in each.calls
        ]
        return [*words, *uses]

    messages: list[dict[str, Any]] = []
    for each in chat_messages(entries):
        role = "assistant" if each.role == "model" else "user"
        # Results stand alone: the protocol mixes them with nothing else.
        last = messages[-1]["content"][0]["type"] if messages else None
        is_same = messages and messages[-1]["role"] == role
        if is_same and (each.role == "result") == (last == "tool_result"):
            messages[-1]["content"] += block(each)
        else:
            messages.append({"role": role, "content": block(each)})
    return messages


def _as_text(entries: Sequence[ConversationEntry]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for each in chat_messages(entries):
        role = "assistant" if each.role == "model" else "user"
        text = each.text
        if each.role == "result":
            text = f"[Result of {each.tool}]\n{each.text}"
        for call in each.calls:
            shown = json.dumps({"tool": call.tool, "arguments": call.arguments})
            text += f"\n```tool\n{shown}\n```"
        messages.append({"role": role, "content": {"type": "text", "text": text.strip()}})
    return messages
