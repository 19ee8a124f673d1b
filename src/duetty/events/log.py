"""The numbered log of one session, and bounded subscriptions to it.

The log keeps no past and no output: a follower takes a snapshot of the session,
reads the bytes after it from the journal, and gets every entry after it from
here. One that is too slow gets `Lagged`, and is never waited for.
"""

from collections.abc import Callable

from duetty.clock import Clock
from duetty.events.numbered_log import NumberedLog
from duetty.events.types import Entry, Event
from duetty.ids import Seq


class EventLog(NumberedLog[Entry]):
    """Numbers what happens in one session and hands it to every subscriber."""

    __slots__ = ("_tap",)

    def __init__(self, clock: Clock, *, tap: Callable[[Event], None] | None = None) -> None:
        """`tap` sees each event at once; for the registry, which tells of all sessions."""
        super().__init__(clock)
        self._tap = tap

    @property
    def followers(self) -> int:
        return len(self._subscriptions)

    def is_wanted(self, kind: type[Event]) -> bool:
        """Whether any subscriber gets events of this kind."""
        return any(each.skips is not kind for each in self._subscriptions)

    def append(self, event: Event) -> Seq:
        seq = self._next()
        if self._subscriptions:
            self._offer(Entry(seq=seq, at_ns=self._clock.wall_ns(), event=event))
        if self._tap is not None:
            self._tap(event)
        return seq

    def pass_on(self) -> None:
        """Before `printed`, and before the output is taken in: only where it can be nothing but text."""
        for subscription in self._subscriptions:
            subscription.pass_on()

    def printed(self) -> None:
        """The journal has more bytes: wakes its readers; no entry, no copy."""
        for subscription in self._subscriptions:
            subscription.printed()
