"""One server for one instance."""

import fcntl
import os
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from duetty.config import Paths
from duetty.errors import InstanceBusy, StateUnwritable
from duetty.startup.private_files import read_text

ENDING_S = 15.0
"""How long a starting server waits for one that has closed its sockets and is about to end."""


def command_for(instance: str) -> str:
    """How a person names the server of this instance; without it, their own server is meant."""
    return "duetty" if instance == "default" else f"duetty -L {instance}"


@contextmanager
def locked(paths: Paths) -> Generator[None]:
    """One server for one instance; the lock goes with the process, however it ends."""
    try:
        fd = os.open(paths.lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateUnwritable(
            f"cannot use {paths.lock_file}: {error.strerror}", hint="it must be a file of yours"
        ) from error
    try:
        if not _lock(fd, paths):
            pid = os.read(fd, 32).decode("ascii", "replace").strip() or "unknown"
            address = read_text(paths.address_file) or "an address that is not known yet"
            raise InstanceBusy(
                f"a server for instance {paths.instance!r} runs already: pid {pid} at {address}",
                hint=f"use it, end it with `{command_for(paths.instance)} stop`, or take over from it:"
                " the same command with --replace",
                details={"pid": pid, "address": address},
            )
        try:
            os.truncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            raise StateUnwritable(
                f"cannot write {paths.lock_file}: {error.strerror}", hint="free some space"
            ) from error
        yield
    finally:
        os.close(fd)


def _lock(fd: int, paths: Paths) -> bool:
    """Whether the lock is ours now. A server that ends closes its sockets first: a client that found no server
    there and started us must not get *already running*.
    """
    deadline_s = time.monotonic() + ENDING_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if _listens(paths.server_socket) or time.monotonic() > deadline_s:
                return False
            time.sleep(0.02)
        else:
            return True


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except TimeoutError:
            return True  # it is there and has much to do
        except OSError:
            return False
        return True


def is_locked(paths: Paths) -> bool:
    """Whether a server holds this instance; one that ends does so a little longer than its sockets."""
    try:
        fd = os.open(paths.lock_file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
