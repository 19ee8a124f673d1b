"""A subscriber's bounded queue: when it is full, `Lagged` names the entries that were left out."""

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import anyio
import anyio.lowlevel

from duetty.events.types import Lagged
from duetty.ids import Seq

SUBSCRIBER_ENTRIES = 256
"""Room per subscriber. One that falls this far behind gets `Lagged`."""


class Numbered(Protocol):
    @property
    def seq(self) -> Seq: ...


T = TypeVar("T", bound=Numbered)


class Subscription(Generic[T]):
    """One follower's queue; between a check and `wait` there must be no await."""

    __slots__ = (
        "_arrived",
        "_closed",
        "_has_passed_on",
        "_missed_through",
        "_on_output",
        "_queue",
        "skips",
        "wants_output",
    )

    def __init__(self) -> None:
        self.wants_output = True
        """Whether output wakes it; one that cannot take more has no use for that."""

        self._on_output: Callable[[], bool] | None = None
        self.skips: type[object] | None = None
        """Events that are not for this follower, and do not wake it."""

        self._queue: deque[T] = deque()
        self._missed_through: Seq | None = None
        self._arrived = anyio.Event()
        self._has_passed_on = False
        """The output of this turn is taken, and was before anybody else had it."""
        self._closed = False

    def tell_output(self, tell: Callable[[], bool] | None) -> None:
        """Call this with each output at once; only if it returns False, the waiter is woken. Never raises."""
        self._on_output = tell

    @property
    def is_closed(self) -> bool:
        """Nothing more will come; what is queued can still be taken."""
        return self._closed

    def offer(self, entry: T) -> None:
        """Queue the entry, or note that it was missed; never waits."""
        if self._missed_through is not None or len(self._queue) >= SUBSCRIBER_ENTRIES:
            self._missed_through = entry.seq
        else:
            self._queue.append(entry)
        self._arrived.set()

    def pass_on(self) -> None:
        """There is unread output on record, for a reader that only passes it on."""
        if self.wants_output and self._on_output is not None and not self._arrived.is_set():
            self._has_passed_on = self._on_output()

    def printed(self) -> None:
        """There is output: it is taken at once, or the waiter looks again.

        After what has arrived already, never before it.
        """
        if self._has_passed_on:
            self._has_passed_on = False
        elif self.wants_output and not self._arrived.is_set():
            if self._on_output is not None and self._on_output():
                return
            self._arrived.set()

    def wake(self) -> None:
        """Something happened that is no entry: the waiter looks again."""
        self._arrived.set()

    def clear(self) -> None:
        """Forget what is queued or missed: a snapshot has all of it."""
        self._queue.clear()
        self._missed_through = None

    def close(self) -> None:
        self._closed = True
        self._arrived.set()

    def take(self) -> T | Lagged | None:
        """The next entry, if one is there."""
        if self._queue:
            return self._queue.popleft()
        if self._missed_through is not None:
            missed, self._missed_through = self._missed_through, None
            return Lagged(missed_through=missed)
        return None

    async def wait(self) -> None:
        """Until something was offered, woken or closed since the last wait."""
        if not self._arrived.is_set():
            await self._arrived.wait()
            # As in `Pulse`: a flood must not keep a deadline away from us.
            await anyio.lowlevel.checkpoint_if_cancelled()
        self._arrived = anyio.Event()

    async def receive(self) -> T | Lagged:
        """The next entry.

        Raises:
            anyio.EndOfStream: when the source is gone and everything was received.
        """
        while (entry := self.take()) is None:
            if self._closed:
                raise anyio.EndOfStream
            await self.wait()
        return entry
