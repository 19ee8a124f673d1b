"""The writer: one thread that puts on disk what the event loop hands over.

Handing over takes a lock for a few dictionary operations and never waits for
the disk. Whatever has gathered is one transaction. When the disk refuses, the
writes wait, bounded, and are tried again until it takes them.
"""

import logging
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from duetty.clock import Clock
from duetty.ids import BlockId
from duetty.store import blocks
from duetty.store.blocks import BlockRecord, Limits
from duetty.store.count import Count, one_more
from duetty.store.database import is_damage, mark_damaged
from duetty.store.pending import Apply, Dropped, FactKey, OutputText, Pending

GATHER_S = 0.02
"""How long a first write waits for company; a fifth of the 100 ms a block may take to disk."""

MAKE_TEXT_S = 0.05
"""How long one batch spends on making text, so that facts never wait for much text."""

RETRY_S = (0.1, 0.5, 1.0, 2.0, 5.0)
"""Pauses between attempts while the disk refuses; the last one repeats."""

Later = Callable[[Callable[[], None]], object]
"""Has something called after a moment, in the same thread."""

_log = logging.getLogger(__name__)


class Writer:
    """Owns the only connection that writes, and closes it."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, *, limits: Limits, clock: Clock
    ) -> None:
        self._connection = connection
        self._path = path
        self._limits = limits
        self._clock = clock
        self._count = Count(path)
        self._changed = threading.Condition()
        self._pending = Pending()
        self._handed_over = 0
        self._on_disk = 0
        """Every write up to this number is on disk, or was given up."""
        self._idle = False
        self._later: tuple[int, Later] | None = None
        self._hurry = False
        self._closing = False
        self._is_last_try = False
        self._trimming = True
        self._failures = 0
        self._turns = self._failed_turn = 0
        self._degraded: str | None = None
        self._failed_texts = 0
        self._refused = 0
        # A daemon, so that a disk that hangs cannot hold the server's own exit.
        self._thread = threading.Thread(target=self._run, name="duetty-store", daemon=True)
        self._thread.start()

    @property
    def degraded(self) -> str | None:
        """Why writes are waiting, None while all is well."""
        return self._degraded

    @property
    def dropped(self) -> Dropped:
        with self._changed:
            return Dropped(
                texts=self._pending.dropped_texts + self._failed_texts,
                blocks=self._pending.dropped_blocks,
                refused=self._refused,
            )

    def wake_later(self, later: Later | None) -> None:
        """Let this wake the thread in a while, for what the calling thread hands over.

        A thread that wakes wants the interpreter at once, and takes it from the thread that still has
        to answer the call that the write belongs to.
        """
        self._later = None if later is None else (threading.get_ident(), later)

    def put_fact(self, key: FactKey, apply: Apply) -> None:
        with self._changed:
            self._pending.put_fact(key, apply)
            self._wake()

    def put_block(self, record: BlockRecord, text: OutputText | None) -> None:
        with self._changed:
            self._pending.put_block(record, text, self._limits)
            self._wake()

    def flush(self, within_s: float) -> bool:
        """Wait until what was handed over so far is on disk.

        False if a try that began since then failed, or the bound passed first: who reads a full disk waits for
        one try, not for the next.
        """
        with self._changed:
            wanted, begun = self._handed_over, self._turns
            self._hurry = True
            self._changed.notify_all()
            return self._changed.wait_for(
                lambda: (
                    (self._on_disk >= wanted and not self._trimming)
                    or self._failed_turn > begun
                    or self._is_over()
                ),
                within_s,
            ) and (self._on_disk >= wanted)

    def close(self, within_s: float) -> bool:
        """Write what waits, once more if need be, and end; False if something was left."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(within_s)
        left = self._thread.is_alive() or bool(self._pending)
        if left:
            _log.warning(
                "store_closed_with_writes_left",
                extra={"reason": self._degraded, "blocks": len(self._pending.blocks)},
            )
        return not left

    def _wake(self) -> None:
        self._handed_over += 1
        if self._idle:
            self._idle = False
            if self._later is not None and self._later[0] == threading.get_ident():
                self._later[1](self._notify)
            else:
                self._changed.notify_all()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _is_over(self) -> bool:
        return not self._thread.is_alive()

    # --- the thread -----------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._wait_work():
                self._turn()
        finally:
            # So that the file alone has everything: it may be copied, or lose its log.
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.close()
            with self._changed:
                self._changed.notify_all()

    def _wait_work(self) -> bool:
        """Wait until there is something to do; False when it is time to end."""
        with self._changed:
            if self._closing and (not self._pending or (self._failures and self._is_last_try)):
                return False
            if self._failures:
                pause = RETRY_S[min(self._failures, len(RETRY_S)) - 1]
                self._changed.wait_for(lambda: self._hurry or self._closing, pause)
            elif not (self._pending or self._trimming):
                self._idle = True
                self._changed.wait_for(lambda: bool(self._pending) or self._hurry or self._closing)
                self._idle = False
                self._changed.wait_for(lambda: self._hurry or self._closing, GATHER_S)
            self._hurry = False
            self._is_last_try = self._closing  # a try that had begun before does not count
            return True

    def _turn(self) -> None:
        with self._changed:
            self._turns += 1
            batch = self._pending.take()
            through = self._handed_over
        later = self._make_texts(batch)
        try:
            if batch:
                self._write(batch)
            trimming = not self._closing and self._trim()
        except Exception as error:  # noqa: BLE001 - whatever it is, the writes stay and the thread lives
            self._failed(error, batch, later)
            return
        with self._changed:
            self._pending.give_back(later, self._limits)
            if not later:
                self._on_disk = through
            self._trimming = trimming
            self._failures = 0
            if self._degraded is not None:
                _log.warning("store_recovered")
            self._degraded = None
            self._changed.notify_all()

    def _failed(self, error: Exception, batch: Pending, later: Pending) -> None:
        if isinstance(error, sqlite3.Error) and is_damage(error):
            mark_damaged(self._path)
        with self._changed:
            self._pending.give_back(later, self._limits)
            self._pending.give_back(batch, self._limits)
            self._failures += 1
            self._failed_turn = self._turns
            first = self._degraded is None
            self._degraded = f"{self._path}: {str(error) or type(error).__name__}"
            self._changed.notify_all()
        if first:
            _log.error("store_degraded", extra={"reason": self._degraded})

    def _make_texts(self, batch: Pending) -> Pending:
        """Make the batch's texts as long as there is time; the rest is returned for later."""
        later = Pending()
        made: OrderedDict[BlockId, OutputText] = OrderedDict()
        until_s = self._clock.monotonic_s() + MAKE_TEXT_S
        for block, text in batch.texts.items():
            if isinstance(text, str):
                made[block] = text
            elif self._clock.monotonic_s() >= until_s:
                later.texts[block] = text
            elif (output := self._make(block, text)) is not None:
                made[block] = output
        batch.texts = made
        batch.text_chars = sum(len(text) for text in made.values() if isinstance(text, str))
        return later

    def _make(self, block: BlockId, text: Callable[[], str]) -> str | None:
        try:
            return text()[: blocks.MAX_OUTPUT_CHARS]
        except Exception as error:  # noqa: BLE001 - the caller's code: costs the text, not the block
            with self._changed:
                self._failed_texts += 1
            _log.warning("block_text_failed", extra={"block": block, "error": type(error).__name__})
            return None

    def _write(self, batch: Pending) -> None:
        writes = _writes(batch)
        try:
            self._commit(writes)
        except Exception as error:
            if _may_pass(error):
                raise
            self._write_singly(writes)

    def _write_singly(self, writes: Sequence[Apply]) -> None:
        """Find the write that the database cannot take (a number too large, say) and leave it out."""
        for write in writes:
            try:
                self._commit([write])
            except Exception as error:
                if _may_pass(error):
                    raise
                with self._changed:
                    self._refused += 1
                _log.error("store_write_refused", extra={"error": type(error).__name__})

    def _trim(self) -> bool:
        more = False

        def step(connection: sqlite3.Connection) -> None:
            nonlocal more
            more = blocks.trim(connection, self._limits)

        self._commit([step])
        return more

    def _commit(self, writes: Sequence[Apply]) -> None:
        """All of them or none."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for write in writes:
                write(self._connection)
            number = one_more(self._connection)
            self._connection.execute("COMMIT")
            self._count.write(number)
        except BaseException:
            # Some errors (disk full) have rolled back already.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def _may_pass(error: Exception) -> bool:
    """Whether the same write may succeed later: the disk or memory was at fault, not the write."""
    return isinstance(error, (sqlite3.OperationalError, MemoryError)) or (
        isinstance(error, sqlite3.Error) and is_damage(error)
    )


def _writes(batch: Pending) -> list[Apply]:
    def block_write(record: BlockRecord) -> Apply:
        text = batch.texts.get(record.id)
        output = text if isinstance(text, str) else None
        return lambda connection: blocks.save(connection, record, output)

    def text_write(block: BlockId, output: str) -> Apply:
        return lambda connection: blocks.save_output(connection, block, output)

    return [
        *batch.facts.values(),
        *(block_write(record) for record in batch.blocks.values()),
        *(
            text_write(block, text)
            for block, text in batch.texts.items()
            if isinstance(text, str) and block not in batch.blocks
        ),
    ]
