"""What the log of one session and that of all sessions have in common: numbers and subscribers."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from duetty.clock import Clock
from duetty.events.queue import Subscription
from duetty.ids import Seq


class NumberedEvent(Protocol):
    @property
    def seq(self) -> Seq: ...
    @property
    def event(self) -> object: ...


E = TypeVar("E", bound=NumberedEvent)


class NumberedLog(Generic[E]):
    """Numbers what happens and hands it to every subscriber."""

    __slots__ = ("_clock", "_seq", "_subscriptions")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seq = Seq(0)
        self._subscriptions: set[Subscription[E]] = set()

    @property
    def seq(self) -> Seq:
        """The seq of the last entry; a snapshot taken now is a snapshot at this seq."""
        return self._seq

    def _next(self) -> Seq:
        self._seq = Seq(self._seq + 1)
        return self._seq

    def _offer(self, entry: E) -> None:
        kind = type(entry.event)
        for subscription in self._subscriptions:
            if subscription.skips is not kind:
                subscription.offer(entry)

    @contextmanager
    def subscribe(self) -> Generator[Subscription[E]]:
        subscription = Subscription[E]()
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    def close(self) -> None:
        """End every subscription: the session, or the server, is gone."""
        for subscription in self._subscriptions:
            subscription.close()
