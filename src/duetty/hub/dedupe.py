"""A command runs once: the node's memory of what it was asked to do, kept over its restart.

    dedupe = Dedupe(file)
    answer = await dedupe.once(user, command_id, body, run)

The first call runs; a second one with the same id waits for it, or gets its kept answer. That a
command began is on disk before it runs: after a crash its id is not run again, and its caller
hears that it may have run.
"""

import logging
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import anyio
import anyio.abc

from duetty.errors import CommandIdReused, ResultNotKept
from duetty.private_file import put_aside

KEPT_COMMANDS = 1_000
KEPT_BYTES = 256 * 1024
"""Of one answer. Of a larger one only that it ran."""

MAX_ID_CHARS = 200


_TABLE = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS commands (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT UNIQUE NOT NULL,
    digest BLOB NOT NULL,
    state TEXT NOT NULL,
    answer BLOB
);
"""

log = logging.getLogger("duetty.hub")


def _opened(file: Path | None) -> sqlite3.Connection:
    database = sqlite3.connect(file or ":memory:", isolation_level=None)
    try:
        database.executescript(_TABLE)
    except sqlite3.Error:
        database.close()
        raise
    return database


@dataclass(slots=True)
class _Running:
    digest: bytes
    is_done: anyio.Event = field(default_factory=anyio.Event)
    answer: bytes | None = None
    error: Exception | None = None


class Dedupe:
    def __init__(
        self,
        file: Path | None,
        *,
        kept: int = KEPT_COMMANDS,
        tasks: anyio.abc.TaskGroup | None = None,
    ) -> None:
        """Without a file it lasts as long as the process.

        With `tasks` a command runs on when its first caller is cancelled.
        """
        self._kept = kept
        self._tasks = tasks
        self._running: dict[str, _Running] = {}
        try:
            self._database = _opened(file)
        except sqlite3.DatabaseError as error:
            damaged = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
            if file is None or error.sqlite_errorcode not in damaged:
                raise
            log.warning("commands_damaged", extra={"file": str(file)})
            put_aside(file)
            self._database = _opened(file)

    def close(self) -> None:
        self._database.close()

    async def once(
        self,
        user: str | None,
        command_id: str,
        body: bytes,
        run: Callable[[], Awaitable[bytes]],
    ) -> bytes:
        """The answer of `run`, which is called at most once for one id of one user.

        What `run` raises is raised to every waiter, and the id may be used again: a function that
        runs a command raises only if nothing was done, and answers otherwise.

        Raises:
            CommandIdReused: if the id was another command's.
            ResultNotKept: if it began, and its answer is not there any more.
        """
        key = f"{'' if user is None else user}\0{command_id[:MAX_ID_CHARS]}"
        digest = sha256(body).digest()
        running = self._running.get(key)
        if running is not None:
            if running.digest != digest:
                raise CommandIdReused
            await running.is_done.wait()
            return _answer_of(running)
        row = self._database.execute(
            "SELECT digest, state, answer FROM commands WHERE key = ?", (key,)
        ).fetchone()
        if row is not None:
            before, state, answer = row
            if before != digest:
                raise CommandIdReused
            if state != "done":
                raise ResultNotKept("unknown")
            if answer is None:
                raise ResultNotKept(True)
            return bytes(answer)
        running = self._running[key] = _Running(digest)
        self._write(
            "INSERT INTO commands (key, digest, state) VALUES (?, ?, 'running')", key, digest
        )
        if self._tasks is None:
            await self._run(key, running, run)
        else:
            self._tasks.start_soon(self._run, key, running, run)
            await running.is_done.wait()
        return _answer_of(running)

    async def _run(self, key: str, running: _Running, run: Callable[[], Awaitable[bytes]]) -> None:
        try:
            running.answer = await run()
            kept = running.answer if len(running.answer) <= KEPT_BYTES else None
            self._write("UPDATE commands SET state = 'done', answer = ? WHERE key = ?", kept, key)
            self._write(
                "DELETE FROM commands WHERE state = 'done' AND number <="
                " (SELECT max(number) FROM commands) - ?",
                self._kept,
            )
        except Exception as error:  # noqa: BLE001 - raised to every waiter
            running.error = error
            self._write("DELETE FROM commands WHERE key = ?", key)
        finally:
            del self._running[key]
            running.is_done.set()

    def _write(self, statement: str, *values: object) -> None:
        with closing(self._database.execute(statement, values)):
            pass


def _answer_of(running: _Running) -> bytes:
    if running.error is not None:
        raise running.error
    if running.answer is None:  # its caller was cancelled within it
        raise ResultNotKept("unknown")
    return running.answer
