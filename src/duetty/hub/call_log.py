"""One line in the log for each call that is routed, at the hub and at the machine; one `command_id` finds both.

A line has who asked, what for, where, how it ended and how long it took: never an argument, an answer or
a credential. Calls that only read are written at `debug` unless they fail: lists and screens are asked
for all the time.
"""

import logging
from collections.abc import Generator
from contextlib import contextmanager

from duetty.clock import Clock
from duetty.errors import DuettyError

log = logging.getLogger("duetty.hub")


@contextmanager
def logged(
    event: str, clock: Clock, *, reads: bool, **fields: object
) -> Generator[dict[str, object]]:
    """A call under way; what is put into the yielded fields is written too."""
    began_s = clock.monotonic_s()
    outcome = "cancelled"
    try:
        yield fields
        outcome = "done"
    except DuettyError as error:
        outcome = error.code
        raise
    finally:
        level = logging.DEBUG if reads and outcome == "done" else logging.INFO
        if log.isEnabledFor(level):
            took_ms = round((clock.monotonic_s() - began_s) * 1000, 1)
            log.log(level, event, extra={"outcome": outcome, "took_ms": took_ms, **fields})
