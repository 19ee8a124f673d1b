"""A conversation as Markdown: every message, call and result, in order."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from duetty.agent.hands import shortened
from duetty.agent.limits import used
from duetty.store import ConversationEntry, ConversationRecord


def as_markdown(record: ConversationRecord, entries: Sequence[ConversationEntry]) -> str:
    total = used(entries)
    cost = f"${total.cost_usd:.4f}" if total.is_cost_known else "unknown cost"
    lines = [
        f"# {record.title}",
        "",
        f"Conversation `{record.id}`, begun {_time(record.created_at_ns)}"
        + (f", in session `{record.session}`" if record.session else ""),
        f"{total.tokens_in} tokens in, {total.tokens_out} out, {cost}",
    ]
    for entry in entries:
        lines += ["", *entry_lines(entry)]
    return "\n".join(lines) + "\n"


def entry_lines(entry: ConversationEntry, *, most: int | None = None) -> list[str]:
    """One entry as Markdown; of its texts at most so many characters."""
    body, at = entry.body, _time(entry.at_ns)
    match entry.kind:
        case "message":
            return [f"## {body['by']} · {at}", "", _cut(body["text"], most)]
        case "context":
            names = ", ".join(f"`{name}`" for name, _ in body["pieces"])
            return [f"*Given with the next message: {names}*"]
        case "answer":
            lines = [_cut(body["text"], most)] if body["text"] else []
            return [f"## Agent · {at}", "", *lines]
        case "call":
            arguments = json.dumps(body["arguments"], indent=2, ensure_ascii=False)
            return [f"### `{body['tool']}` · {at}", "", *_fenced(_cut(arguments, most), "json")]
        case "result":
            ended = "done" if body["ok"] else f"failed (`{body['code']}`)"
            return [f"{ended}:", "", *_fenced(_cut(body["text"], most), "")]
        case "told":
            return [f"*Duetty to the agent: {body['text']}*"]
        case "summary":
            summary = _cut(body["text"], most)
            return ["*Earlier parts were summed up for the model:*", "", summary]
        case "fault":
            words = [_cut(body["text"], most), ""] if body["text"] else []
            return [*words, f"*`{body['code']}`: {body['message']}*"]
        case "limit":
            answer = "went on" if body["granted"] else "stopped"
            return [f"*Limit of {body['what']} reached ({body['reason']}): {answer}*"]
        case "state":
            reason = f": {body['reason']}" if body["reason"] else ""
            return [f"*{body['state']}{reason} · {at}*"]


def _cut(text: str, most: int | None) -> str:
    return text if most is None else shortened(text, max(most, 1))


def _fenced(text: str, language: str) -> list[str]:
    """Fences longer than any inside, so that no output can end them."""
    longest = max((len(run) for run in _runs(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", text, fence]


def _runs(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]


def _time(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
