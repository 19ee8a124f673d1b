"""Conversations with the agent: what each is, and every message, call and result of it in order."""

import json
import sqlite3
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

ConversationState = Literal["idle", "running", "failed"]

EntryKind = Literal[
    "message", "context", "answer", "call", "result", "told", "summary", "fault", "limit", "state"
]

KEPT_CONVERSATIONS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRecord:
    id: str
    title: str
    """The beginning of its first message."""

    created_at_ns: int
    started_by: str
    """Identity of the actor that began it."""

    scopes: tuple[str, ...]
    """What it may do: never more than who began it."""

    token: str | None = None
    """Id of the token that it was begun with; when that is revoked, it does nothing more."""

    only_session: str | None = None
    only_session_id: str | None = None
    """The one session that it reaches, where who began it reaches no other."""

    sandbox: str | None = None
    workspaces: tuple[str, ...] = ()
    """What who began it was confined to."""

    session: str | None = None
    """Where it works, as that session was called then; None until it first needs one."""

    session_id: str | None = None
    cwd: str | None = None
    state: ConversationState = "idle"
    reason: str | None = None
    code: str | None = None
    """Of the error that ended its last turn."""

    turns: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = 0.0
    """What it has taken, as of its last answer; None: the price is not known."""

    seq: int = 0
    """Of its last entry when it was read from the disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationEntry:
    conversation: str
    seq: int
    """From 1, without gaps."""

    at_ns: int
    kind: EntryKind
    body: dict[str, Any] = field(default_factory=dict[str, Any])
    raw: str | None = field(default=None, repr=False)
    """The model's own message as its library writes it, to go on with."""


def save(connection: sqlite3.Connection, record: ConversationRecord) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO conversations (id, created_at_ns, record) VALUES (?,?,?)",
        (record.id, record.created_at_ns, json.dumps(asdict(record))),
    )
    old = connection.execute(
        "SELECT id FROM conversations ORDER BY created_at_ns DESC LIMIT -1 OFFSET ?",
        (KEPT_CONVERSATIONS,),
    ).fetchall()
    for row in old:
        connection.execute("DELETE FROM conversations WHERE id = ?", row)
        connection.execute("DELETE FROM conversation_entries WHERE conversation = ?", row)


def append(connection: sqlite3.Connection, entry: ConversationEntry) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO conversation_entries (conversation, seq, at_ns, kind, body, raw)"
        " VALUES (?,?,?,?,?,?)",
        (
            entry.conversation,
            entry.seq,
            entry.at_ns,
            entry.kind,
            json.dumps(entry.body),
            entry.raw,
        ),
    )


def conversations(connection: sqlite3.Connection) -> list[ConversationRecord]:
    """Newest first."""
    found = connection.execute(
        "SELECT record, (SELECT MAX(seq) FROM conversation_entries WHERE conversation = id)"
        " FROM conversations ORDER BY created_at_ns DESC, id LIMIT ?",
        (KEPT_CONVERSATIONS,),
    )
    return [_conversation(json.loads(row[0]) | {"seq": row[1] or 0}) for row in found]


def _conversation(kept: dict[str, Any]) -> ConversationRecord:
    known = {each.name for each in fields(ConversationRecord)}
    kept = {name: value for name, value in kept.items() if name in known}
    for name in ("scopes", "workspaces"):
        kept[name] = tuple(kept[name])
    return ConversationRecord(**kept)


def entries(connection: sqlite3.Connection, conversation: str) -> list[ConversationEntry]:
    """All of a conversation, in order."""
    found = connection.execute(
        "SELECT seq, at_ns, kind, body, raw FROM conversation_entries WHERE conversation = ?"
        " ORDER BY seq",
        (conversation,),
    )
    return [
        ConversationEntry(
            conversation=conversation,
            seq=row[0],
            at_ns=row[1],
            kind=row[2],
            body=json.loads(row[3]),
            raw=row[4],
        )
        for row in found
    ]
