"""A keeper's own place: one lock, one socket, shared with no other.

The lock decides who is the keeper of a socket path; the socket is replaced only
by the holder of the lock, and only when no process answers on it.
"""

# ruff: noqa: PTH102, PTH108, PTH116, PTH120 - pathlib would cost the keeper 1 MB

import errno
import fcntl
import os
import socket
import stat
from contextlib import suppress

from duetty.errors import InstanceBusy, KeeperUnavailable

_BACKLOG = 16


def claim(path: str) -> tuple[int, socket.socket]:
    """The lock, to be held until the process ends, and the listening socket.

    Raises:
        InstanceBusy: if another keeper has this path.
        KeeperUnavailable: if the place is not private or cannot be used.
    """
    try:
        _private_directory(os.path.dirname(path))
        lock = _locked(f"{path}.lock")
        try:
            _remove_stale(path)
            return lock, _listening(path)
        except BaseException:
            os.close(lock)
            raise
    except OSError as error:
        raise KeeperUnavailable(f"cannot listen on {path!r}: {error}") from None


def _private_directory(directory: str) -> None:
    with suppress(FileExistsError):
        os.mkdir(directory, 0o700)
    found = os.stat(directory)
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise KeeperUnavailable(
            f"{directory!r} is not private",
            hint="the directory must belong to this user and have mode 0700",
        )


def _locked(path: str) -> int:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise InstanceBusy("another keeper has this socket") from None
    return lock


def _remove_stale(path: str) -> None:
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise KeeperUnavailable(f"{path!r} is not a socket", hint="remove it, or move it")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as asking:
        asking.setblocking(False)
        try:
            asking.connect(path)
        except OSError as error:
            if error.errno == errno.ECONNREFUSED:
                os.unlink(path)
                return
    raise InstanceBusy(f"something else answers on {path!r}")


def _listening(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.setblocking(False)
    before = os.umask(0o177)  # at creation: a chmod afterwards would leave a moment
    try:
        listener.bind(path)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener
