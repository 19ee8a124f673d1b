"""Reading one PTY: in the loop, and in the lane while the program floods.

A PTY holds some 12 KB. Whatever its reader does between two reads, the program
waits for, and what it prints meanwhile is no more than that. So a program that
floods is read by a thread of its own, the lane, which does nothing else, straight
into the journal's pages and a bounded way ahead; the loop takes from there what it
has time for. A program that prints now and then never meets the lane.

Whatever the loop does, bytes are taken in their order, and every end (of the flood,
of the process, of the segment) is acted upon when the last byte before it was taken.
"""

from collections.abc import Callable
from time import monotonic

from duetty.journal import AHEAD_BYTES, Intake, Journal, ReadEnd
from duetty.session.lane import Lane
from duetty.session.pump import READ_BUDGET_BYTES, Watch, later

HANGUP_LOOK_S = 0.2
"""Between two looks at a PTY that no process has open on the other side, while the process lives."""

FINAL_READS = 64
"""Bound on draining a PTY after its process is gone: background processes may go on printing."""

FLOOD_BYTES = 96 << 10
"""So much more than what a calm program prints is a flood: more than a screen full of anything."""

CALM_BYTES_S = 1 << 20
"""What may be printed for any length of time without being a flood: a command every millisecond."""

SLICES_AHEAD = 16
LEAST_AHEAD_BYTES = 64 << 10
"""Reading runs ahead by so many slices: what takes the terminal long is not piled up before it."""

LEAST_SLICE_BYTES = 1 << 10
MOST_SLICE_BYTES = 128 << 10
"""By how long the terminal takes for it: for plain text a fiftieth of what it takes for short lines."""


class Reading:
    """Of one PTY master, from attaching to detaching."""

    def __init__(
        self,
        fd: int,
        journal: Journal,
        *,
        lane: Lane | None,
        took: Callable[[memoryview, int], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._fd = fd
        self._journal = journal
        self._lane = lane
        self._took = took
        self._failed = failed
        self._intake: Intake | None = None
        self._slice_bytes = LEAST_SLICE_BYTES
        self._flood_bytes = 0
        self._read_s = 0.0
        self._watch: Watch | None = Watch(fd, self._on_readable)

    # --- in the loop ----------------------------------------------------------

    def _on_readable(self) -> None:
        try:
            taken, ended = self._fill()
        except Exception as error:  # noqa: BLE001 - logged, and tried again: reading never just stops
            self._failed(error)
            taken, ended = 0, True
        if ended:
            self._pause()
        elif self._lane is not None and self._floods(taken):
            self._enter(self._lane)

    def _fill(self) -> tuple[int, bool]:
        start = self._journal.end
        filled = self._journal.fill(self._fd, READ_BUDGET_BYTES)
        if filled.view:
            self._took(filled.view, start)
        return len(filled.view), filled.ended

    def _floods(self, taken: int) -> bool:
        now = monotonic()
        drained = int((now - self._read_s) * CALM_BYTES_S)
        self._flood_bytes = max(self._flood_bytes - drained, 0) + taken
        self._read_s = now
        return self._flood_bytes >= FLOOD_BYTES

    def _pause(self) -> None:
        """No process has the other side open: look again later, not in a loop."""
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
            later(HANGUP_LOOK_S, self._resume)

    def _resume(self) -> None:
        if self._fd >= 0 and self._watch is None and self._intake is None:
            self._watch = Watch(self._fd, self._on_readable)

    # --- in the lane ----------------------------------------------------------

    def _enter(self, lane: Lane) -> None:
        intake = self._journal.open_intake(self._fd)
        if intake is None or self._watch is None:
            return
        self._watch.stop()
        self._watch = None
        self._intake = intake
        lane.enter(self, self._fd, intake)

    def take(self, slice_s: float) -> bool:
        """Take a slice of what the lane has read, of about so long; False when there is no more for now."""
        intake = self._intake
        if intake is None:
            return False
        start, begun_s = self._journal.end, monotonic()
        last = intake.last  # before the bytes: it speaks of those
        view = self._journal.take(self._slice_bytes)
        if view:
            self._took(view, start)
            self._fit_slice(len(view), took_s=monotonic() - begun_s, slice_s=slice_s)
            return True
        if last in (ReadEnd.OVER, ReadEnd.FAILED):
            self.settle()
            if last is ReadEnd.OVER:
                self._pause()
        return False

    def _fit_slice(self, taken: int, *, took_s: float, slice_s: float) -> None:
        if took_s > slice_s:
            self._slice_bytes = max(self._slice_bytes // 2, LEAST_SLICE_BYTES)
        elif taken == self._slice_bytes:
            self._slice_bytes = min(self._slice_bytes * 2, MOST_SLICE_BYTES)
        if self._intake is not None:
            ahead = max(SLICES_AHEAD * self._slice_bytes, LEAST_AHEAD_BYTES)
            self._intake.limit_bytes = min(ahead, AHEAD_BYTES)

    def settle(self) -> None:
        """Take the PTY back from the lane, and everything that was read ahead."""
        intake = self._intake
        if intake is None:
            return
        if self._lane is not None:
            self._lane.leave(self._fd)
        intake.close()
        self._intake = None
        journal = self._journal
        try:
            self._take_rest()
        except Exception as error:  # noqa: BLE001 - logged; what was read stays on record
            self._failed(error)
            while journal.take(MOST_SLICE_BYTES):
                pass
        journal.close_intake()
        if self._fd >= 0:
            self._resume()
        self._flood_bytes, self._read_s = FLOOD_BYTES, monotonic()

    def _take_rest(self) -> None:
        journal = self._journal
        start = journal.end
        while view := journal.take(MOST_SLICE_BYTES):
            if not journal.ahead_bytes:
                journal.close_intake()  # with the last bytes the journal may want to turn over
            self._took(view, start)
            start = journal.end

    def fail(self, error: Exception) -> None:
        """The lane cannot go on with this one: tell, and read in the loop again."""
        self._failed(error)
        self.settle()

    # --- the end --------------------------------------------------------------

    def drain(self) -> None:
        """Take what is left after the process is gone."""
        self.settle()
        for _ in range(FINAL_READS):
            if self._fd < 0 or not self._fill()[0]:
                break

    def close(self) -> None:
        """Read no more; what was read is taken."""
        self.settle()
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
        self._fd = -1
