"""The store: writes that never wait, reads that never wait for them."""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path

from duetty.clock import Clock, ForwardClock, SystemClock
from duetty.errors import StoreUnavailable, TokenNotFound
from duetty.ids import BlockId, SessionId
from duetty.store import approval_rows, audit, blocks, conversations, sessions, tokens
from duetty.store.approval_rows import ApprovalRecord, StandingRecord
from duetty.store.audit import TrailAnchor
from duetty.store.blocks import BlockRecord, Limits
from duetty.store.conversations import ConversationEntry, ConversationRecord
from duetty.store.count import Count, batches_in, set_log_aside, what_was_lost
from duetty.store.database import (
    Repair,
    check_version,
    connect_readonly,
    is_damage,
    mark_damaged,
    open_database,
)
from duetty.store.pending import Dropped, OutputText
from duetty.store.search import Filters, Hit, search
from duetty.store.sessions import SessionRecord
from duetty.store.tokens import Kind, TokenRecord, hash_token
from duetty.store.writer import Later, Writer

IDLE_CONNECTIONS = 4
"""Read connections kept open; more are made when more threads read at once."""

USE_NS = 60 * 10**9
"""A token's last use is written at most this often."""

FLUSH_S = 5.0
CLOSE_S = 5.0
"""How long a shutdown waits for the disk. Bounded, as a disk that hangs may never answer."""


class ReadOnlyStore:
    """Reads, from any thread; each takes a connection of its own for as long as it runs.

    They see what is committed. All raise `StoreUnavailable` when the file
    cannot be read. Not for the event loop: call them in a worker thread.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    def sessions(self) -> list[SessionRecord]:
        """All of them, oldest first."""
        with self._reading() as connection:
            return sessions.sessions(connection)

    def blocks(
        self, session_id: SessionId | None = None, *, before: BlockId | None = None, limit: int = 50
    ) -> list[BlockRecord]:
        """Newest first, at most 1,000; those saved earlier than `before`, to page on.

        Raises:
            BlockNotFound: if `before` is unknown.
        """
        with self._reading() as connection:
            return blocks.blocks(connection, session=session_id, before=before, limit=limit)

    def block(self, block_id: BlockId) -> BlockRecord:
        """The block.

        Raises:
            BlockNotFound: if it was never saved, or dropped since.
        """
        with self._reading() as connection:
            return blocks.block(connection, block_id)

    def output_text(self, block_id: BlockId) -> str | None:
        """The text kept for the index; None if there was none or it was dropped.

        Raises:
            BlockNotFound: if the block is unknown.
        """
        with self._reading() as connection:
            return blocks.output(connection, block_id)

    def search(
        self,
        query: str,
        *,
        session: str | None = None,
        cwd: str | None = None,
        failed: bool | None = None,
        since_ns: int | None = None,
        limit: int = 20,
    ) -> list[Hit]:
        """Blocks whose command line or output match, newest first; never fails on any query.

        `session` is a name or an id; `cwd` means that directory and below.
        The language of a query is documented in `duetty.store.search`.
        """
        filters = Filters(session=session, cwd=cwd, failed=failed, since_ns=since_ns)
        with self._reading() as connection:
            return search(connection, query, filters=filters, limit=limit)

    def tokens(self) -> list[TokenRecord]:
        """All of them, revoked ones too, oldest first."""
        with self._reading() as connection:
            return tokens.tokens(connection)

    def approvals(self, *, limit: int = 100) -> list[ApprovalRecord]:
        """Questions and their answers, newest first."""
        with self._reading() as connection:
            return approval_rows.approvals(connection, limit=limit)

    def open_approvals(self) -> list[ApprovalRecord]:
        """Those that wait for an answer, or whose answer waits for its caller."""
        with self._reading() as connection:
            return approval_rows.open_approvals(connection)

    def standing_approvals(self) -> list[StandingRecord]:
        """Those in force, oldest first."""
        with self._reading() as connection:
            return approval_rows.standing_approvals(connection)

    def conversations(self) -> list[ConversationRecord]:
        """With the agent, newest first."""
        with self._reading() as connection:
            return conversations.conversations(connection)

    def conversation_entries(self, conversation: str) -> list[ConversationEntry]:
        """All of a conversation, in order."""
        with self._reading() as connection:
            return conversations.entries(connection, conversation)

    def trail_anchor(self) -> TrailAnchor | None:
        """Both ends of the audit trail as far as it was on disk; None before the first time."""
        with self._reading() as connection:
            return audit.anchor(connection)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __enter__(self) -> "ReadOnlyStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        try:
            connection = self._borrow()
            try:
                # One snapshot for reads of several statements.
                connection.execute("BEGIN")
                try:
                    yield connection
                finally:
                    connection.execute("ROLLBACK")
            except sqlite3.Error:
                connection.close()
                raise
            except BaseException:
                self._give_back(connection)
                raise
            self._give_back(connection)
        except sqlite3.Error as error:
            if is_damage(error):
                mark_damaged(self._path)
            raise StoreUnavailable(
                f"cannot read {self._path}: {error}",
                hint="restart the server: it checks the file and moves a broken one aside",
            ) from error

    def _borrow(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreUnavailable(f"{self._path} is closed")
            if self._idle:
                return self._idle.pop()
        return connect_readonly(self._path)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()


class Store(ReadOnlyStore):
    """What must survive, in one file that one process writes.

    Writes return at once; the writer thread has them on disk within a tenth of
    a second. SIGKILL loses what was still queued and nothing else.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        *,
        repaired: Repair | None,
        clock: Clock,
        limits: Limits,
    ) -> None:
        super().__init__(path)
        self.repaired = repaired
        self.lost: str | None = None
        """What a removed, emptied or garbled file or log cost, as found at the opening."""
        """Set when the file was broken and had to be started again."""
        self._clock = ForwardClock(clock)
        # All tokens are held in memory: a new one is valid and a revoked one refused at once,
        # however long the disk takes.
        self._tokens = {token.id: token for token in tokens.tokens(connection)}
        self._tokens_by_hash = {token.hash: token.id for token in self._tokens.values()}
        self._writer = Writer(connection, path, limits=limits, clock=clock)
        self._on_token: Callable[[str, TokenRecord | None], None] = lambda _id, _record: None

    def listen(self, *, token: Callable[[str, TokenRecord | None], None]) -> None:
        """Call this with each token that changes here; not with its uses."""
        self._on_token = token

    @classmethod
    def open(
        cls, path: Path, *, clock: Clock | None = None, limits: Limits | None = None
    ) -> "Store":
        """Open the file, or make it; its directory must exist.

        Raises:
            StateUnwritable: if it cannot be made or written.
            StoreUnavailable: if a newer Duetty wrote it, or SQLite lacks FTS5.
        """
        clock = clock or SystemClock()
        count = Count(path)
        known, log = count.read(), set_log_aside(path)
        connection, repaired = open_database(path, clock=clock)
        lost = what_was_lost(connection, known, log, clock)
        count.write(batches_in(connection))
        store = cls(path, connection, repaired=repaired, clock=clock, limits=limits or Limits())
        store.lost = None if repaired is not None else lost
        return store

    @staticmethod
    def open_readonly(path: Path) -> ReadOnlyStore:
        """Read a file that another process may be writing.

        Raises:
            StoreUnavailable: if there is none, or its tables are of another time.
        """
        if not path.is_file():
            raise StoreUnavailable(
                f"there is no history at {path}", hint="start the server once: it makes the file"
            )
        store = ReadOnlyStore(path)
        try:
            with store._reading() as connection:
                check_version(connection, path)
        except BaseException:
            store.close()
            raise
        return store

    def wake_later(self, later: Later | None) -> None:
        """How the calling thread has its writes begun when it has nothing else to do."""
        self._writer.wake_later(later)

    @property
    def degraded(self) -> str | None:
        """Why writes wait, None while all is well."""
        return self._writer.degraded

    @property
    def dropped(self) -> Dropped:
        """What did not reach the disk since the opening."""
        return self._writer.dropped

    def save_session(self, record: SessionRecord) -> None:
        self._writer.put_fact(
            ("session", record.id), lambda connection: sessions.save(connection, record)
        )

    def delete_session(self, session_id: SessionId) -> None:
        """Forget the session; its blocks stay in the history."""
        self._writer.put_fact(
            ("session", session_id), lambda connection: sessions.delete(connection, session_id)
        )

    def save_block(self, record: BlockRecord, output_text: OutputText | None = None) -> None:
        """Keep the block's newest state; None leaves the text it has.

        A callable is run in the writer thread. If it raises, the text is lost,
        not the block.
        """
        self._writer.put_block(record, output_text)

    def add_token(self, record: TokenRecord) -> None:
        """Valid at once."""
        self.take_token(record.id, record)
        self._on_token(record.id, record)

    def take_token(self, token_id: str, record: TokenRecord | None) -> None:
        """As another replica of the hub has it; None: that forgot it."""
        if record is None:
            self._forget(token_id)
            return
        known = self._tokens.get(token_id)
        if known is not None:
            record = replace(record, last_used_at_ns=known.last_used_at_ns)
        self._tokens[token_id] = record
        self._tokens_by_hash[record.hash] = token_id
        self._save_token(record)

    def revoke_token(self, token_id: str) -> TokenRecord:
        """Refused at once. The first revocation's time stays.

        Raises:
            TokenNotFound: if there is no such token.
        """
        record = self._tokens.get(token_id)
        if record is None:
            raise TokenNotFound(token_id)
        if record.revoked_at_ns is None:
            record = replace(record, revoked_at_ns=self._clock.wall_ns())
            self._tokens[token_id] = record
            self._save_token(record)
            self._on_token(token_id, record)
        return record

    def give_key(self, token_id: str, key: str) -> None:
        """Keep the key of a browser's page."""
        record = replace(self._tokens[token_id], key=key)
        self._tokens[token_id] = record
        self._save_token(record)
        self._on_token(token_id, record)

    def valid_token(
        self, token: str, *, kinds: tuple[Kind, ...] = ("token",)
    ) -> TokenRecord | None:
        """The record behind a token that was shown, if it is valid now; from memory."""
        token_id = self._tokens_by_hash.get(hash_token(token))
        if token_id is None:
            return None
        record = self._tokens[token_id]
        if record.kind not in kinds or not record.is_valid(self._clock.wall_ns()):
            return None
        return self._used(record)

    def forget_token(self, token_id: str) -> None:
        """Refused at once, and no longer listed."""
        self._forget(token_id)
        self._on_token(token_id, None)

    def _forget(self, token_id: str) -> None:
        record = self._tokens.pop(token_id, None)
        if record is not None:
            self._tokens_by_hash.pop(record.hash, None)
            self._writer.put_fact(
                ("token", token_id), lambda connection: tokens.delete(connection, token_id)
            )

    def token(self, token_id: str) -> TokenRecord | None:
        """By id, valid or not; from memory."""
        return self._tokens.get(token_id)

    def tokens(self) -> list[TokenRecord]:
        """All of them, revoked ones too, oldest first; from memory."""
        return sorted(
            self._tokens.copy().values(), key=lambda token: (token.created_at_ns, token.id)
        )

    def save_approval(self, record: ApprovalRecord) -> None:
        self._writer.put_fact(
            ("approval", record.id), lambda connection: approval_rows.save(connection, record)
        )

    def save_standing_approval(self, record: StandingRecord) -> None:
        self._writer.put_fact(
            ("standing", record.id),
            lambda connection: approval_rows.save_standing(connection, record),
        )

    def drop_standing_approval(self, id_: str) -> None:
        self._writer.put_fact(
            ("standing", id_), lambda connection: approval_rows.drop_standing(connection, id_)
        )

    def save_conversation(self, record: ConversationRecord) -> None:
        self._writer.put_fact(
            ("conversation", record.id), lambda connection: conversations.save(connection, record)
        )

    def append_conversation(self, entry: ConversationEntry) -> None:
        self._writer.put_fact(
            ("conversation entry", f"{entry.conversation} {entry.seq}"),
            lambda connection: conversations.append(connection, entry),
        )

    def anchor_trail(self, anchor: TrailAnchor) -> None:
        self._writer.put_fact(("trail", ""), lambda connection: audit.save(connection, anchor))

    def anchor_trail_durably(self, anchor: TrailAnchor) -> bool:
        """Whether it is on the disk itself: a power cut cannot take it back.

        A commit alone is in the log of SQLite, which reaches the disk some time later. The
        log may be opened and closed here: SQLite's locks are on other files.
        """
        self.anchor_trail(anchor)
        if not self.flush():
            return False
        try:
            for path in (self._path.with_name(self._path.name + "-wal"), self._path.parent):
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
        except OSError:
            return False
        return True

    def flush(self, *, within_s: float = FLUSH_S) -> bool:
        """Wait until all that was handed over is on disk; False if that failed, or the bound passed first."""
        return self._writer.flush(within_s)

    def close(self) -> None:
        """Write what waits, for a bounded time, and close the file."""
        self._writer.close(CLOSE_S)
        super().close()

    def __enter__(self) -> "Store":
        return self

    def _used(self, record: TokenRecord) -> TokenRecord:
        now_ns = self._clock.wall_ns()
        last_ns = record.last_used_at_ns
        if last_ns is not None and 0 <= now_ns - last_ns < USE_NS:
            return record
        record = replace(record, last_used_at_ns=now_ns)
        self._tokens[record.id] = record
        self._save_token(record)
        return record

    def _save_token(self, record: TokenRecord) -> None:
        self._writer.put_fact(
            ("token", record.id), lambda connection: tokens.save(connection, record)
        )
