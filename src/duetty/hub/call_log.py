"""One line in the log for each call that is routed, at the hub and at the machine; one `command_id` finds both.

A line has who asked, what for, where, how it ended and how long it took: never an argument, an answer or
a credential. Calls that only read are written at `debug` unless they fail: lists and screens are asked
for all the time.
"""

import logging
from types import TracebackType

from duetty.clock import Clock
from duetty.errors import DuettyError

log = logging.getLogger("duetty.hub")


def logged(event: str, clock: Clock, *, reads: bool, **fields: object) -> "_Logged":
    """A call under way; what is put into the fields that it gives is written too."""
    return _Logged(event, clock, fields, reads=reads)


class _Logged:
    """A class, since a generator for each of thousands of calls a second is felt."""

    __slots__ = ("_began_s", "_clock", "_event", "_fields", "_reads")

    def __init__(self, event: str, clock: Clock, fields: dict[str, object], *, reads: bool) -> None:
        self._event = event
        self._clock = clock
        self._reads = reads
        self._fields = fields
        self._began_s = clock.monotonic_s()

    def __enter__(self) -> dict[str, object]:
        return self._fields

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        outcome = "done" if kind is None else "cancelled"
        if isinstance(error, DuettyError):
            outcome = error.code
        level = logging.DEBUG if self._reads and outcome == "done" else logging.INFO
        if log.isEnabledFor(level):
            took_ms = round((self._clock.monotonic_s() - self._began_s) * 1000, 1)
            fields = {"outcome": outcome, "took_ms": took_ms, **self._fields}
            log.log(level, self._event, extra=fields)
