"""The numbered log of one session, and bounded subscriptions to it.

The log keeps no past: a follower takes a snapshot of the session (which names
the seq it was taken at) and then every entry after it. A follower that is too
slow is told so with `Lagged`, and is never waited for.
"""

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager

import anyio
import anyio.lowlevel

from duetty.clock import Clock
from duetty.events.types import Entry, Event, Lagged, Output
from duetty.ids import Seq

SUBSCRIBER_ENTRIES = 256
"""Room per subscriber. One that falls this far behind is told so, not waited for."""

SUBSCRIBER_BYTES = 4 * 1024 * 1024
"""Room per subscriber in output bytes: 256 entries of a flood would be 16 MiB."""


class Subscription:
    """One follower's bounded queue."""

    __slots__ = ("_arrived", "_bytes", "_closed", "_missed_through", "_queue", "wants_output")

    def __init__(self, *, wants_output: bool) -> None:
        self.wants_output = wants_output
        self._queue: deque[Entry] = deque()
        self._bytes = 0
        self._missed_through: Seq | None = None
        self._arrived = anyio.Event()
        self._closed = False

    def offer(self, entry: Entry) -> None:
        """Queue the entry, or note that it was missed; never waits."""
        size = len(entry.event.data) if isinstance(entry.event, Output) else 0
        if (
            self._missed_through is not None
            or len(self._queue) >= SUBSCRIBER_ENTRIES
            or self._bytes + size > SUBSCRIBER_BYTES
        ):
            self._missed_through = entry.seq
        else:
            self._queue.append(entry)
            self._bytes += size
        self._arrived.set()

    def clear(self) -> None:
        """Forget what is queued or missed: a snapshot has all of it."""
        self._queue.clear()
        self._bytes = 0
        self._missed_through = None

    def close(self) -> None:
        self._closed = True
        self._arrived.set()

    async def receive(self) -> Entry | Lagged:
        """The next entry.

        Raises:
            anyio.EndOfStream: when the session is gone and everything was received.
        """
        while True:
            if self._queue:
                entry = self._queue.popleft()
                if isinstance(entry.event, Output):
                    self._bytes -= len(entry.event.data)
                return entry
            if self._missed_through is not None:
                missed, self._missed_through = self._missed_through, None
                return Lagged(missed_through=missed)
            if self._closed:
                raise anyio.EndOfStream
            self._arrived = anyio.Event()
            await self._arrived.wait()
            # As in `Pulse`: a flood must not keep a deadline away from us.
            await anyio.lowlevel.checkpoint_if_cancelled()


class EventLog:
    """Numbers what happens in one session and hands it to whoever follows."""

    __slots__ = ("_clock", "_seq", "_subscriptions", "wants_output")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seq = Seq(0)
        self._subscriptions: set[Subscription] = set()
        self.wants_output = False
        """Whether anybody follows output: the pump copies bytes only then."""

    @property
    def seq(self) -> Seq:
        """The seq of the last entry; a snapshot taken now is a snapshot at this seq."""
        return self._seq

    @property
    def followers(self) -> int:
        return len(self._subscriptions)

    def append(self, event: Event) -> Seq:
        self._seq = Seq(self._seq + 1)
        if self._subscriptions:
            entry = Entry(seq=self._seq, at_ns=self._clock.wall_ns(), event=event)
            is_output = isinstance(event, Output)
            for subscription in self._subscriptions:
                if subscription.wants_output or not is_output:
                    subscription.offer(entry)
        return self._seq

    @contextmanager
    def subscribe(self, *, wants_output: bool = True) -> Generator[Subscription]:
        subscription = Subscription(wants_output=wants_output)
        self._subscriptions.add(subscription)
        self._recount()
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)
            self._recount()

    def close(self) -> None:
        """End every subscription: the session is gone."""
        for subscription in self._subscriptions:
            subscription.close()

    def _recount(self) -> None:
        self.wants_output = any(each.wants_output for each in self._subscriptions)
