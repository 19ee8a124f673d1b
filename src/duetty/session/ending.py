"""Ending a session's processes: all of them, and nobody else's.

A shell goes at the first HUP and leaves behind what ignores it. The others are
held by pidfd from before the first signal, so that a number which passes to
another process meanwhile is not killed in their place.
"""

import os
import select
import signal
from contextlib import suppress

from duetty.keeper.probe import session_members

MAX_HELD = 256
"""Processes held at once; a descriptor each."""


class Members:
    """The processes of one session, as they were when this was made."""

    def __init__(self, leader: int) -> None:
        self._held: list[int] = []
        for pid in session_members(frozenset({leader}))[:MAX_HELD]:
            # Gone already, or no descriptor is left: then it is not held, only not waited for.
            with suppress(OSError):
                self._held.append(os.pidfd_open(pid))

    def alive(self) -> int:
        """How many are left."""
        for fd in list(self._held):
            ended = select.poll()
            ended.register(fd, select.POLLIN)
            if ended.poll(0):
                self._held.remove(fd)
                os.close(fd)
        return len(self._held)

    def kill(self) -> None:
        for fd in self._held:
            with suppress(OSError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)

    def close(self) -> None:
        for fd in self._held:
            os.close(fd)
        self._held.clear()
