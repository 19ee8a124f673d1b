"""The trail as it is written.

Each record is given to the kernel in one write before `record` returns: SIGKILL
loses none that was acknowledged, and at most half a line of the one that was
not. A thread puts them on the disk itself (fsync) within a second, which is what
a power cut can lose. When the disk refuses, records are held in memory, in
order, and written when it takes them again; when too many are held, the caller
is told and nothing runs unrecorded.
"""

import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from duetty.audit.files import numbered, path_of
from duetty.audit.record import GENESIS, line_of, parse_line
from duetty.clock import Clock
from duetty.config import make_private
from duetty.errors import AuditUnavailable
from duetty.store import TrailAnchor

SYNC_S = 1.0
"""Between two fsyncs, while there is something new."""

HELD_RECORDS = 1_000
"""Records that may wait for a disk that refuses; about half a megabyte."""

CLOSE_S = 5.0
TAIL_BYTES = 1024 * 1024
"""How far back the last whole line is looked for when a trail is opened."""

log = logging.getLogger("duetty.audit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    file_bytes: int = 8 << 20
    files: int = 8
    """The oldest goes when there would be more."""


class Trail:
    """The one writer of a directory of files; from any thread."""

    def __init__(
        self,
        directory: Path,
        *,
        clock: Clock,
        limits: Limits | None = None,
        anchor: Callable[[TrailAnchor], None] | None = None,
        sync_s: float = SYNC_S,
    ) -> None:
        """Open the trail, or begin it; half a line at its end is cut off, and that is recorded.

        Raises:
            StateUnwritable: if the directory cannot be used.
            OSError: if the newest file cannot be read or written.
        """
        self._directory = make_private(directory)
        self._clock = clock
        self._limits = limits or Limits()
        self._anchor = anchor
        self._sync_s = sync_s
        self._lock = threading.Lock()
        self._held: deque[bytes] = deque()
        self._degraded: str | None = None
        self._seq, self._hash, self._fd, self._bytes, self._number = 0, GENESIS, -1, 0, 0
        self._dirty = False
        self._retired: list[int] = []
        self._closing = threading.Event()
        cut_bytes = self._open_newest()
        self._first_seq = self._oldest_seq()
        self.record("trail", event="opened")
        if cut_bytes:
            self.record("trail", event="repaired", cut_bytes=cut_bytes)
            log.error("audit_repaired", extra={"cut_bytes": cut_bytes})
        # A daemon, so that a disk that hangs cannot hold the server's own exit.
        self._thread = threading.Thread(target=self._keep_synced, name="duetty-audit", daemon=True)
        self._thread.start()

    @property
    def directory(self) -> Path:
        return self._directory

    @property
    def degraded(self) -> str | None:
        """Why records wait in memory, None while all is well."""
        return self._degraded

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
            raise AuditUnavailable(
                f"the audit trail cannot be written: {self._degraded}",
                hint="free some space; what was called so far is held and will be written",
            )

    def record(self, kind: str, **fields: object) -> int:
        """Append a record; its number."""
        with self._lock:
            line, digest = line_of(self._seq + 1, self._hash, self._clock.wall_ns(), kind, fields)
            self._seq, self._hash = self._seq + 1, digest
            if self._held:
                self._held.append(line)
                self._write_held()
            elif not self._write(line):
                self._held.append(line)
            return self._seq

    def close(self) -> None:
        """Record the end, put everything on disk, for a bounded time."""
        if self._closing.is_set():
            return
        self.record("trail", event="closed")
        self._closing.set()
        self._thread.join(CLOSE_S)
        with self._lock:
            if self._held:
                log.error("audit_closed_with_records_left", extra={"records": len(self._held)})
            if self._fd >= 0 and not self._thread.is_alive():
                os.close(self._fd)
                self._fd = -1

    def __enter__(self) -> "Trail":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- writing, with the lock held ----------------------------------------------

    def _write(self, line: bytes) -> bool:
        try:
            if self._fd < 0 or (self._bytes and self._bytes + len(line) > self._limits.file_bytes):
                self._turn_over()
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
        while self._held:
            line = self._held.popleft()
            if not self._write(line):
                self._held.appendleft(line)
                return

    def _cut_back(self) -> None:
        """Half a line must not stand where the next whole one goes."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._bytes)

    def _turn_over(self) -> None:
        path = path_of(self._directory, self._number + 1)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(path, flags, 0o600)
        if self._fd >= 0:
            self._retired.append(self._fd)  # the thread syncs and closes it: that may take long
        self._fd, self._bytes, self._number = fd, os.fstat(fd).st_size, self._number + 1
        files = numbered(self._directory)
        for _, old in files[: max(0, len(files) - self._limits.files)]:
            old.unlink(missing_ok=True)
            self._first_seq = 0  # looked up when the anchor is set: not here, on the loop

    # --- opening -----------------------------------------------------------------

    def _open_newest(self) -> int:
        """Go on where the newest file ends; how many bytes of half a line were cut off."""
        files = numbered(self._directory)
        if not files:
            return 0
        cut = 0
        for number, path in reversed(files):
            size = path.stat().st_size
            with path.open("rb") as file:
                file.seek(max(0, size - TAIL_BYTES))
                tail = file.read()
            whole = tail.rfind(b"\n") + 1
            if number == files[-1][0]:
                cut = len(tail) - whole
                self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
                self._number, self._bytes = number, size - cut
                if cut:
                    os.ftruncate(self._fd, self._bytes)
            if whole:
                line = tail[:whole].splitlines()[-1]
                record = parse_line(line)
                # A last line that was tampered with: `verify` names it; the chain goes on behind it.
                self._seq = record.seq if record is not None else _claimed_seq(line)
                self._hash = record.hash if record is not None else GENESIS
                break
        return cut

    def _oldest_seq(self) -> int:
        for _, path in numbered(self._directory):
            with contextlib.suppress(OSError), path.open("rb") as file:
                record = parse_line(file.readline(TAIL_BYTES))
                if record is not None:
                    return record.seq
        return self._seq + 1

    # --- the thread ----------------------------------------------------------------

    def _keep_synced(self) -> None:
        while True:
            ending = self._closing.wait(self._sync_s)
            try:
                self._sync()
            except Exception:
                # Whatever it is: the records stand, and the next turn tries again.
                log.exception("audit_sync_failed")
            if ending:
                return

    def _sync(self) -> None:
        with self._lock:
            self._write_held()
            if not self._dirty or self._fd < 0:
                return
            self._dirty = False
            retired, self._retired = self._retired, []
            fds = [*retired, os.dup(self._fd)]
            if retired:  # a new file is on disk when its directory is
                fds.append(os.open(self._directory, os.O_RDONLY | os.O_CLOEXEC))
            seq, digest = self._seq, self._hash
            whole = not self._held
        try:
            for fd in fds:
                os.fsync(fd)
        finally:
            for fd in fds:
                os.close(fd)
        if self._anchor is not None and whole:
            self._first_seq = self._first_seq or self._oldest_seq()
            self._anchor(TrailAnchor(first_seq=self._first_seq, head_seq=seq, head_hash=digest))


def _claimed_seq(line: bytes) -> int:
    head = line[:40].removeprefix(b'{"seq":').split(b",")[0]
    return int(head) if head.isdigit() else 0
