"""The lane: one thread that reads the PTYs of flooding programs, and the loop's share of it.

The thread reads, and does nothing else; the loop takes what was read, in turns of
bounded time for all floods together, so that a hundred of them delay a key no more
than one does.

*Hush*: when a person types, the lane stops for a moment on both sides. The floods'
programs then wait in the kernel, and on a machine with few cores the program that
was typed at gets one at once, and its echo the loop.
"""

import logging
import os
import select
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Event, Lock, Thread
from time import monotonic
from typing import Protocol

from duetty.journal import Intake, ReadEnd
from duetty.session.pump import LoopCall, later

log = logging.getLogger("duetty.session")


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the loop is busy with floods at a stretch."""

    turn_s: float
    """With all of them together."""

    slice_s: float
    """With one."""


FULL = Pace(turn_s=0.001, slice_s=0.0005)
WHILE_TYPING = Pace(turn_s=0.0002, slice_s=0.00015)
"""A key waits for the stretch that it arrives in. Not always: coloured text came at 40 MB/s so, at 48 in full turns."""

TYPING_S = 1.0
"""A person who typed this recently may type again."""

ROUNDS = 3
"""Turns of the loop between two with floods: what a key needs until its program has it."""

HUSH_S = 0.006
"""Three times what an echo, or a short command, takes when nothing else runs."""

HUSH_SHARE = 0.7
"""Of a while, what may be hushed: typing without a pause slows floods, and stops none."""

SAVED_HUSH_S = 0.06
"""What may be saved for a burst of keys."""

RING_BYTES = 128 << 10
RING_S = 0.005
"""The loop is woken for so much, or after so long: each time costs it as much as 10 KB of output."""

LULL_S = 0.001
"""A PTY that gave nothing for so long has nothing on its way: the loop is woken for what there is."""

QUIET_S = 0.1
"""A flood that paused for so long has ended."""

FAILED_S = 0.1
"""Before the thread tries again what has just failed."""

EVENTS = 16

SWITCH_S = 0.0005
"""How long a thread of this process may keep the interpreter to itself while the lane runs.

Its reads are short; with the usual 5 ms a PTY is full long before the next.
"""


class Taker(Protocol):
    """Takes in the loop what the lane has read."""

    def take(self, slice_s: float) -> bool:
        """Take a slice of about so long; False when there is no more for now."""
        ...

    def settle(self) -> None:
        """Leave the lane with everything that was read."""
        ...

    def fail(self, error: Exception) -> None:
        """Leave the lane because of this, and say so."""
        ...


@dataclass(slots=True, kw_only=True, eq=False)
class _Member:
    fd: int
    taker: Taker
    intake: Intake
    read_s: float
    """When it last printed."""
    announced: int
    """The loop was woken for everything below this offset."""
    announced_s: float
    is_parked: bool = False
    """Not read: the loop has to take something first."""
    is_quiet: bool = False


class Lane:
    """One for a server; the thread starts with the first flood."""

    def __init__(self) -> None:
        self._members: dict[int, _Member] = {}
        """Replaced by the loop, never changed: the thread reads it without a lock."""

        self._queue: deque[_Member] = deque()
        self._call: LoopCall | None = None
        self._epoll: select.epoll | None = None
        self._thread: Thread | None = None
        self._closing = Event()
        self._leaving = Lock()
        self._switch_s = 0.0
        self._wake_fd = -1
        self._rung = False
        self._has_next = False
        """The loop comes back by itself."""
        self._hush_until_s = 0.0
        self._hush_left_s = SAVED_HUSH_S
        self._typed_s = -TYPING_S
        self._pace = FULL

    # --- the loop -------------------------------------------------------------

    def enter(self, taker: Taker, fd: int, intake: Intake) -> None:
        """Read this descriptor into its intake from now on."""
        if self._thread is None:
            self._start()
        now = monotonic()
        member = _Member(
            fd=fd, taker=taker, intake=intake, read_s=now, announced=intake.end, announced_s=now
        )
        self._members = {**self._members, fd: member}
        self._queue.append(member)
        self._register(fd)
        os.eventfd_write(
            self._wake_fd, 1
        )  # it may have stopped printing, and no output would wake the lane

    def leave(self, fd: int) -> None:
        """Look at this descriptor no more. A read may be under way until its intake is closed."""
        member = self._members.get(fd)
        if member is None:
            return
        with self._leaving:
            self._members = {key: each for key, each in self._members.items() if key != fd}
            self._unregister(fd)
        self._queue.remove(member)

    def hush(self) -> None:
        """A person typed: nothing of a flood for a moment, unless there were too many such moments."""
        if not self._queue:
            return
        now = monotonic()
        earned_s = (now - self._typed_s) * HUSH_SHARE
        left_s = min(self._hush_left_s + earned_s, SAVED_HUSH_S)
        self._typed_s = now
        # Of a hush that still lasts, only what is added.
        wanted_s = now + HUSH_S - max(now, self._hush_until_s)
        if left_s >= wanted_s:
            self._hush_until_s = now + HUSH_S
            left_s -= wanted_s
        self._hush_left_s = left_s

    def close(self) -> None:
        """End the thread; every member has left."""
        if self._thread is None or self._epoll is None:
            return
        self._closing.set()
        os.eventfd_write(self._wake_fd, 1)
        self._thread.join()
        self._thread = None
        sys.setswitchinterval(self._switch_s)
        self._epoll.close()
        os.close(self._wake_fd)

    def _start(self) -> None:
        self._call = LoopCall(self._rang)
        self._epoll = select.epoll()
        self._wake_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._epoll.register(self._wake_fd, select.EPOLLIN)
        self._switch_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        self._thread = Thread(target=self._run, name="lane", daemon=True)
        self._thread.start()

    def _rang(self) -> None:
        self._rung = False
        if not self._has_next:  # else there would be two, one in the pauses of the other
            self._turn()

    def _turn(self) -> None:
        """Take slices from each in turn, until all was taken or the time is up."""
        self._has_next = False
        now = monotonic()
        if now < self._hush_until_s:
            self._has_next = True
            later(self._hush_until_s - now, self._turn)
            return
        self._pace = WHILE_TYPING if now - self._typed_s < TYPING_S else FULL
        until_s = now + self._pace.turn_s
        dry = 0
        while dry < len(self._queue):
            member, queued = self._queue[0], len(self._queue)
            self._queue.rotate(-1)
            took = self._serve_safely(member)
            # One that has left counts for none of those that are still to be served.
            dry = 0 if took or len(self._queue) != queued else dry + 1
            if monotonic() > until_s:
                self._give_way(ROUNDS)
                return

    def _give_way(self, rounds: int) -> None:
        """Let the loop do what else there is, before the next turn."""
        self._has_next = True
        later(0, self._turn if rounds == 0 else partial(self._give_way, rounds - 1))

    def _serve_safely(self, member: _Member) -> bool:
        """As `_serve`; one that fails leaves the lane, and the others never notice."""
        try:
            return self._serve(member)
        except Exception as error:  # noqa: BLE001 - its session tells
            try:
                member.taker.fail(error)
            except Exception:
                log.exception("lane_failed")
                self.leave(member.fd)
        return False

    def _serve(self, member: _Member) -> bool:
        took = member.taker.take(self._pace.slice_s)
        if self._members.get(member.fd) is not member:
            return took
        if not took and member.is_quiet:
            member.taker.settle()
        elif member.is_parked and member.intake.has_space:
            member.is_parked = False
            self._register(member.fd)
        return took

    def _register(self, fd: int) -> None:
        if self._epoll is not None:
            self._epoll.register(fd, select.EPOLLIN)

    def _unregister(self, fd: int) -> None:
        if self._epoll is not None:
            with suppress(FileNotFoundError):  # it is parked, and was not looked at
                self._epoll.unregister(fd)

    # --- the thread -----------------------------------------------------------

    def _run(self) -> None:
        epoll = self._epoll
        assert epoll is not None
        while not self._closing.is_set():
            try:
                self._look(epoll)
            except Exception:
                # Whatever it was: the thread that reads for all sessions goes on.
                log.exception("lane_failed")
                self._closing.wait(FAILED_S)

    def _look(self, epoll: select.epoll) -> None:
        """Wait for output, read it, tell the loop."""
        events = epoll.poll(self._patience_s(), EVENTS)
        while (rest_s := self._hush_until_s - monotonic()) > 0 and not self._closing.is_set():
            self._closing.wait(rest_s)
        members = self._members
        now = monotonic()
        for fd, _ in events:
            member = members.get(fd)
            if member is not None:
                self._read(member, now)
            elif fd == self._wake_fd and not self._closing.is_set():
                os.eventfd_read(fd)
        for member in members.values():
            self._tell(member, now)

    def _patience_s(self) -> float | None:
        members = self._members.values()
        if not members:
            return None
        return LULL_S if any(each.announced < each.intake.end for each in members) else QUIET_S

    def _read(self, member: _Member, now: float) -> None:
        intake = member.intake
        before = intake.end
        outcome = intake.read()
        if intake.end > before:
            member.read_s = now
            member.is_quiet = False
            if before == member.announced:
                member.announced_s = now
        if outcome in (ReadEnd.FULL, ReadEnd.OVER, ReadEnd.FAILED):
            with self._leaving:
                # A member that has left may have closed its descriptor, and another have its number.
                if self._members.get(member.fd) is not member:
                    return
                self._unregister(member.fd)
            member.is_parked = True  # after it: the loop registers what is parked
            self._ring()

    def _tell(self, member: _Member, now: float) -> None:
        unannounced = member.intake.end - member.announced
        if unannounced:
            if (
                unannounced >= RING_BYTES
                or now - member.announced_s >= RING_S
                or now - member.read_s >= LULL_S
            ):
                member.announced = member.intake.end
                self._ring()
        elif now - member.read_s >= QUIET_S:
            member.is_quiet = True
            self._ring()  # until the loop has let it go

    def _ring(self) -> None:
        if not self._rung and self._call is not None:
            self._rung = True
            self._call.soon()
