"""Databases and logs that were broken and kept aside: listed, read for what is left of them, or removed."""

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duetty.clock import SystemClock
from duetty.errors import StateUnwritable
from duetty.store import sessions, tokens
from duetty.store.database import open_database

CHUNK = 500
MAX_FAILURES = 20
"""Chunks in a row that cannot be read; behind that, nothing is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What was read from a broken database, and was not in the other one."""

    blocks: int
    sessions: int
    tokens: int


def kept_aside(database: Path) -> list[Path]:
    """Oldest first. A log stands for itself where there is no database of its name."""
    found = sorted(database.parent.glob(f"{database.name}.broken-*"))
    bases = [each for each in found if not each.name.endswith(("-wal", "-shm"))]
    logs = [each for each in found if each.name.endswith("-wal")]
    return bases + [log for log in logs if log.with_name(log.name[:-4]) not in bases]


def discard_database(broken: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        broken.with_name(broken.name + suffix).unlink(missing_ok=True)


def restore_database(broken: Path, database: Path) -> Restored:
    """Carry over what can be read of `broken`; the file itself stays. No server may run.

    Raises:
        StateUnwritable: if that cannot be written.
    """
    with tempfile.TemporaryDirectory(dir=database.parent, prefix="repair-") as place:
        copy = Path(place) / "broken.db"
        if broken.name.endswith("-wal"):
            if database.exists():
                shutil.copyfile(database, copy)
            shutil.copyfile(broken, copy.with_name(f"{copy.name}-wal"))
        else:
            for suffix in ("", "-wal"):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(
                        broken.with_name(broken.name + suffix), copy.with_name(copy.name + suffix)
                    )
        connection, _ = open_database(database, clock=SystemClock())
        with contextlib.closing(connection), contextlib.closing(sqlite3.connect(copy)) as source:
            try:
                connection.execute("BEGIN IMMEDIATE")
                restored = Restored(
                    blocks=_restore_blocks(source, connection),
                    sessions=_restore(source, connection, sessions.sessions, sessions.save),
                    tokens=_restore(source, connection, tokens.tokens, tokens.save),
                )
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise StateUnwritable(f"cannot write {database}: {error}") from error
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return restored


def _restore(source: sqlite3.Connection, target: sqlite3.Connection, read: Any, save: Any) -> int:
    known = {each.id for each in read(target)}
    found: list[Any] = []
    with contextlib.suppress(sqlite3.Error, ValueError, TypeError):
        found = [each for each in read(source) if each.id not in known]
    for each in found:
        save(target, each)
    return len(found)


def _restore_blocks(source: sqlite3.Connection, target: sqlite3.Connection) -> int:
    """In front of all that there is: what was lost is older."""
    known = {id_ for (id_,) in target.execute("SELECT id FROM blocks")}
    found = [row for row in _rows(source, "blocks") if row.get("id") not in known]
    texts = {row["place"]: row for row in _rows(source, "texts")}
    [(first,)] = target.execute("SELECT min(coalesce(min(place), 1), 1) FROM blocks")
    restored = 0
    for row in reversed(found):
        place = first - restored - 1
        with contextlib.suppress(sqlite3.IntegrityError):
            _insert(target, "blocks", {**row, "place": place})
            restored += 1
            if (text := texts.get(row["place"])) is not None:
                _insert(target, "texts", {**text, "place": place})
    return restored


def _insert(connection: sqlite3.Connection, table: str, row: dict[str, Any]) -> None:
    marks = ", ".join("?" for _ in row)
    statement = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"  # noqa: S608 - names of our own
    connection.execute(statement, list(row.values()))


def _rows(connection: sqlite3.Connection, table: str) -> Iterator[dict[str, Any]]:
    """Those that can be read, by place; pages that cannot are stepped over."""
    after, failures = -(2**62), 0
    statement = f"SELECT * FROM {table} WHERE place > ? ORDER BY place LIMIT {CHUNK}"  # noqa: S608 - names of our own
    while failures < MAX_FAILURES:
        rows: list[dict[str, Any]] = []
        try:
            cursor = connection.execute(statement, (after,))
            names = [each[0] for each in cursor.description]
            for row in cursor:
                rows.append(dict(zip(names, row, strict=True)))  # noqa: PERF401 - what came before an error counts
        except sqlite3.Error:
            failures += 1
            after = max(rows[-1]["place"] if rows else after, 0) + CHUNK // 10
        else:
            failures = 0
            if not rows:
                return
            after = rows[-1]["place"]
        yield from rows
