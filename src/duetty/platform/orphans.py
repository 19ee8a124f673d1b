"""Processes that lost their parents come back to us, and not to init.

A process is known by its parents: a process in a session is no person, whatever variables it has
dropped. `setsid … &` would leave that line of descent. So the keeper and the server adopt what is
left behind below them, and needs to be reaped. The standard library only, for the keeper.
"""

import os
from contextlib import suppress

_ADOPT = 36
"""PR_SET_CHILD_SUBREAPER of <linux/prctl.h>."""


def adopt_orphans() -> bool:
    """From now on, for this process; whether the kernel heard."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes  # here: most commands never come this way

        return ctypes.CDLL(None, use_errno=True).prctl(_ADOPT, 1, 0, 0, 0) == 0
    return False


def forget_ended(before: frozenset[int]) -> frozenset[int]:
    """Reap children that had ended `before` and were not reaped since; return those that have ended now.

    Who started a child waits for it and hears at once. So what stays is an orphan.
    """
    ended = frozenset(pid for pid in _children() if _has_ended(pid))
    for pid in ended & before:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return ended - before


def _children() -> list[int]:
    found: list[int] = []
    try:
        threads = os.listdir("/proc/self/task")  # noqa: PTH208 - pathlib would cost the keeper 1 MB
    except OSError:  # no descriptor is left: the next look will see them
        return []
    for thread in threads:
        with (
            suppress(OSError),
            open(f"/proc/self/task/{thread}/children", encoding="ascii") as file,
        ):
            found += map(int, file.read().split())
    return found


def _has_ended(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False
