"""Who is at the other end of a unix socket: which process, which user, whose child.

For the server and the keeper alike, so the standard library only, and little of that.
"""

import socket
import struct
from collections.abc import Generator

MAX_ANCESTORS = 64

_PEER = struct.Struct("3i")


def credentials_of(connection: socket.socket) -> tuple[int, int]:
    """Process and user, as the kernel knows them; the process is 0 where we have no number for it."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    pid, uid, _ = _PEER.unpack(found)
    return pid, uid


def is_beside_us(pid: int) -> bool:
    """Whether it runs in the same PID namespace; not if that cannot be known.

    The kernel lists its number in each namespace, from ours inwards. Unlike the links in
    /proc/PID/ns, that can be read for processes that cannot be traced, too: root's, for one.
    """
    seen = [line.split()[1:] for line in _of(pid, "status") if line.startswith("NSpid:")]
    return seen == [[str(pid)]]


def ancestors_of(pid: int) -> Generator[int]:
    """Its parents, and the leaders of the sessions that it and they belong to."""
    for _ in range(MAX_ANCESTORS):
        found = _stat(pid)
        if found is None:
            return
        parent, leader = found
        if leader != pid and (above := _stat(leader)) is not None:
            yield above[0]
        pid = parent
        if pid <= 1:
            return
        yield pid


def has_variable(pid: int, name: str, value: str) -> bool:
    """Whether it was started with that variable."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"{name}={value}".encode() in file.read().split(b"\0")
    except OSError:
        return False


def _stat(pid: int) -> tuple[int, int] | None:
    """Its parent, and the leader of its session."""
    try:
        _, parent, _, leader = "".join(_of(pid, "stat")).rpartition(")")[2].split()[:4]
        return int(parent), int(leader)
    except ValueError:
        return None


def _of(pid: int, name: str) -> list[str]:
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
            return file.readlines()
    except OSError:
        return []
