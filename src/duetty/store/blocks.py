"""Blocks: the history of what was run, and how much of it is kept."""

import sqlite3
from dataclasses import dataclass
from typing import Any

from duetty.errors import BlockNotFound
from duetty.ids import BlockId, Offset, SessionId
from duetty.store.rows import storable, storable_or_none

MAX_OUTPUT_CHARS = 1 << 20
"""The caller bounds the text; this keeps a mistake there from filling the index."""

MAX_PAGE_BLOCKS = 1_000

TRIM_BLOCKS = 200
"""Blocks dropped in one transaction: a few milliseconds, so that writes pass in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRecord:
    id: BlockId
    session_id: SessionId
    session_name: str
    number: int
    command_line: str | None
    cwd: str | None
    exit_code: int | None
    started_at_ns: int
    finished_at_ns: int | None
    duration_ms: int | None
    start_offset: Offset
    end_offset: Offset | None
    actor_kind: str
    actor_name: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much history is kept, and how much may wait for the disk."""

    blocks: int = 100_000
    text_bytes: int = 256 << 20
    queued_blocks: int = 20_000
    queued_texts: int = 2_000
    """Fewer than blocks, so that text is dropped first."""

    queued_text_chars: int = 16 << 20


COLUMNS = (
    "blocks.id, session_id, session_name, number, blocks.command_line, cwd, exit_code,"
    " started_at_ns, finished_at_ns, duration_ms, start_offset, end_offset, actor_kind, actor_name, state"
)
"""What `from_row` reads, of the table `blocks`."""


def from_row(row: tuple[Any, ...]) -> BlockRecord:
    return BlockRecord(
        id=row[0],
        session_id=row[1],
        session_name=row[2],
        number=row[3],
        command_line=row[4],
        cwd=row[5],
        exit_code=row[6],
        started_at_ns=row[7],
        finished_at_ns=row[8],
        duration_ms=row[9],
        start_offset=row[10],
        end_offset=row[11],
        actor_kind=row[12],
        actor_name=row[13],
        state=row[14],
    )


def save(connection: sqlite3.Connection, record: BlockRecord, output: str | None) -> None:
    """Store the block; `output` None leaves its text unchanged."""
    command_line = storable_or_none(record.command_line)
    connection.execute(
        "INSERT INTO blocks (id, session_id, session_name, number, command_line, cwd, exit_code,"
        " started_at_ns, finished_at_ns, duration_ms, start_offset, end_offset,"
        " actor_kind, actor_name, state)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT (id) DO UPDATE SET session_name = excluded.session_name,"
        " command_line = excluded.command_line, cwd = excluded.cwd,"
        " exit_code = excluded.exit_code, started_at_ns = excluded.started_at_ns,"
        " finished_at_ns = excluded.finished_at_ns, duration_ms = excluded.duration_ms,"
        " start_offset = excluded.start_offset, end_offset = excluded.end_offset,"
        " actor_kind = excluded.actor_kind, actor_name = excluded.actor_name,"
        " state = excluded.state",
        (
            record.id,
            record.session_id,
            storable(record.session_name),
            record.number,
            command_line,
            storable_or_none(record.cwd),
            record.exit_code,
            record.started_at_ns,
            record.finished_at_ns,
            record.duration_ms,
            record.start_offset,
            record.end_offset,
            storable(record.actor_kind),
            storable(record.actor_name),
            storable(record.state),
        ),
    )
    place = _place(connection, record.id)
    output = _bounded(output)
    # The WHERE spares the index a deletion and an insertion when nothing changed.
    connection.execute(
        "INSERT INTO texts (place, command_line, output, bytes) VALUES (?,?,?,?)"
        " ON CONFLICT (place) DO UPDATE SET command_line = excluded.command_line,"
        " output = coalesce(excluded.output, output),"
        " bytes = excluded.bytes"
        " + CASE WHEN excluded.output IS NULL"
        " THEN coalesce(length(CAST(output AS BLOB)), 0) ELSE 0 END"
        " WHERE command_line IS NOT excluded.command_line OR excluded.output IS NOT NULL",
        (place, command_line, output, _utf8_bytes(command_line) + _utf8_bytes(output)),
    )


def save_output(connection: sqlite3.Connection, block: BlockId, output: str) -> None:
    """Keep the text of a block whose facts went before; nothing, if the block is gone again."""
    output = storable(output[:MAX_OUTPUT_CHARS])
    connection.execute(
        "UPDATE texts SET output = ?,"
        " bytes = coalesce(length(CAST(command_line AS BLOB)), 0) + ?"
        " WHERE place = (SELECT place FROM blocks WHERE id = ?)",
        (output, _utf8_bytes(output), block),
    )


def trim(connection: sqlite3.Connection, limits: Limits) -> bool:
    """One small step towards the limits; True if there is more to drop.

    The oldest output goes first and leaves its block and command line; whole
    blocks go when there are too many, or when their command lines alone are
    too much text. Runs inside the caller's transaction.
    """
    count, text_bytes = _totals(connection)
    if count > limits.blocks:
        _delete_oldest(connection, min(TRIM_BLOCKS, count - limits.blocks))
    elif text_bytes > limits.text_bytes:
        excess = text_bytes - limits.text_bytes
        if not _forget_oldest_outputs(connection, excess):
            _delete_oldest(connection, 1)
    else:
        return False
    count, text_bytes = _totals(connection)
    return count > limits.blocks or (text_bytes > limits.text_bytes and count > 0)


def blocks(
    connection: sqlite3.Connection,
    *,
    session: SessionId | None,
    before: BlockId | None,
    limit: int,
) -> list[BlockRecord]:
    """Newest first.

    Raises:
        BlockNotFound: if `before` is unknown.
    """
    conditions: list[str] = []
    values: list[object] = []
    if session is not None:
        conditions.append("session_id = ?")
        values.append(storable(session))
    if before is not None:
        conditions.append("blocks.place < ?")
        values.append(_place(connection, before))
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    found = connection.execute(
        f"SELECT {COLUMNS} FROM blocks {where}"  # noqa: S608 - constants
        " ORDER BY blocks.place DESC LIMIT ?",
        (*values, page(limit)),
    )
    return [from_row(row) for row in found]


def block(connection: sqlite3.Connection, block_id: BlockId) -> BlockRecord:
    """The block.

    Raises:
        BlockNotFound: if it was never saved, or dropped since.
    """
    row = connection.execute(
        f"SELECT {COLUMNS} FROM blocks"  # noqa: S608 - constant
        " WHERE blocks.id = ?",
        (storable(block_id),),
    ).fetchone()
    if row is None:
        raise BlockNotFound(block_id)
    return from_row(row)


def output(connection: sqlite3.Connection, block_id: BlockId) -> str | None:
    """The text kept for the block; None if there never was any, or it was dropped.

    Raises:
        BlockNotFound: if the block is unknown.
    """
    place = _place(connection, block_id)
    [text] = connection.execute("SELECT output FROM texts WHERE place = ?", (place,)).fetchone()
    return text


def page(limit: int) -> int:
    """As SQLite understands it: a negative LIMIT would mean all."""
    return max(0, min(limit, MAX_PAGE_BLOCKS))


def _place(connection: sqlite3.Connection, block_id: BlockId) -> int:
    row = connection.execute(
        "SELECT place FROM blocks WHERE id = ?", (storable(block_id),)
    ).fetchone()
    if row is None:
        raise BlockNotFound(block_id)
    return row[0]


def _totals(connection: sqlite3.Connection) -> tuple[int, int]:
    count, text_bytes = connection.execute("SELECT blocks, text_bytes FROM totals").fetchone()
    return count, text_bytes


def _delete_oldest(connection: sqlite3.Connection, count: int) -> None:
    connection.execute(
        "DELETE FROM blocks WHERE place IN (SELECT place FROM blocks ORDER BY place LIMIT ?)",
        (count,),
    )


def _forget_oldest_outputs(connection: sqlite3.Connection, excess_bytes: int) -> int:
    """Drop outputs until `excess_bytes` are gone or the step is done; how many were dropped."""
    oldest = connection.execute(
        "SELECT place, coalesce(length(CAST(command_line AS BLOB)), 0), bytes FROM texts"
        " WHERE output IS NOT NULL ORDER BY place LIMIT ?",
        (TRIM_BLOCKS,),
    ).fetchall()
    dropped = 0
    for place, command_line_bytes, text_bytes in oldest:
        if excess_bytes <= 0:
            break
        connection.execute(
            "UPDATE texts SET output = NULL, bytes = ? WHERE place = ?",
            (command_line_bytes, place),
        )
        excess_bytes -= text_bytes - command_line_bytes
        dropped += 1
    return dropped


def _bounded(output: str | None) -> str | None:
    return None if output is None else storable(output[:MAX_OUTPUT_CHARS])


def _utf8_bytes(text: str | None) -> int:
    return 0 if text is None else len(text.encode())
