"""How often the database was written, kept in a file beside it.

SQLite takes a log that was garbled, cut or removed for one that was never written, and a file that
was removed or emptied for a new one. The number in the database is part of each write; the one
beside it is put there after. So a database whose number is lower has lost something.
"""

import contextlib
import os
import shutil
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from duetty.clock import Clock

BYTES = 20


def one_more(connection: sqlite3.Connection) -> int:
    """Part of a transaction: the number that it is."""
    [number] = connection.execute(
        "UPDATE written SET batches = batches + 1 RETURNING batches"
    ).fetchone()
    return number


def batches_in(connection: sqlite3.Connection) -> int:
    [number] = connection.execute("SELECT batches FROM written").fetchone()
    return number


class Count:
    """The number beside the database at `path`. What cannot be written is not compared."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".count")

    def read(self) -> int | None:
        try:
            return int(self._path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None

    def write(self, number: int) -> None:
        with contextlib.suppress(OSError):
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                os.pwrite(fd, f"{number}\n".rjust(BYTES).encode(), 0)
            finally:
                os.close(fd)


def set_log_aside(path: Path) -> Path | None:
    """A copy of the log that a server left which was not stopped: opening the database uses it up."""
    log = path.with_name(path.name + "-wal")
    aside = path.with_name(path.name + "-wal.before")
    with contextlib.suppress(OSError):
        if log.stat().st_size:
            shutil.copyfile(log, aside)
            aside.chmod(0o600)
            return aside
    return None


def what_was_lost(
    connection: sqlite3.Connection, known: int | None, aside: Path | None, clock: Clock
) -> str | None:
    """What to tell of a database that has fewer writes than it had; the log is kept for a repair."""
    found = batches_in(connection)
    if known is None or found >= known:
        if aside is not None:
            with contextlib.suppress(OSError):
                aside.unlink()
        return None
    kept = ""
    if aside is not None:
        stamp = datetime.fromtimestamp(clock.wall_ns() / 1e9, UTC).strftime("%Y%m%dT%H%M%SZ")
        target = aside.with_name(aside.name.replace("-wal.before", f".broken-{stamp}-wal"))
        with contextlib.suppress(OSError):
            aside.rename(target)
            kept = f"; its log is kept as {target}"
    if not found:
        return f"it was removed or emptied: history, tokens and approvals began anew{kept}"
    return f"its last {known - found} of {known} writes are gone{kept}"
