"""How much a conversation may take before a person is asked: turns, tokens, money, time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from duetty.agent.senders import meant_messages
from duetty.store import ConversationEntry

What = Literal["turns", "tokens", "money", "minutes"]

CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    turns: int
    tokens: int
    cost_usd: float
    """0 is no limit."""

    minutes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What a conversation has taken: turns and minutes since the last message of whom it works for, the rest in all."""

    turns: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    is_cost_known: bool = True
    last_tokens: int = 0
    """Of the last request and its answer: the next one has at least these."""

    last_cost_usd: float = 0.0
    new_tokens: int = 0
    """About these, of what was added since: results, messages."""

    @property
    def next_tokens(self) -> int:
        return self.last_tokens + self.new_tokens

    @property
    def next_cost_usd(self) -> float:
        return self.last_cost_usd * (self.next_tokens / self.last_tokens if self.last_tokens else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    what: What
    reason: str
    more: str
    """What a yes is for, besides what was used."""


def used(entries: Sequence[ConversationEntry]) -> Used:
    turns = tokens_in = tokens_out = last_tokens = new_chars = 0
    cost = last_cost = 0.0
    known = True
    anew = meant_messages(entries)
    for entry in entries:
        body = entry.body
        if entry.seq in anew:
            turns = 0
        match entry.kind:
            case "answer" | "summary":
                turns += 1
                tokens_in += body["tokens_in"]
                tokens_out += body["tokens_out"]
                last_tokens = body["tokens_in"] + body["tokens_out"]
                last_cost = body["cost_usd"] or 0.0
                known = known and body["cost_usd"] is not None
                cost += last_cost
                new_chars = 0
            case "context":
                new_chars += sum(len(text) for _, text in body["pieces"])
            case "fault":
                pass  # no model gets its text
            case _:
                new_chars += len(body.get("text", ""))
    return Used(
        turns=turns,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost_usd=cost,
        is_cost_known=known,
        last_tokens=last_tokens,
        last_cost_usd=last_cost,
        new_tokens=about_tokens(new_chars),
    )


def raised(entries: Sequence[ConversationEntry], what: What) -> int:
    """How often a person granted as much again."""
    start = 0
    if what in ("turns", "minutes"):
        anew = meant_messages(entries)
        start = max((at for at, each in enumerate(entries) if each.seq in anew), default=0)
    return sum(
        entry.kind == "limit" and entry.body["what"] == what and entry.body["granted"]
        for entry in entries[start:]
    )


def reached(
    entries: Sequence[ConversationEntry], limits: Limits, *, minutes: float
) -> Reached | None:
    """The limit that the next request would pass, judged by what the last one took."""
    now = used(entries)
    tokens = now.tokens_in + now.tokens_out
    most = limits.turns * (1 + raised(entries, "turns"))
    if now.turns >= most:
        return Reached(
            what="turns",
            reason=f"{now.turns} requests for one message, and the limit is {most}",
            more=f"{limits.turns} requests",
        )
    most = limits.tokens * (1 + raised(entries, "tokens"))
    if tokens + now.next_tokens > most:
        return Reached(
            what="tokens",
            reason=f"{tokens} tokens, the next request takes about {now.next_tokens};"
            f" the limit is {most}",
            more=f"{limits.tokens} tokens",
        )
    most_usd = limits.cost_usd * (1 + raised(entries, "money"))
    if most_usd and now.cost_usd + now.next_cost_usd > most_usd:
        return Reached(
            what="money",
            reason=f"${now.cost_usd:.4f}, the next request costs about"
            f" ${now.next_cost_usd:.4f}; the limit is ${most_usd:.2f}",
            more=f"${limits.cost_usd:.2f}",
        )
    most_minutes = limits.minutes * (1 + raised(entries, "minutes"))
    if minutes >= most_minutes:
        return Reached(
            what="minutes",
            reason=f"{minutes:.1f} minutes of work, and the limit is {most_minutes:g}",
            more=f"{limits.minutes:g} minutes",
        )
    return None


def about_tokens(chars: int) -> int:
    """Where no one has counted, and a limit needs a number."""
    return -(-chars // CHARS_PER_TOKEN)
