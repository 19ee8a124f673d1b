"""Short turns of the processor, for a thread that a person waits for.

Linux lets a running thread finish a turn of some three milliseconds, and one that wakes meanwhile
waits for it: beside a flood that is most of what a key takes. Since 6.12 a thread can ask for
shorter turns, and is then let in at once. It gets no more of the processor by that, only sooner.
Where the kernel knows nothing of it, nothing changes.
"""

import os
import struct
from contextlib import suppress

TURN_NS = 300_000
"""What a key takes of the server, or of an attached terminal."""

_SET = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
"""The number of `sched_setattr`; the C library has no name for it yet."""

_ATTRIBUTES = struct.Struct("=IIQiIQQQ")
_RESET_ON_FORK = 1
"""Programs, and the threads that read floods, have turns as usual."""


_SINCE = (6, 12)


def knows_short_turns() -> bool:
    """By the kernel's version and machine: asking would change this thread."""
    major, minor = (int(part) for part in os.uname().release.replace("-", ".").split(".")[:2])
    return (major, minor) >= _SINCE and os.uname().machine in _SET


def ask_short_turns() -> bool:
    """For the calling thread, and none that it starts; whether the kernel heard."""
    number = _SET.get(os.uname().machine)
    if number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return False  # an administrator chose another policy for us
    with suppress(ImportError, OSError, AttributeError):
        import ctypes  # here: most commands never come this way

        attributes = _ATTRIBUTES.pack(
            _ATTRIBUTES.size,
            os.SCHED_OTHER,
            _RESET_ON_FORK,
            os.getpriority(os.PRIO_PROCESS, 0),
            0,
            TURN_NS,
            0,
            0,
        )
        return ctypes.CDLL(None).syscall(number, 0, attributes, 0) == 0
    return False
