"""Stands between the server and a program: `child_guard.py PARENT HANDED -- COMMAND …`.

A program of its own (`python -I -S`, standard library only). It starts the command
in its own process group and with its own standard streams, lets go of them, and
waits. When the command ends, or the server does (even by SIGKILL), or the guard is
ended, everything that the command started ends too: what left the group by
`setsid` comes back to the guard, which adopts orphans.

Of the server's descriptors the command finds those in HANDED (`10,11`, or `-` for none) and its
standard streams; all others are closed, whatever the server was started with.
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Collection

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE_S = 2.0
"""Between TERM and KILL."""

LOOK_S = 0.02
NOT_STARTED = 127
AWAITED = {signal.SIGCHLD, signal.SIGTERM}


def main(arguments: list[str]) -> int:
    parent, handed, dashes, *command = arguments
    if dashes != "--" or not command:
        return NOT_STARTED
    _close_others({int(word) for word in handed.split(",") if word != "-"})
    libc = ctypes.CDLL(None, use_errno=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):
        return NOT_STARTED  # the server died before it could be watched
    child = os.fork()
    if child == 0:
        _become(command, before, libc)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for fd in (0, 1):
        os.close(fd)  # the command alone holds them: their end is its end
    code = _wait(child)
    _end_all()
    return code


def _close_others(handed: Collection[int]) -> None:
    for word in os.listdir("/proc/self/fd"):  # noqa: PTH208 - as few imports as can be
        fd = int(word)
        if fd > 2 and fd not in handed:
            try:
                os.close(fd)
            except OSError:
                continue  # by which the list was read


def _become(command: list[str], mask: Collection[int], libc: ctypes.CDLL) -> None:
    try:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.execvp(command[0], command)  # noqa: S606 - running its arguments is its purpose
    except OSError as error:
        os.write(2, f"cannot start {command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _wait(child: int) -> int:
    """Until the command has ended, by itself or because that was asked for; its exit code."""
    kill_at: float | None = None
    while True:
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == child:
                code = os.waitstatus_to_exitcode(found[1])
                return code if code >= 0 else 128 - code
        came = signal.sigtimedwait(AWAITED, 1.0 if kill_at is None else LOOK_S)
        if came is not None and came.si_signo == signal.SIGTERM and kill_at is None:
            kill_at = time.monotonic() + GRACE_S
            _signal_all(signal.SIGTERM)
        if kill_at is not None and time.monotonic() > kill_at:
            _signal_all(signal.SIGKILL)


def _end_all() -> None:
    """What the command left behind, and what that has started meanwhile."""
    kill_at = time.monotonic() + GRACE_S
    _signal_all(signal.SIGTERM)
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        if time.monotonic() > kill_at:
            _signal_all(signal.SIGKILL)
        signal.sigtimedwait({signal.SIGCHLD}, LOOK_S)


def _signal_all(number: int) -> None:
    for pid in _descendants():
        try:
            os.kill(pid, number)
        except OSError:
            continue  # it is gone, or became another's


def _descendants() -> list[int]:
    """Every process below this one, as the kernel lists children, thread by thread."""
    found: list[int] = []
    front = [os.getpid()]
    while front:
        tasks = f"/proc/{front.pop()}/task"
        try:
            for thread in os.listdir(tasks):  # noqa: PTH208 - as few imports as can be
                with open(f"{tasks}/{thread}/children", encoding="ascii") as file:
                    children = [int(word) for word in file.read().split()]
                found += children
                front += children
        except OSError:
            continue
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
