"""Sessions: what a restarted server must know to take its sessions up again."""

import sqlite3
from dataclasses import dataclass, field
from typing import Any

from duetty.ids import SessionId
from duetty.store.rows import from_strings, storable, storable_or_none, to_strings


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    id: SessionId
    name: str
    command: tuple[str, ...]
    shell: str | None
    integration: str | None
    nonce: str = field(repr=False)
    """In the clear, as a restarted server must go on trusting the marks of a running shell."""

    tags: tuple[str, ...] = ()
    cols: int
    rows: int
    cwd: str | None
    created_at_ns: int
    pid: int | None
    tty: str | None
    exited_at_ns: int | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    sandbox: str = "none"
    owner: str | None = None
    """Identity of the actor that opened it."""

    workspace: str | None = None
    network: bool = True
    """Whether its sandbox, if it has one, lets it reach the network."""

    bounds: str | None = None
    """How long it may run and how much it may print, as JSON."""

    keeps_name: bool = False


_COLUMNS = (
    "id, name, command, shell, integration, nonce, tags, cols, rows, cwd,"
    " created_at_ns, pid, tty, exited_at_ns, exit_code, exit_signal, sandbox, owner,"
    " workspace, network, bounds, keeps_name"
)


def save(connection: sqlite3.Connection, record: SessionRecord) -> None:
    connection.execute(
        f"INSERT OR REPLACE INTO sessions ({_COLUMNS})"  # noqa: S608 - constant
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            record.id,
            storable(record.name),
            from_strings(record.command),
            storable_or_none(record.shell),
            storable_or_none(record.integration),
            record.nonce,
            from_strings(record.tags),
            record.cols,
            record.rows,
            storable_or_none(record.cwd),
            record.created_at_ns,
            record.pid,
            storable_or_none(record.tty),
            record.exited_at_ns,
            record.exit_code,
            record.exit_signal,
            record.sandbox,
            storable_or_none(record.owner),
            storable_or_none(record.workspace),
            record.network,
            record.bounds,
            record.keeps_name,
        ),
    )


def delete(connection: sqlite3.Connection, session: SessionId) -> None:
    connection.execute("DELETE FROM sessions WHERE id = ?", (session,))


def sessions(connection: sqlite3.Connection) -> list[SessionRecord]:
    """All of them, oldest first; from a file of an earlier version too."""
    found = connection.execute("SELECT * FROM sessions ORDER BY created_at_ns, id")
    names = [column[0] for column in found.description]
    return [_record(dict(zip(names, row, strict=True))) for row in found]


def _record(row: dict[str, Any]) -> SessionRecord:
    row["command"], row["tags"] = to_strings(row["command"]), to_strings(row["tags"])
    for name in ("network", "keeps_name"):
        if name in row:
            row[name] = bool(row[name])
    return SessionRecord(**row)
