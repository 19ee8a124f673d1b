"""The file: opened, checked, brought up to date; moved aside when it is broken."""

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from duetty.clock import Clock
from duetty.errors import StateUnwritable, StoreUnavailable
from duetty.store import sessions, tokens
from duetty.store.schema import MIGRATIONS

BUSY_S = 5.0
"""How long a connection waits for another process's lock; never on the event loop."""

CHECK_BYTES = 16 << 20
"""Files up to this size are read through when opened.

That takes about a tenth of a second; a larger one is read through only when
an earlier run met damage and left a mark.
"""

WAL_KEPT_BYTES = 16 << 20

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A broken file was moved aside and a new one started."""

    moved_to: Path
    reason: str
    sessions_kept: int
    tokens_kept: int


class _Damaged(Exception):
    """The file is not a sound database."""


def open_database(path: Path, *, clock: Clock) -> tuple[sqlite3.Connection, Repair | None]:
    """The writer's connection, to a sound file with today's tables.

    Raises:
        StateUnwritable: if the file cannot be made or written.
        StoreUnavailable: if a newer Duetty wrote it, or SQLite lacks FTS5.
    """
    try:
        _make_private(path)
        try:
            return _open_sound(path), None
        except _Damaged as damage:
            return _start_again(path, clock=clock, reason=str(damage))
    except (OSError, sqlite3.Error) as error:
        raise StateUnwritable(
            f"cannot write {path}: {error}",
            hint=f"check that {path.parent} exists, is yours and has space left",
            details={"path": str(path)},
        ) from error


def connect_readonly(path: Path) -> sqlite3.Connection:
    """A connection that sees what is committed and never waits for the writer."""
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=ro",
        uri=True,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse to read tables of another time.

    Raises:
        StoreUnavailable: if the file is older or newer than this Duetty.
    """
    found = _version(connection)
    if found < len(MIGRATIONS):
        raise StoreUnavailable(
            f"{path} is from an older Duetty", hint="start the server once: it updates the file"
        )
    _refuse_newer(found, path)


def migrate(connection: sqlite3.Connection, migrations: Sequence[str] = MIGRATIONS) -> None:
    """Run the migrations that the file has not seen, each whole or not at all."""
    for number, script in enumerate(migrations, start=1):
        if number <= _version(connection):
            continue
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {number}; COMMIT;"
            )
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def is_damage(error: sqlite3.Error) -> bool:
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGE


def mark_damaged(path: Path) -> None:
    """Have the next opening read the whole file through."""
    with contextlib.suppress(OSError):
        _mark(path).touch(mode=0o600)


def _make_private(path: Path) -> None:
    """Make the file, or make it 0600; SQLite gives its -wal and -shm files the same mode.

    An existing file is not opened here: closing any descriptor of it would
    drop the POSIX locks that SQLite holds for this whole process.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if not path.is_file():
            raise
        if path.stat().st_mode & 0o777 != 0o600:
            path.chmod(0o600)


def _open_sound(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_S, isolation_level=None, check_same_thread=False
    )
    try:
        _refuse_newer(_version(connection), path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_KEPT_BYTES}")
        _require_fts5(connection)
        migrate(connection)
        # SQLite opens a file it may not write without a word; asking for the lock tells.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
        _check(connection, path)
    except sqlite3.Error as error:
        connection.close()
        if is_damage(error):
            raise _Damaged(str(error)) from error
        raise
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    suspect = _mark(path).exists()
    if suspect or path.stat().st_size <= CHECK_BYTES:
        [problem] = connection.execute("PRAGMA quick_check(1)").fetchone()
        if problem != "ok":
            raise _Damaged(problem)
    if suspect:
        # Not part of quick_check, and can be made anew from the texts.
        try:
            connection.execute("INSERT INTO block_index (block_index) VALUES ('integrity-check')")
        except sqlite3.DatabaseError:
            connection.execute("INSERT INTO block_index (block_index) VALUES ('rebuild')")
        _mark(path).unlink()


def _require_fts5(connection: sqlite3.Connection) -> None:
    options = {name for (name,) in connection.execute("PRAGMA compile_options")}
    if "ENABLE_FTS5" not in options:
        raise StoreUnavailable(
            f"SQLite {sqlite3.sqlite_version} of this Python has no FTS5",
            hint="use a Python whose sqlite3 is built with FTS5, as python.org's and most systems' are",
        )


def _refuse_newer(found: int, path: Path) -> None:
    if found > len(MIGRATIONS):
        raise StoreUnavailable(
            f"{path} was written by a newer Duetty",
            hint="update Duetty, or use another state directory",
        )


def _start_again(path: Path, *, clock: Clock, reason: str) -> tuple[sqlite3.Connection, Repair]:
    moved_to = _move_aside(path, clock=clock)
    _make_private(path)
    connection = _open_sound(path)
    kept_sessions, kept_tokens = _salvage(moved_to, connection)
    return connection, Repair(
        moved_to=moved_to, reason=reason, sessions_kept=kept_sessions, tokens_kept=kept_tokens
    )


def _move_aside(path: Path, *, clock: Clock) -> Path:
    stamp = datetime.fromtimestamp(clock.wall_ns() / 1e9, UTC).strftime("%Y%m%dT%H%M%SZ")
    target = path.with_name(f"{path.name}.broken-{stamp}")
    number = 1
    while target.exists():
        number += 1
        target = path.with_name(f"{path.name}.broken-{stamp}-{number}")
    path.rename(target)
    for suffix in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(target.with_name(target.name + suffix))
    _mark(path).unlink(missing_ok=True)
    return target


def _salvage(broken: Path, connection: sqlite3.Connection) -> tuple[int, int]:
    """Carry over what running sessions and their callers need, where it can still be read."""
    kept_sessions: list[sessions.SessionRecord] = []
    kept_tokens: list[tokens.TokenRecord] = []
    unreadable = (sqlite3.Error, ValueError, TypeError)
    with contextlib.suppress(*unreadable), contextlib.closing(connect_readonly(broken)) as source:
        kept_sessions = sessions.sessions(source)
        kept_tokens = tokens.tokens(source)
    for session in kept_sessions:
        with contextlib.suppress(*unreadable):
            sessions.save(connection, session)
    for token in kept_tokens:
        with contextlib.suppress(*unreadable):
            tokens.save(connection, token)
    return len(sessions.sessions(connection)), len(tokens.tokens(connection))


def _version(connection: sqlite3.Connection) -> int:
    [found] = connection.execute("PRAGMA user_version").fetchone()
    return found


def _mark(path: Path) -> Path:
    return path.with_name(path.name + ".damaged")
