"""Approvals: questions put to a person, their answers, and answers that cover later calls."""

import json
import sqlite3
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

State = Literal["pending", "granted", "rejected", "expired", "withdrawn"]
Covers = Literal["once", "session", "standing"]

KEPT_SETTLED = 1_000
"""Answered questions kept for lists; the trail has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRecord:
    id: str
    digest: str
    """Of everything that was asked about: an answer is for that and nothing else."""

    operation: str
    session: str | None
    """Its name when the question was asked."""

    session_id: str | None
    actor_kind: str
    actor_name: str
    command_line: str | None
    cwd: str | None
    reason: str
    rule: str | None
    classes: tuple[str, ...] = ()
    suggestion: str | None = None
    standing_rule: str | None = None
    """What would be saved if a person chose to; None where that is not offered."""

    said: str | None = None
    """What for, in the words of whoever asks."""

    context: str | None = None
    """What was judged, as JSON."""

    asked_at_ns: int
    expires_at_ns: int
    state: State = "pending"
    settled_at_ns: int | None = None
    settled_by: str | None = None
    via: str | None = None
    covers: Covers | None = None
    edited: str | None = None
    """The command line that a person put in the place of the one asked for."""

    note: str | None = None
    asker_gone: bool = False
    """The call that asked ended with an earlier server; the same call again takes the answer."""

    used: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRecord:
    """An answer that also covers later calls."""

    id: str
    rule: str
    operation: str
    session_id: str | None
    """Only there; None means any session."""

    session: str | None
    actor_kind: str
    actor_name: str
    command_line: str
    cwd: str | None
    created_at_ns: int
    created_by: str
    revoked_at_ns: int | None = None


def save(connection: sqlite3.Connection, record: ApprovalRecord) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO approvals (id, state, asked_at_ns, record) VALUES (?,?,?,?)",
        (record.id, record.state, record.asked_at_ns, json.dumps(asdict(record))),
    )
    connection.execute(
        "DELETE FROM approvals WHERE state != 'pending' AND id NOT IN"
        " (SELECT id FROM approvals ORDER BY asked_at_ns DESC LIMIT ?)",
        (KEPT_SETTLED,),
    )


def approvals(connection: sqlite3.Connection, *, limit: int = KEPT_SETTLED) -> list[ApprovalRecord]:
    """Newest first."""
    found = connection.execute(
        "SELECT record FROM approvals ORDER BY asked_at_ns DESC, id LIMIT ?",
        (max(0, min(limit, KEPT_SETTLED)),),
    )
    return [_approval(json.loads(row[0])) for row in found]


def open_approvals(connection: sqlite3.Connection) -> list[ApprovalRecord]:
    """Those that a restarted server must know: pending, or granted to a call that may come again."""
    return [
        record
        for record in approvals(connection)
        if record.state == "pending"
        or (record.state == "granted" and record.asker_gone and not record.used)
    ]


def save_standing(connection: sqlite3.Connection, record: StandingRecord) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO standing_approvals (id, created_at_ns, revoked_at_ns, record)"
        " VALUES (?,?,?,?)",
        (record.id, record.created_at_ns, record.revoked_at_ns, json.dumps(asdict(record))),
    )


def standing_approvals(connection: sqlite3.Connection) -> list[StandingRecord]:
    """Those in force, oldest first."""
    found = connection.execute(
        "SELECT record FROM standing_approvals WHERE revoked_at_ns IS NULL"
        " ORDER BY created_at_ns, id"
    )
    return [StandingRecord(**json.loads(row[0])) for row in found]


def _approval(fields: dict[str, Any]) -> ApprovalRecord:
    fields["classes"] = tuple(fields["classes"])
    if fields["state"] not in get_args(State):
        fields["state"] = "withdrawn"
    return ApprovalRecord(**fields)
