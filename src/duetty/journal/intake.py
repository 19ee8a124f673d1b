"""Intake: the PTY of a flooding program, read ahead of the journal's end by another thread.

The reading thread calls `read`, and everything else is the owner's. What was read
is in the segment's own pages at once, so a byte that was taken from the PTY is on
record however far behind the owner is; it becomes part of the journal, with an
offset that readers know, when the owner takes it. While an intake is open no other code
else touches the segment.
"""

import enum
import errno
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

from duetty.journal.segment import READ_BYTES, Segment
from duetty.journal.source import Source, address_of

AHEAD_BYTES = 384 << 10
"""How far reading may run ahead; beyond it the program waits.

Enough for a few turns of the loop at the speed of a PTY. More would only be what a
person still sees scroll by after Ctrl-C.
"""

WINDOW_BYTES = 256 << 10

STEP_BYTES = 128 << 10
"""What one call takes at most, so that several floods share the thread."""


class ReadEnd(enum.Enum):
    """How a read ended."""

    MORE = enum.auto()
    """There may be more at once."""
    EMPTY = enum.auto()
    """The PTY has nothing now."""
    FULL = enum.auto()
    """The owner has to take something first, or to begin the next segment."""
    OVER = enum.auto()
    """End of file, or the last process closed the PTY."""
    FAILED = enum.auto()
    """The disk gave no room, or the descriptor is none: the owner finds out by its own read."""
    CLOSED = enum.auto()


@dataclass(frozen=True, slots=True)
class Window:
    """Mapped pages of the segment; bytes from `begin` on are read into these."""

    begin: int
    start: int
    """The offset of its first byte."""
    view: memoryview

    @property
    def end(self) -> int:
        return self.start + len(self.view)


class Intake:
    """Bytes between the journal's end and what the PTY has given."""

    def __init__(self, segment: Segment, fd: int, window: Window, *, until: int) -> None:
        self.taken = window.begin
        """The journal's end, as the owner moves it."""

        self.end = window.begin
        """Everything below was read."""

        self.limit_bytes = AHEAD_BYTES
        """How far reading may run ahead; the owner lowers it when it is slow itself."""

        self.last = ReadEnd.MORE
        """How the last read ended."""

        self._segment = segment
        self._source = Source(fd)
        self._address = address_of(window.view)
        """Of the first byte of the window that is read into."""

        self._windows = deque([window])
        self._spare: Window | None = None
        self._until = until
        self._closed = False
        self._lock = Lock()

    # --- the reading thread ---------------------------------------------------

    def read(self) -> ReadEnd:
        """Take what the PTY has, as far as there is room. Never waits, never raises."""
        with self._lock:
            if self._closed:
                return ReadEnd.CLOSED
            if self.end - self.taken >= self.limit_bytes or self.end >= self._until:
                self.last = ReadEnd.FULL
            else:
                try:
                    self.last = self._read()
                except Exception:  # noqa: BLE001 - the owner goes on by itself, and tells
                    self.last = ReadEnd.FAILED
            return self.last

    def _read(self) -> ReadEnd:
        window = self._windows[-1]
        if window.end - self.end < READ_BYTES:
            window = self._next_window()
        at = self.end - window.start
        count, error = self._source.read(self._address + at, min(STEP_BYTES, len(window.view) - at))
        if count:
            self._read_through(window.start + at + count, window.view, at + count)
        match error:
            case None:
                return ReadEnd.MORE
            case errno.EAGAIN:
                self._make_spare()
                return ReadEnd.EMPTY
            case 0 | errno.EIO:  # EIO is how a PTY says that no process has it open
                return ReadEnd.OVER
            case _:
                return ReadEnd.FAILED

    def _read_through(self, end: int, view: memoryview, at: int) -> None:
        before, self.end = self.end, end
        if end > before and not view[at - 1]:
            # NULs do not tell where they end; see `segment`.
            with suppress(OSError):  # the next write to the disk will tell
                self._segment.commit(end)

    def _next_window(self) -> Window:
        spare, self._spare = self._spare, None
        window = spare if spare is not None and self._fits(spare) else self._map_at(self.end)
        window = Window(self.end, window.start, window.view)
        self._segment.commit(self.end)
        self._address = address_of(window.view)
        self._windows.append(window)
        return window

    def _fits(self, spare: Window) -> bool:
        return spare.start <= self.end and spare.end - self.end >= READ_BYTES

    def _make_spare(self) -> None:
        """While the PTY has nothing there is time to have the next pages ready."""
        window = self._windows[-1]
        if self._spare is None and window.end - self.end < WINDOW_BYTES // 2:
            # Where the next read may begin at the earliest: mapping writes zeros from there on.
            self._spare = self._map_at(max(self.end, window.end - READ_BYTES + 1))

    def _map_at(self, end: int) -> Window:
        self._segment.reserve(end + WINDOW_BYTES)
        start, view = self._segment.window(end, WINDOW_BYTES)
        return Window(end, start, view)

    # --- the owner ------------------------------------------------------------

    @property
    def has_space(self) -> bool:
        """Reading may go on where it stopped for want of room; not for every few bytes anew."""
        return self.end - self.taken < self.limit_bytes // 2 and self.end < self._until

    def counted_end(self) -> int:
        """As `end`, with the read counted that is under way."""
        with self._lock:
            return self.end

    def take(self, limit: int) -> memoryview:
        """The next bytes, at most so many; none when everything was taken."""
        end = self.end  # before the windows: those below it are there then
        windows = self._windows
        while len(windows) > 1 and windows[1].begin <= self.taken:
            windows.popleft()
        window = windows[0]
        if len(windows) > 1:
            end = min(end, windows[1].begin)
        first = self.taken - window.start
        self.taken = min(end, self.taken + limit)
        return window.view[first : self.taken - window.start].toreadonly()

    def close(self) -> None:
        """No read begins after this, and none is under way."""
        with self._lock:
            self._closed = True
            self._source.close()

    def window(self) -> Window:
        """Where the owner's own reads go on, once everything was taken."""
        return self._windows[-1]
