"""The trail as it is written.

Each record is given to the kernel in one write before `record` returns: SIGKILL
loses none that was acknowledged, and at most half a line of the one that was
not. A thread puts them on the disk itself (fsync) within a second, which is what
a power cut can lose, and then tells the store how far the trail goes. When the
disk refuses, an agent's call is refused too, unless a setting says otherwise: what was
acknowledged is recorded. Other records are held in memory, in order, and written when it
takes them again; `audit.held` notes how many, for the case that the server is killed first.
When too many are held, the caller gets an error and nothing runs unrecorded.
"""

import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from duetty.audit.backlog import HeldNote, Note, left_note
from duetty.audit.files import numbered, path_of
from duetty.audit.record import GENESIS, line_of
from duetty.audit.recovery import Damage, End, compare, cut_off, find_end, first_seq
from duetty.calls import RecordKind
from duetty.clock import Clock
from duetty.config import make_private
from duetty.errors import AuditUnavailable
from duetty.store import TrailAnchor

SYNC_S = 1.0
"""Between two fsyncs, while there is something new."""

HELD_RECORDS = 1_000
"""Records that may wait for a disk that refuses; about half a megabyte."""

CLOSE_S = 5.0

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW

_NAMED_FIELDS = ("call", "actor", "operation", "session", "server")
"""What an outcome repeats of its call."""

log = logging.getLogger("duetty.audit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    file_bytes: int = 8 << 20
    files: int = 8
    """The oldest goes when there would be more."""


class Memory(Protocol):
    """Who remembers both ends of the trail: the store."""

    def trail_anchor(self) -> TrailAnchor | None: ...

    def anchor_trail(self, anchor: TrailAnchor) -> None: ...

    def anchor_trail_durably(self, anchor: TrailAnchor) -> bool:
        """Whether it is on the disk itself."""
        ...


class Trail:
    """The one writer of a directory of files; from any thread."""

    def __init__(
        self,
        directory: Path,
        *,
        clock: Clock,
        limits: Limits | None = None,
        store: Memory | None = None,
        sync_s: float = SYNC_S,
        required: bool = True,
    ) -> None:
        """Open the trail where it ends, or begin it.

        Half a line at its end is cut off, and that is recorded; so is every difference
        from what the store remembers of its ends. `required`: no agent's call is taken
        that cannot be recorded now.

        Raises:
            StateUnwritable: if the directory cannot be used.
            StoreUnavailable: if the store cannot be read.
            OSError: if the newest file cannot be read or written.
        """
        self._directory = make_private(directory)
        self._clock = clock
        self._limits = limits or Limits()
        self._store = store
        self._sync_s = sync_s
        self._required = required
        self._lock = threading.Lock()
        self._syncing = threading.Lock()
        """One at a time: the store never gets an older end than it has."""
        self._held: deque[bytes] = deque()
        self._degraded: str | None = None
        self._damage: str | None = None
        self._dirty = False
        self._is_new_file = self._may_have_surplus = True
        self._retired: list[int] = []
        self._closing, self._wake = threading.Event(), threading.Event()
        self._ended = False
        self._fd = -1
        anchor = None if store is None else store.trail_anchor()
        end = find_end(self._directory, anchor)
        damages = [] if store is None else compare(self._directory, end, anchor)
        # In a trail that was cut, which calls ended is unknown.
        left = [] if damages else cut_off(self._directory)
        self._go_on(end, anchor)
        note = left_note(self._directory)
        if note is not None and note.seq > self._seq:
            damages.append(Damage(what="held_lost", first=self._seq + 1, last=note.seq))
            self._seq, self._hash = note
        self._note = HeldNote(self._directory)
        with self._lock:
            for damage in damages:
                self._tell(damage)
        # Before the record `opened`: a server that is killed here leaves the rest to the next.
        for call in left:
            fields = {name: call[name] for name in _NAMED_FIELDS if name in call}
            self.record("outcome", **fields, outcome="interrupted")
        self.record("trail", event="opened")
        if end.cut_bytes:
            self.record("trail", event="repaired", cut_bytes=end.cut_bytes)
            log.error("audit_repaired", extra={"cut_bytes": end.cut_bytes})
        if damages:
            self._try_sync(durably=True)  # reported once, and not again at the next start
        if note is not None and not self._held:
            self._note.clear()
        # A daemon, so that a disk that hangs cannot hold the server's own exit.
        self._thread = threading.Thread(target=self._keep_synced, name="duetty-audit", daemon=True)
        self._thread.start()

    @property
    def directory(self) -> Path:
        return self._directory

    @property
    def degraded(self) -> str | None:
        """Why records wait in memory, or what was found wrong at the opening; None while all is well."""
        return self._degraded or self._damage

    @property
    def head(self) -> tuple[int, str]:
        """Number and hash of the newest record."""
        with self._lock:
            return self._seq, self._hash

    def check(self) -> None:
        """Whether one more call may be recorded.

        Raises:
            AuditUnavailable: if the disk has refused for so long that it may not.
        """
        if self._degraded is not None and len(self._held) >= HELD_RECORDS:
            raise self._unavailable("what was called so far is held and will be written")

    def record(self, kind: RecordKind, **fields: object) -> int:
        """Append a record; its number.

        Raises:
            AuditUnavailable: if it is an agent's call, and the disk does not take it.
        """
        with self._lock:
            seq = self._append(kind, fields)
            ended = self._ended
        if ended:  # what ran when the trail was closed may end a moment later
            self._put_away()
        return seq

    def sync(self) -> None:
        """Put everything on disk, and tell the store; the thread does it every second."""
        self._try_sync()

    def close(self) -> None:
        """Record the end, put everything on disk, for a bounded time."""
        if self._closing.is_set():
            return
        self.record("trail", event="closed")
        self._closing.set()
        self._wake.set()
        self._thread.join(CLOSE_S)
        if self._held:
            log.error("audit_closed_with_records_left", extra={"records": len(self._held)})
        if not self._thread.is_alive():
            self._ended = True
            self._put_away()

    def __enter__(self) -> "Trail":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- writing, with the lock held ----------------------------------------------

    def _append(self, kind: RecordKind, fields: Mapping[str, object]) -> int:
        line, digest = line_of(self._seq + 1, self._hash, self._clock.wall_ns(), kind, fields)
        self._write_held()
        if self._held or not self._write(line):
            if self._required and kind == "call" and _is_agents(fields):
                raise self._unavailable("nothing of this call was done")
            self._held.append(line)
            self._note.set(Note(self._seq + 1, digest))
        self._seq, self._hash = self._seq + 1, digest
        return self._seq

    def _unavailable(self, reason: str) -> AuditUnavailable:
        return AuditUnavailable(
            f"the audit trail cannot be written: {self._degraded}",
            hint=f"free some space; {reason}",
        )

    def _write(self, line: bytes) -> bool:
        try:
            if self._bytes and self._bytes + len(line) > self._limits.file_bytes:
                self._open(self._number + 1)
                self._may_have_surplus = True
                self._wake.set()
            elif self._fd < 0:
                self._open(max(self._number, 1))
            written = os.write(self._fd, line)
            if written < len(line):
                raise OSError(28, "no space left for a whole record")
        except OSError as error:
            self._cut_back()
            if self._degraded is None:
                log.warning("audit_degraded", extra={"reason": str(error)})
            self._degraded = error.strerror or str(error)
            return False
        self._bytes += len(line)
        self._dirty = True
        if self._degraded is not None and not self._held:
            log.warning("audit_recovered")
            self._degraded = None
        return True

    def _write_held(self) -> None:
        if not self._held:
            return
        while self._held:
            line = self._held.popleft()
            if not self._write(line):
                self._held.appendleft(line)
                return
        self._note.clear()

    def _cut_back(self) -> None:
        """Half a line must not stand where the next whole one goes."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._bytes)

    def _open(self, number: int) -> None:
        path = path_of(self._directory, number)
        self._is_new_file = self._is_new_file or not path.exists()
        fd = os.open(path, _APPEND, 0o600)
        if self._fd >= 0:
            self._retired.append(self._fd)  # the thread syncs and closes it: that may take long
        self._fd, self._bytes, self._number = fd, os.fstat(fd).st_size, number

    def _stay_in_place(self) -> None:
        """Leave a file that was removed or replaced: no reader would find what is written there."""
        path = path_of(self._directory, self._number)
        if self._held:
            return  # they come first
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._fd), path.stat()):
                return
        end = find_end(self._directory, None)
        os.close(self._fd)
        self._fd = -1
        self._open(max(end.number, 1))
        os.ftruncate(self._fd, end.size)
        self._bytes = end.size
        all_gone = first_seq(self._directory) is None
        missing = max(end.seq + 1, self._first_seq)
        if missing <= self._seq:
            self._tell(Damage(what="end_taken", first=missing, last=self._seq))
        if all_gone:
            self._first_seq = self._seq

    # --- opening -----------------------------------------------------------------

    def _go_on(self, end: End, anchor: TrailAnchor | None) -> None:
        self._number, self._bytes = end.number, end.size
        self._seq, self._hash = end.seq, end.hash
        if anchor is not None and anchor.head_seq > end.seq:
            # Their numbers stay theirs: the chain itself shows from now on that they are missing.
            self._seq, self._hash = anchor.head_seq, anchor.head_hash
        oldest = first_seq(self._directory) or self._seq + 1
        self._first_seq = oldest if anchor is None else max(oldest, anchor.first_seq)
        if end.number:
            self._open(end.number)
            os.ftruncate(self._fd, end.size)
            self._bytes = end.size
        if self._store is not None and anchor is None and not end.seq:
            # Before the first record: a trail that the store knows nothing of was known once.
            self._store.anchor_trail_durably(
                TrailAnchor(first_seq=1, head_seq=0, head_hash=GENESIS)
            )

    def _tell(self, damage: Damage) -> None:
        self._append("trail", damage.fields())
        log.error("audit_damaged", extra=damage.fields())
        when = damage.when.removesuffix(" at").removesuffix(",")
        self._damage = self._damage or f"{damage.sentence()} {when}: `duetty audit verify`"

    # --- the thread ----------------------------------------------------------------

    def _keep_synced(self) -> None:
        while True:
            self._wake.wait(self._sync_s)
            self._wake.clear()
            ending = self._closing.is_set()
            self._try_sync()
            if ending:
                return

    def _try_sync(self, *, durably: bool = False) -> None:
        try:
            with self._syncing:
                self._sync(durably=durably)
        except Exception:
            # Whatever it is: the records stand, and the next turn tries again.
            log.exception("audit_sync_failed")
            self._dirty = self._is_new_file = True

    def _sync(self, *, durably: bool) -> None:
        with self._lock:
            self._write_held()
            if not self._dirty or self._fd < 0:
                return
            self._stay_in_place()
            self._dirty = False
            retired, self._retired = self._retired, []
            fds = [*retired, os.dup(self._fd)]
            if self._is_new_file:  # it is on disk when its directory is, and that one in its own
                self._is_new_file = False
                places = (self._directory, self._directory.parent)
                fds += [os.open(each, os.O_RDONLY | os.O_CLOEXEC) for each in places]
            seq, digest = self._seq, self._hash
            whole = not self._held
        try:
            for fd in fds:
                os.fsync(fd)
        finally:
            for fd in fds:
                os.close(fd)
        if whole:
            self._remember(seq, digest, durably=durably)

    def _remember(self, seq: int, digest: str, *, durably: bool) -> None:
        """Tell the store how far the trail goes; let old files go once it knows that they do."""
        surplus: list[Path] = []
        if self._may_have_surplus:
            self._may_have_surplus = False
            files = numbered(self._directory)
            surplus = [path for _, path in files[: max(0, len(files) - self._limits.files)]]
        if surplus:
            self._first_seq = first_seq(self._directory, skip=len(surplus)) or seq
        anchor = TrailAnchor(first_seq=self._first_seq, head_seq=seq, head_hash=digest)
        if self._store is None:
            known = True
        elif surplus or durably:
            known = self._store.anchor_trail_durably(anchor)
        else:
            known = True
            self._store.anchor_trail(anchor)
        # A store that cannot be written must not make the trail endless.
        if known or len(surplus) > self._limits.files:
            for path in surplus:
                path.unlink(missing_ok=True)
        else:
            self._may_have_surplus = True

    def _put_away(self) -> None:
        """Everything on disk, and the file closed; for when no thread does it any more."""
        self._try_sync()
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
            self._note.close()


def _is_agents(fields: Mapping[str, object]) -> bool:
    """Whether it is a call that is about to be made for an actor who is no person."""
    actor = fields.get("actor")
    if "outcome" in fields or not isinstance(actor, Mapping):
        return False
    return cast("Mapping[str, object]", actor).get("kind") != "person"
