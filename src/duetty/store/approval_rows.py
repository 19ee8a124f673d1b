"""Approvals: questions put to a person, their answers, and answers that cover later calls."""

import json
import sqlite3
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

State = Literal["pending", "granted", "rejected", "expired", "withdrawn"]
Covers = Literal["once", "conversation", "session", "project", "hours", "always"]
"""How far a yes goes; all but the first stand, and cover later calls."""

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
    conversation: str | None = None
    """Of the server's own agent, where that asks."""

    command_line: str | None
    cwd: str | None
    reason: str
    rule: str | None
    classes: tuple[str, ...] = ()
    suggestion: str | None = None
    project: str = ""
    """Path of the workspace; empty where there is none."""

    can_stand: bool = False
    """Whether an answer may cover later calls too."""

    said: str | None = None
    """What for, in the caller's words."""

    context: str | None = None
    """What was judged, as JSON."""

    asked_at_ns: int
    expires_at_ns: int
    state: State = "pending"
    settled_at_ns: int | None = None
    settled_by: str | None = None
    via: str | None = None
    covers: Covers | None = None
    standing: str | None = None
    """Id of the standing approval that the answer left, or that answered it."""

    edited: str | None = None
    """The command line that a person put in the place of the one asked for."""

    note: str | None = None
    asker_gone: bool = False
    """The call that asked ended with an earlier server; the same call again takes the answer."""

    used: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingRecord:
    """An answer that also covers later calls: what is set here has to be the same again."""

    id: str
    covers: Covers
    rule: str
    """What it covers, in words."""

    actor_kind: str
    actor_name: str
    operation: str | None = None
    command_line: str | None = None
    """None: any line, of which policy finds only `classes`."""

    cwd: str | None = None
    """None: any directory of the project, or of the session."""

    session_id: str | None = None
    session: str | None = None
    """Its name when the answer was given."""

    project: str | None = None
    asked_by: str | None = None
    """The rule that must be the one that asks."""

    classes: tuple[str, ...] = ()
    approval: str
    """Id of the question that was answered."""

    created_at_ns: int
    created_by: str
    via: str
    expires_at_ns: int | None = None
    uses: int = 0
    used_at_ns: int | None = None


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
        "INSERT OR REPLACE INTO standing_approvals (id, created_at_ns, record) VALUES (?,?,?)",
        (record.id, record.created_at_ns, json.dumps(asdict(record))),
    )


def drop_standing(connection: sqlite3.Connection, id_: str) -> None:
    """It covers nothing any more; the trail keeps that it did."""
    connection.execute("DELETE FROM standing_approvals WHERE id = ?", (id_,))


def standing_approvals(connection: sqlite3.Connection) -> list[StandingRecord]:
    """Those in force, oldest first."""
    found = connection.execute(
        "SELECT record FROM standing_approvals WHERE revoked_at_ns IS NULL"
        " ORDER BY created_at_ns, id"
    )
    kept = [json.loads(row[0]) for row in found]
    # One that an older Duetty wrote says too little of what it covers: the person is asked again.
    known = {each.name for each in fields(StandingRecord)}
    return [
        StandingRecord(**each | {"classes": tuple(each["classes"])})
        for each in kept
        if each.keys() == known
    ]


def _approval(kept: dict[str, Any]) -> ApprovalRecord:
    known = {each.name for each in fields(ApprovalRecord)}
    kept = {name: value for name, value in kept.items() if name in known}
    kept["classes"] = tuple(kept["classes"])
    if kept["state"] not in get_args(State):
        kept["state"] = "withdrawn"
    if kept.get("covers") not in (None, *get_args(Covers)):
        kept["covers"] = "always"
    return ApprovalRecord(**kept)
