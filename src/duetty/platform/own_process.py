"""What this process has: descriptors, files in memory, handles of other processes, its OOM score.

The standard library only, and no pathlib, which would cost the keeper 1 MB.
"""

# ruff: noqa: PTH115, PTH208

import os
import signal

_OOM_SCORE = "/proc/self/oom_score_adj"


def open_descriptors() -> list[int]:
    """All of them; the one by which they were listed is among them, and is closed."""
    return [int(name) for name in os.listdir("/proc/self/fd")]


def name_of_descriptor(fd: int) -> str:
    """The real path of an opened file; empty if it is unknown."""
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""


def opened_again(fd: int, flags: int) -> int:
    """The same file, whatever has its name by now, opened in another way.

    Raises:
        OSError: if it cannot be.
    """
    return os.open(f"/proc/self/fd/{fd}", flags)


def memory_file(name: str) -> int:
    """A file that has no path: for what a child is handed, by number. Closed in children that are not."""
    return os.memfd_create(name, os.MFD_CLOEXEC)


def hold_process(pid: int) -> int:
    """A descriptor of a process: readable when it has ended, and never another process of that number.

    Raises:
        OSError: if there is none, or no descriptor is left.
    """
    return os.pidfd_open(pid)


def signal_held(fd: int, number: int) -> None:
    """Raises:
    OSError: if it has ended.
    """
    signal.pidfd_send_signal(fd, number)


def oom_score() -> bytes:
    """How readily the kernel ends this process when memory is short.

    Raises:
        OSError: if it cannot be read.
    """
    fd = os.open(_OOM_SCORE, os.O_RDONLY)
    try:
        return os.read(fd, 16).strip()
    finally:
        os.close(fd)


def set_oom_score(value: bytes) -> None:
    """Raises:
    OSError: if this process may not.
    """
    fd = os.open(_OOM_SCORE, os.O_WRONLY)
    try:
        os.write(fd, value)
    finally:
        os.close(fd)
