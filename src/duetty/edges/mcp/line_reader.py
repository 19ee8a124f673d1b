"""Lines of one connection of the unix socket, as fast as its share allows.

All hosts of this machine come with the same credential and share what it may have of the loop. Which of
them is greedy is known by what its own connection used: that one is closed in the end, with the reason.
"""

import select
from collections.abc import Callable
from time import monotonic

import anyio
import anyio.lowlevel
from anyio.abc import ByteStream, SocketAttribute

from duetty.calls import Actor
from duetty.edges.mcp.sdk import MAX_MESSAGE_BYTES
from duetty.ops import GREEDY_S, LOOP_AT_ONCE_S, LOOP_SHARE, Allowance, Bounds

PART_BYTES = 64 * 1024
TURN_LINES = 32
"""Taken in a row before everybody else has a turn."""

LONGEST_SLEEP_S = 1.0

MAX_UNANSWERED = 32
"""Requests of one connection. With more it is heard slowly, until it has read some of its answers."""

SLOWLY_S, LOOK_S = 0.1, 0.01
"""Between two lines then, and between two looks at that."""

TOO_LONG = f"a message has at most {MAX_MESSAGE_BYTES} bytes"
TOO_GREEDY = "this connection used more than its share of the server's time"


class LineRefused(Exception):
    """Nothing more is read of this connection, for the reason that it is made with."""


class LineReader:
    def __init__(
        self, stream: ByteStream, actor: Actor, bounds: Bounds, *, gone: Callable[[], None]
    ) -> None:
        self._stream = stream
        self._actor = actor
        self._bounds = bounds
        self._fairness = bounds.fairness
        self._own = Allowance(LOOP_SHARE, LOOP_AT_ONCE_S, monotonic())
        self._kept = bytearray()
        self._searched = 0
        self._taken = 0
        self._waits_since_s: float | None = None
        self._give_back: Callable[[], None] = lambda: None
        self.gone = gone
        """Ends the connection at once."""

        self.unanswered: set[object] = set()
        """Requests on their way."""

    def ran(self, seconds: float) -> None:
        """What a call of this connection took of the loop."""
        self._fairness.ran(self._actor.identity, seconds)
        self._own.spend(seconds, monotonic())

    async def next(self) -> bytes:
        """The next line, without its end.

        Raises:
            LineRefused: if it is too long, or the connection too greedy.
            Exhausted: if what arrives is more than the share of its credential.
        """
        await self._wait_for_turn()
        await self._wait_for_answers()
        self._taken += 1
        if self._taken % TURN_LINES == 0:
            await anyio.lowlevel.checkpoint()
        while (end := self._kept.find(b"\n", self._searched)) < 0:
            self._searched = len(self._kept)
            if self._searched > MAX_MESSAGE_BYTES:
                raise LineRefused(TOO_LONG)
            self._kept += await self._stream.receive(PART_BYTES)
            self._hold(len(self._kept))
        line = bytes(self._kept[:end])
        del self._kept[: end + 1]
        self._searched = 0
        self._hold(len(self._kept) if len(self._kept) > PART_BYTES else 0)
        self._fairness.heard(self._actor.identity)
        return line

    def close(self) -> None:
        self._hold(0)

    def _hold(self, size: int) -> None:
        self._give_back()
        self._give_back = lambda: None
        if size > PART_BYTES:
            self._give_back = self._bounds["uploads"].take(self._actor, amount=size)

    async def _wait_for_answers(self) -> None:
        """Each may be large, and is held until it is read. Some wait for long: one more line is heard then."""
        if len(self.unanswered) <= MAX_UNANSWERED:
            return
        with anyio.move_on_after(SLOWLY_S):
            while len(self.unanswered) > MAX_UNANSWERED:
                has_left = self._has_left()
                # What is being written fails by itself: cancelled in that moment, the loop would log an error.
                await anyio.sleep(LOOK_S)
                if has_left:
                    self.gone()

    def _has_left(self) -> bool:
        """Whether it closed its end; nothing else tells who does not read."""
        raw = self._stream.extra(SocketAttribute.raw_socket, None)  # noqa: S610 - no Django here
        if raw is None:
            return False
        looking = select.poll()
        looking.register(raw.fileno(), select.POLLHUP)
        return any(events & select.POLLHUP for _, events in looking.poll(0))

    async def _wait_for_turn(self) -> None:
        owner = self._actor.identity
        if (
            self._own.amount >= 0
            or not self._own.owed_s(monotonic())
            or not self._fairness.owed_time_s(owner)
        ):
            self._waits_since_s = None
        elif self._waits_since_s is None:
            self._waits_since_s = anyio.current_time()
        while (owed_s := self._fairness.owed_time_s(owner)) > 0:
            since_s = self._waits_since_s
            if since_s is not None and anyio.current_time() - since_s > GREEDY_S:
                raise LineRefused(TOO_GREEDY)
            await anyio.sleep(min(owed_s, LONGEST_SLEEP_S))
