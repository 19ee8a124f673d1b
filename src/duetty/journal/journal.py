"""The journal of one session: filled by one owner, read from any thread.

The owner calls `fill` when the PTY is readable, and `turn_over` when
`wants_snapshot` says so. A disk that fails costs the bytes of that time, which
become a gap; it never stops the program and never raises from `fill`.
"""

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic_ns
from typing import NamedTuple

from duetty.clock import Clock, SteadyClock, SystemClock
from duetty.errors import Conflict, Exhausted, NotFound, StateUnwritable, Unavailable
from duetty.ids import Offset
from duetty.journal.extents import Extent, Extents, Span, find_gaps, find_spans, read_chunks
from duetty.journal.index import Index, Kind, Moment, Size
from duetty.journal.intake import Intake, Window
from duetty.journal.segment import (
    FIRST_RESERVE_BYTES,
    HEADER_BYTES,
    READ_BYTES,
    SUFFIX,
    Recovered,
    Segment,
    allocate,
    is_changed,
    recover,
)
from duetty.journal.snapshot import (
    MAX_SNAPSHOT_BYTES,
    Snapshot,
    discard,
    read_snapshot,
    snapshot_size,
    write_snapshot,
)

LIMIT_BYTES = 64 << 20
SEGMENTS = 8
"""A journal at its limit forgets an eighth of itself at a time."""

FILL_BYTES = 64 << 10
"""One session's share of a turn of the loop."""

SHORT_BYTES = 1 << 10
"""A PTY that gives less than this seldom has more, and asking would be a second call for each key's echo.

If it has, the loop runs a callback in its next turn.
"""

FILL_NS = 2_000_000
"""The same in time: a program that prints short lines makes each read wait for the terminal's lock."""

FIRST_WINDOW_BYTES = 8 << 10
MAX_WINDOW_BYTES = 256 << 10
"""An idle session keeps two pages mapped; a flooding one moves its window every few fills.

Larger windows are not faster: the cost is a fault for each page, in any order.
"""

FLOOD_NS = 1_000_000_000
"""A window used up within this time is followed by one twice as large."""

TIME_STEP_NS = 10_000_000
"""Finer times than this cannot be seen in a replay."""

SUM_STEP_NS = 1_000_000_000
"""How often bytes become certain, and part of the checksum, while the window has room for more."""

RETRY_BYTES = 1 << 20
"""How much is printed into the void before a failed disk is tried again unasked."""

READ_STEP_BYTES = 256 << 10

_NO_DESCRIPTOR = frozenset({errno.EMFILE, errno.ENFILE})
"""A mapping takes one, though the file is open. Not a reason to lose a byte: the file can be written."""

_NEVER = sys.maxsize
_NOTHING = memoryview(b"")


class Filled(NamedTuple):
    """What one `fill` took from the PTY."""

    view: memoryview
    """The new bytes, and only those; read them before the next `fill`."""
    ended: bool
    """Nothing more will come: end of file, or the last process closed the PTY."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """What opening a journal found that a clean close would not have left."""

    recovered_bytes: int = 0
    """Read from the PTY by a killed server, not yet committed, and kept."""
    index_bytes: int = 0
    """Torn or damaged records of the index, dropped."""
    damaged: tuple[Path, ...] = ()
    """Segments that cannot be read; what they held is a gap."""
    garbled: tuple[Path, ...] = ()
    """Segments that are not what was written; read as they are."""
    cut_bytes: int = 0
    """Missing from the ends of segments: a gap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """What restores the terminal: the snapshot, then bytes and sizes in order of offset."""

    base: Offset
    end: Offset
    """Where the bytes end that can be read from `base` on."""
    snapshot: bytes | None
    """None at the very beginning, where an empty terminal is exact."""
    cols: int | None
    rows: int | None
    """The size at `base`; None if it was never set."""
    sizes: tuple[Size, ...]
    exact: bool
    """False if something before or after is gone, so that the screen may differ."""


class Journal:
    """The bytes one session printed, from `start` to `end`."""

    def __init__(
        self,
        directory: Path,
        segment: Segment,
        index: Index,
        *,
        extents: Extents,
        end: int,
        limit_bytes: int,
        clock: Clock | None,
        repairs: Repairs,
    ) -> None:
        self.directory = directory
        self.repairs = repairs
        self.degraded: str | None = None
        """Why bytes are not kept at the moment; None when they are."""
        self._segment = segment
        self._index = index
        self._extents = extents
        self._end = end
        self._limit_bytes = limit_bytes
        self._segment_bytes = limit_bytes // SEGMENTS
        self._snapshot_due = segment.base + self._segment_bytes
        self._retry_at = _NEVER
        self._wall_ns = SteadyClock(clock or SystemClock()).wall_ns
        self._changed = set(repairs.garbled)
        """Segments that are not what was written, as far as they were looked at."""
        self._looked_at: set[Path] = set()
        self._timed_ns = 0
        self._summed_ns = self._wall_ns()
        self._closed = False
        self._intake: Intake | None = None
        self._source_fd = -1
        self._readinto: Callable[[memoryview], int | None] = io.BytesIO().readinto
        self._moved_ns = 0
        self._window_bytes = FIRST_WINDOW_BYTES
        self._set_window(end, memoryview(bytearray()))

    @classmethod
    def create(
        cls, directory: Path, *, limit_bytes: int = LIMIT_BYTES, clock: Clock | None = None
    ) -> "Journal":
        """An empty journal in a directory of its own, which is made if need be.

        Raises:
            Conflict: if the directory holds a journal.
            StateUnwritable: if the directory cannot be made or written.
        """
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.chmod(0o700)
            if any(directory.glob(f"*{SUFFIX}")):
                raise Conflict(f"{directory} holds a journal", hint="open it instead")
            discard(directory / "index")
            index = Index(directory / "index")
            try:
                segment = Segment.create(directory, 0)
            except OSError:
                index.close()
                raise
        except OSError as error:
            # One by one: a process without descriptors cannot list the directory.
            discard(directory / "index")
            with suppress(OSError):
                directory.rmdir()
            raise _unwritable(directory, error) from error
        return cls(
            directory,
            segment,
            index,
            extents=(Extent(path=segment.path, base=0, end=None, snapshot_bytes=0),),
            end=0,
            limit_bytes=limit_bytes,
            clock=clock,
            repairs=Repairs(),
        )

    @classmethod
    def open(
        cls, directory: Path, *, limit_bytes: int = LIMIT_BYTES, clock: Clock | None = None
    ) -> "Journal":
        """The journal of an earlier server, with every byte that one took from the PTY.

        `repairs` tells what was found. A journal that ends in a gap opens
        degraded and wants a snapshot first.

        Raises:
            NotFound: if there is no journal in the directory.
            Unavailable: if the newest segment is damaged.
            StateUnwritable: if the journal cannot be written.
        """
        try:
            found, damaged = _recover_all(directory)
            _sweep(directory, {segment.base for segment in found})
            last = found[-1]
            index = Index(directory / "index")
            try:
                segment = Segment.reopen(last)
            except OSError:
                index.close()
                raise
        except OSError as error:
            raise _unwritable(directory, error) from error
        extents = [_extent(item) for item in found]
        if not last.gap_through:
            extents[-1] = replace(extents[-1], end=None)
        journal = cls(
            directory,
            segment,
            index,
            extents=tuple(extents),
            end=max(last.end, last.gap_through),
            limit_bytes=limit_bytes,
            clock=clock,
            repairs=Repairs(
                recovered_bytes=sum(item.uncommitted_bytes for item in found),
                index_bytes=index.lost_bytes,
                damaged=tuple(damaged),
                garbled=tuple(item.path for item in found if item.is_garbled),
                cut_bytes=sum(item.cut_bytes for item in found),
            ),
        )
        if last.gap_through:
            journal.degraded = "the last server could not write the journal"
            journal._snapshot_due = 0
        return journal

    def close(self) -> None:
        """End writing and give back what was reserved. Reading goes on to work."""
        if self._closed:
            return
        if self._intake is not None:
            # No reader will take what was read ahead, but it was printed: it is kept.
            self._intake.close()
            self._end = self._intake.end
            self._intake = None
        self.rest()
        self._closed = True
        self._commit()
        with suppress(OSError):  # the reserved area then stays; it is only room
            self._segment.trim(self._kept_end())
        self._segment.close()
        self._index.close()

    # --- writing: the owner's thread ------------------------------------------

    def fill(self, fd: int, budget_bytes: int = FILL_BYTES) -> Filled:
        """Take what a non-blocking descriptor has, up to the budget; after a short read, no more for now.

        The kernel copies into the file's pages; nothing else touches the bytes.
        Bytes that do not end in NUL need no commit: they tell where they end.

        Raises:
            OSError: for a descriptor that is not one; never for the disk.
        """
        if self._window_end - self._end < READ_BYTES:
            self._advance()
        if fd != self._source_fd:
            self._listen(fd)
        window = self._window
        readinto = self._readinto
        first = at = self._end - self._window_start
        stop = min(at + budget_bytes, len(window))
        count: int | None = None
        try:
            until_ns = monotonic_ns() + FILL_NS
            while at < stop:
                count = readinto(window[at:stop])
                if not count:
                    break
                at += count
                if count < SHORT_BYTES or monotonic_ns() > until_ns:
                    break
        except OSError as error:
            count = self._read_failed(error, is_first=at == first)
        if at == first:
            return Filled(_NOTHING, count == 0)

        start = self._end
        view = self._shown[first:at]
        if self._is_copied:
            self._write(view, start)
        self._end = self._window_start + at
        if not view[-1] or self.degraded is not None:
            self._commit()
        self._note_time(start)
        return Filled(view, count == 0)

    def open_intake(self, fd: int) -> Intake | None:
        """Have another thread read this descriptor ahead of `end`, until `close_intake`.

        None when the disk does not take bytes at the moment: then only `fill` will do.
        """
        if self.degraded is not None or self.wants_snapshot:
            return None
        if self._window_end - self._end < READ_BYTES:
            self._advance()
        if self.degraded is not None or self._is_copied:
            return None
        window = Window(self._end, self._window_start, self._window)
        try:
            self._intake = Intake(self._segment, fd, window, until=self._snapshot_due)
        except OSError:
            return None
        return self._intake

    def take(self, limit: int) -> memoryview:
        """The next bytes of the intake, which are part of the journal from now on."""
        if self._intake is None:
            return _NOTHING
        start = self._end
        view = self._intake.take(limit)
        if view:
            self._end = start + len(view)
            self._note_time(start)
        return view

    def close_intake(self) -> None:
        """Read with `fill` again; everything that the intake has must have been taken."""
        if self._intake is None:
            return
        self._intake.close()
        window = self._intake.window()
        self._intake = None
        self._set_window(window.start, window.view)

    @property
    def ahead_bytes(self) -> int:
        """What was read, is on record, and was not taken yet."""
        return self._intake.end - self._end if self._intake is not None else 0

    def is_all_taken(self) -> bool:
        """Whether nothing was read that is still to be taken, counting the read that is under way."""
        return self._intake is None or self._intake.counted_end() == self._end

    def append(self, output: bytes | memoryview) -> None:
        """Add bytes that come from elsewhere than a descriptor."""
        if self._closed:
            raise ValueError("the journal is closed")
        if not output:
            return
        start = self._end
        self._write(output, start)
        self._end = start + len(output)
        self._commit()
        self._note_time(start)

    def _write(self, output: bytes | memoryview, start: int) -> None:
        if self.degraded is None:
            try:
                self._segment.write(output, start)
            except OSError as error:
                self._degrade(error)

    def note_size(self, *, cols: int, rows: int) -> None:
        """Say that the program sees another size from here on; before it does."""
        self._index.add(Kind.RESIZE, self._end, wall_ns=self._wall_ns(), cols=cols, rows=rows)

    @property
    def wants_snapshot(self) -> bool:
        """The owner should `turn_over`: the segment is full, or the disk is back after a gap.

        Not while bytes behind `end` are in this segment: a snapshot opens the next one.
        """
        return self._end >= self._snapshot_due and not self.ahead_bytes

    def turn_over(self, snapshot: bytes, *, cols: int, rows: int) -> bool:
        """Begin the next segment with the terminal as it is now; drop the oldest ones.

        False if the disk refused. The journal then goes on as before and asks
        again later.

        Raises:
            Exhausted: if the snapshot is too large to keep.
        """
        if len(snapshot) > MAX_SNAPSHOT_BYTES:
            raise Exhausted(
                f"a snapshot of {len(snapshot)} bytes is above {MAX_SNAPSHOT_BYTES}",
                hint="take it with less scrollback",
            )
        if self._closed or self._intake is not None:
            raise ValueError("the journal is closed, or read ahead of its end")
        base = self._end
        path = _snapshot_path(self.directory, base)
        self._commit()
        try:
            write_snapshot(path, Snapshot(content=snapshot, cols=cols, rows=rows, base=base))
            self._index.add(Kind.SNAPSHOT, base, wall_ns=self._wall_ns(), cols=cols, rows=rows)
            segment = Segment.create(self.directory, base)
        except OSError as error:
            self._turn_over_failed(error)
            self._drop_oldest()
            return False
        self._go_on_in(segment, snapshot_bytes=snapshot_size(path))
        self._drop_oldest()
        return True

    def retry(self) -> bool:
        """Try a failed disk again; if it takes bytes, the owner is asked for a snapshot."""
        if self.degraded is None:
            return True
        probe = self.directory / "probe.tmp"
        try:
            fd = os.open(probe, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                allocate(fd, 0, HEADER_BYTES + FIRST_RESERVE_BYTES)
            finally:
                os.close(fd)
        except OSError as error:
            self.degraded = _reason(error)
            self._retry_at = self._end + RETRY_BYTES
            return False
        finally:
            discard(probe)
        self._retry_at = _NEVER
        self._snapshot_due = 0
        return True

    def rest(self) -> None:
        """Give back the memory of the window; for a session that went idle."""
        self._moved_ns = 0
        self._set_window(self._end, memoryview(bytearray()))

    # --- reading: any thread --------------------------------------------------

    @property
    def damage(self) -> str | None:
        """What of it was changed or lost since it was written; None if nothing is known to be."""
        sentences: list[str] = []
        if self.repairs.damaged:
            sentences.append(f"{len(self.repairs.damaged)} segments cannot be read")
        if self._changed:
            names = ", ".join(sorted(path.name for path in self._changed))
            sentences.append(f"not what was written: {names}")
        if self.repairs.cut_bytes:
            sentences.append(f"{self.repairs.cut_bytes} bytes are missing")
        return (
            f"the journal in {self.directory} is damaged: {'; '.join(sentences)}"
            if sentences
            else None
        )

    def look_for_damage(self) -> None:
        """Compare every segment that is complete with its checksum, once; for a worker thread."""
        for extent in self._extents[:-1]:
            if extent.path not in self._looked_at:
                self._looked_at.add(extent.path)
                if extent.path.exists() and is_changed(extent.path):
                    self._changed.add(extent.path)

    @property
    def start(self) -> Offset:
        """The first offset that is still there."""
        return Offset(self._extents[0].base)

    @property
    def end(self) -> Offset:
        """The offset the next byte will have."""
        return Offset(self._end)

    @property
    def gaps(self) -> tuple[Span, ...]:
        """What was printed while the disk took nothing, or was damaged since."""
        end = self._end
        return find_gaps(self._extents, end)

    def spans(self, start: int, end: int) -> list[Span]:
        """The parts of a range that can be read, with a gap between each and the next."""
        last = min(end, self._end)
        return find_spans(self._extents, start, last)

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a range, as far as they have been printed.

        Raises:
            OutputExpired: if some of them are gone.
        """
        if (recent := self.recent(start, end)) is not None:
            return recent
        return b"".join(self.chunks(start, end))

    def recent(self, start: int, end: int) -> bytes | None:
        """A range that is in the pages being written to, without a look at the disk; else None.

        What a viewer is sent, and what a short command printed, was mostly printed just now.
        """
        if not start < end <= self._end or self.degraded is not None:
            return None
        first, shown = self._kept  # in one step: any thread may read
        if not first <= start or end > first + len(shown) or start < self._extents[-1].base:
            return None
        return bytes(shown[start - first : end - first])

    def chunks(self, start: int, end: int, size: int = READ_STEP_BYTES) -> Iterator[bytes]:
        """The bytes of a range, piece by piece.

        Raises:
            OutputExpired: if some of them are gone, or go while they are read.
        """
        last = min(end, self._end)
        return read_chunks(self._extents, start, last, size=size)

    def count_newlines(self, start: int, end: int) -> int:
        """How many lines end in a range.

        Raises:
            OutputExpired: if some of it is gone.
        """
        return sum(chunk.count(b"\n") for chunk in self.chunks(start, end))

    def tail(self) -> Tail:
        """What restores the terminal as it is at `end`."""
        end = self._end
        extents = self._extents
        kept = extents[-1].end_below(end)
        place = len(extents) - 1
        snapshot = self.snapshot_at(extents[place].base)
        while snapshot is None and place > 0 and extents[place - 1].end == extents[place].base:
            place -= 1
            snapshot = self.snapshot_at(extents[place].base)
        base = extents[place].base
        size = snapshot or (self._index.size_at(base) if base else None)
        return Tail(
            base=Offset(base),
            end=Offset(kept),
            snapshot=snapshot and snapshot.content,
            cols=size and size.cols,
            rows=size and size.rows,
            sizes=self._index.sizes_since(base),
            exact=kept == end and (snapshot is not None or base == 0),
        )

    def snapshot_at(self, offset: int) -> Snapshot | None:
        """The snapshot a segment begins with; None if none begins here."""
        return read_snapshot(_snapshot_path(self.directory, offset))

    def sizes_since(self, offset: int) -> tuple[Size, ...]:
        """Changes of size from `offset` on, in order; not those a snapshot there includes."""
        return self._index.sizes_since(offset)

    def size_at(self, offset: int) -> Size | None:
        """The size the program saw when it printed the byte at `offset`."""
        return self._index.size_at(offset)

    def times(self, start: int, end: int) -> list[Moment]:
        """When the bytes of a range were read."""
        return self._index.times(start, end)

    def _note_time(self, start: int) -> None:
        now = self._wall_ns()
        if not 0 <= now - self._timed_ns < TIME_STEP_NS:
            self._timed_ns = now
            self._index.add(Kind.TIME, start, wall_ns=now)
        if now - self._summed_ns > SUM_STEP_NS:
            # What a checksum is of, is known to be whole if the server is killed.
            self._summed_ns = now
            self._commit()

    # --- the window -----------------------------------------------------------

    def _set_window(self, start: int, window: memoryview, *, is_copied: bool = False) -> None:
        # The old mapping goes when its last view does, so a view that is held
        # too long costs memory and nothing else.
        self._window_start = start
        self._window_end = start + len(window)
        self._window = window
        self._shown = window.toreadonly()
        self._is_copied = is_copied
        """It is memory, and what is read into it is written to the segment afterwards."""
        self._kept = start, _NOTHING if is_copied else self._shown
        """What readers may take from it, and its offset."""

    def _advance(self) -> None:
        """Have room for a read behind `end`: in the file, or in memory if the disk fails."""
        if self._closed:
            raise ValueError("the journal is closed")
        if self.degraded is None:
            now = self._wall_ns()
            floods = 0 <= now - self._moved_ns < FLOOD_NS
            size = min(2 * self._window_bytes, MAX_WINDOW_BYTES) if floods else FIRST_WINDOW_BYTES
            self._moved_ns = now
            self._window_bytes = size
            try:
                self._segment.commit(self._end)
                self._segment.reserve(self._end + size)
                self._set_window(*self._segment.window(self._end, size))
                return
            except OSError as error:
                if error.errno in _NO_DESCRIPTOR:
                    self._set_window(self._end, memoryview(bytearray(FILL_BYTES)), is_copied=True)
                    return
                self._degrade(error)
        elif self._end >= self._retry_at:
            self.retry()
        self._set_window(self._end, memoryview(bytearray(FILL_BYTES)))

    def _listen(self, fd: int) -> None:
        # FileIO is readv without the exception for "nothing there": a quarter faster.
        self._readinto = io.FileIO(fd, "rb", closefd=False).readinto
        self._source_fd = fd

    def _read_failed(self, error: OSError, *, is_first: bool) -> int | None:
        if error.errno == errno.EIO:  # how a PTY says that no process has it open
            return 0
        if not is_first:
            return None  # what was read comes first; the error will be there again
        if error.errno != errno.EFAULT:
            raise error
        self._degrade(error)  # a page was taken from under the window
        self.rest()
        return None

    # --- the disk -------------------------------------------------------------

    def _kept_end(self) -> int:
        return self._extents[-1].end_below(self._end)

    def _commit(self) -> None:
        kept = self._kept_end()
        try:
            self._segment.commit(kept, gap_through=self._end if kept < self._end else 0)
        except OSError:
            return  # certain bytes stay certain; the next write to the disk will tell

    def _degrade(self, error: OSError) -> None:
        self._extents = (*self._extents[:-1], replace(self._extents[-1], end=self._end))
        self.degraded = _reason(error)
        self._retry_at = self._end + RETRY_BYTES
        self._snapshot_due = _NEVER

    def _turn_over_failed(self, error: OSError) -> None:
        if self._segment.base != self._end:  # else it is a newer one of the current segment
            discard(_snapshot_path(self.directory, self._end))
        if self.degraded is None:
            self._snapshot_due = self._end + self._segment_bytes // SEGMENTS
        else:
            self.degraded = _reason(error)
            self._retry_at = self._end + RETRY_BYTES
            self._snapshot_due = _NEVER

    def _go_on_in(self, segment: Segment, *, snapshot_bytes: int) -> None:
        kept = self._kept_end()
        sealed = replace(self._extents[-1], end=kept)
        older = self._extents[:-1] if sealed.base == segment.base else (*self._extents[:-1], sealed)
        self._extents = (
            *older,
            Extent(path=segment.path, base=segment.base, end=None, snapshot_bytes=snapshot_bytes),
        )
        old, self._segment = self._segment, segment
        self._set_window(self._end, memoryview(bytearray()))
        with suppress(OSError):  # as in `close`
            old.trim(kept)
        old.close()
        self.degraded = None
        self._retry_at = _NEVER
        self._snapshot_due = segment.base + self._segment_bytes

    def _drop_oldest(self) -> None:
        """Keep what a journal may take on disk; the segment being written always stays."""
        extents = self._extents
        current = extents[-1]
        room = self._limit_bytes - current.snapshot_bytes
        room -= max(self._segment_bytes, self._kept_end() - current.base)
        first = len(extents) - 1
        while first > 0:
            older = extents[first - 1]
            room -= (older.end or 0) - older.base + older.snapshot_bytes
            if room < 0:
                break
            first -= 1
        if not first:
            return
        start = extents[first].base
        self._extents = extents[first:]
        # Oldest first: a server killed here must not leave a hole.
        for path in sorted(self.directory.glob("*.s*")):
            if path.stem.isdigit() and int(path.stem) < start:
                discard(path)
        self._index.prune(start)


def _recover_all(directory: Path) -> tuple[list[Recovered], list[Path]]:
    """The segments of a directory in order, and those that cannot be read."""
    paths = sorted(directory.glob(f"*{SUFFIX}"))
    if not paths:
        raise NotFound(f"no journal in {directory}")
    found: list[Recovered] = []
    damaged: list[Path] = []
    for path in paths:
        try:
            # Of the newest, all is read in a moment anyway; the others when a recording is made of them.
            found.append(recover(path, check=path == paths[-1]))
        except Unavailable:
            if path == paths[-1]:
                raise
            damaged.append(path)
    return found, damaged


def _sweep(directory: Path, bases: set[int]) -> None:
    """Remove what a killed server had begun and not put in its place."""
    for part in directory.glob("*.tmp"):
        discard(part)
    for path in directory.glob("*.snapshot"):
        if not path.stem.isdigit() or int(path.stem) not in bases:
            discard(path)


def _extent(found: Recovered) -> Extent:
    return Extent(
        path=found.path,
        base=found.base,
        end=found.end,
        snapshot_bytes=snapshot_size(_snapshot_path(found.path.parent, found.base)),
    )


def _snapshot_path(directory: Path, base: int) -> Path:
    return directory / f"{base:020d}.snapshot"


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _unwritable(directory: Path, error: OSError) -> StateUnwritable:
    return StateUnwritable(
        f"cannot write the journal in {directory}: {_reason(error)}",
        hint="make the directory writable for the server's user and leave it some room",
        details={"path": str(directory)},
    )
