"""Sessions: what a restarted server must know to take its sessions up again."""

import sqlite3
from dataclasses import dataclass, field

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


_COLUMNS = (
    "id, name, command, shell, integration, nonce, tags, cols, rows, cwd,"
    " created_at_ns, pid, tty, exited_at_ns, exit_code, exit_signal"
)


def save(connection: sqlite3.Connection, record: SessionRecord) -> None:
    connection.execute(
        f"INSERT OR REPLACE INTO sessions ({_COLUMNS})"  # noqa: S608 - constant
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
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
        ),
    )


def delete(connection: sqlite3.Connection, session: SessionId) -> None:
    connection.execute("DELETE FROM sessions WHERE id = ?", (session,))


def sessions(connection: sqlite3.Connection) -> list[SessionRecord]:
    """All of them, oldest first."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM sessions ORDER BY created_at_ns, id"  # noqa: S608 - constant
    )
    return [
        SessionRecord(
            id=row[0],
            name=row[1],
            command=to_strings(row[2]),
            shell=row[3],
            integration=row[4],
            nonce=row[5],
            tags=to_strings(row[6]),
            cols=row[7],
            rows=row[8],
            cwd=row[9],
            created_at_ns=row[10],
            pid=row[11],
            tty=row[12],
            exited_at_ns=row[13],
            exit_code=row[14],
            exit_signal=row[15],
        )
        for row in found
    ]
