"""Turns of the loop that were too long: counted, and logged with what ran.

All sessions share the loop. A thread calls it ten times a second; when it does not answer for a tenth
of a second, it looks what the loop's thread is doing.
"""

import logging
import sys
import threading
from collections.abc import Callable
from time import monotonic
from types import FrameType

HELD_S = 0.1
"""A person who types notices a turn this long."""

LOG_S = 1.0
"""Between two lines of the log; those between are counted."""

FRAMES = 4

log = logging.getLogger("duetty.watchdog")


class Watchdog:
    """Watches the thread that makes it, by way of its loop."""

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """`call_soon` has something called in the loop, from any thread."""
        self._call_soon = call_soon
        self._watched = threading.get_ident()
        self._heard = threading.Event()
        self._over = threading.Event()
        self._logged_s = float("-inf")
        self.held = 0
        """Turns that were too long."""
        self.longest_s = 0.0
        self.what = ""
        """What the last of them was busy with: the innermost calls, innermost first."""
        # A daemon, so that it never holds up the server's own exit.
        self._thread = threading.Thread(target=self._watch, name="duetty-watchdog", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join(1.0)

    def _watch(self) -> None:
        while not self._over.wait(HELD_S):
            self._heard.clear()
            asked_s = monotonic()
            try:
                self._call_soon(self._heard.set)
            except RuntimeError:  # the loop is closed
                return
            if self._heard.wait(HELD_S):
                continue
            what = _busy_with(sys._current_frames().get(self._watched))  # pyright: ignore[reportPrivateUsage] - documented
            while not self._heard.wait(HELD_S):
                if self._over.is_set():
                    return
            self._note(monotonic() - asked_s, what)

    def _note(self, took_s: float, what: str) -> None:
        self.held += 1
        self.longest_s = max(self.longest_s, took_s)
        self.what = what
        if monotonic() - self._logged_s >= LOG_S:
            self._logged_s = monotonic()
            fields = {"took_ms": round(took_s * 1000), "what": what, "held": self.held}
            log.warning("loop_held", extra=fields)


def _busy_with(frame: FrameType | None) -> str:
    """Names and places of calls, never what they were given."""
    found: list[str] = []
    while frame is not None and len(found) < FRAMES:
        code = frame.f_code
        place = "/".join(code.co_filename.rsplit("/", 2)[-2:])
        found.append(f"{place}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    return " < ".join(found) or "unknown"
