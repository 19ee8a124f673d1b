"""The numbered log of one session, and bounded subscriptions to it.

The log keeps no past and no output: a follower takes a snapshot of the session,
reads the bytes after it from the journal, and gets every entry after it from
here. One that is too slow gets `Lagged`, and is never waited for.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from duetty.clock import Clock
from duetty.events.queue import Subscription
from duetty.events.types import Entry, Event
from duetty.ids import Seq


class EventLog:
    """Numbers what happens in one session and hands it to every subscriber."""

    __slots__ = ("_clock", "_seq", "_subscriptions", "_tap")

    def __init__(self, clock: Clock, *, tap: Callable[[Event], None] | None = None) -> None:
        self._clock = clock
        self._seq = Seq(0)
        self._subscriptions: set[Subscription[Entry]] = set()
        self._tap = tap
        """Sees each event at once; for the registry, which tells of all sessions."""

    @property
    def seq(self) -> Seq:
        """The seq of the last entry; a snapshot taken now is a snapshot at this seq."""
        return self._seq

    @property
    def followers(self) -> int:
        return len(self._subscriptions)

    def is_wanted(self, kind: type[Event]) -> bool:
        """Whether any subscriber gets events of this kind."""
        return any(each.skips is not kind for each in self._subscriptions)

    def append(self, event: Event) -> Seq:
        self._seq = Seq(self._seq + 1)
        if self._subscriptions:
            entry = Entry(seq=self._seq, at_ns=self._clock.wall_ns(), event=event)
            kind = type(event)
            for subscription in self._subscriptions:
                if subscription.skips is not kind:
                    subscription.offer(entry)
        if self._tap is not None:
            self._tap(event)
        return self._seq

    def pass_on(self) -> None:
        """Before `printed`, and before the output is taken in: only where it can be nothing but text."""
        for subscription in self._subscriptions:
            subscription.pass_on()

    def printed(self) -> None:
        """The journal has more bytes: wakes its readers; no entry, no copy."""
        for subscription in self._subscriptions:
            subscription.printed()

    @contextmanager
    def subscribe(self) -> Generator[Subscription[Entry]]:
        subscription = Subscription[Entry]()
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def close(self) -> None:
        """End every subscription: the session is gone."""
        for subscription in self._subscriptions:
            subscription.close()
