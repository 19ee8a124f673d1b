"""Who reads the terminal: asked of the kernel, not guessed from text.

A program waits for input when a process of the terminal's foreground group is
blocked in a read of that terminal, or in a wait (poll, select, epoll) that it
would end. Linux tells both in /proc. Where it does not tell, `known` is false.

Total: processes vanish while they are looked at. Looks at links and names only,
never follows a descriptor: the file behind it may hang.
"""

# ruff: noqa: PTH115, PTH208 - pathlib would cost the keeper 1 MB

import errno
import os
import socket
import struct
from collections.abc import Callable
from typing import NamedTuple

MAX_WATCHED = 4096
"""Descriptors looked at in one poll or select. A program that waits for its terminal has few."""

MAX_THREADS = 1024
"""Threads looked at in one probe. The rest is unknown; a probe stays within milliseconds."""

MAX_COMMANDS = 16
MAX_LOOKS = 50
"""At the processes of a session, while some end."""

_CALLS: dict[str, dict[int, str]] = {
    "x86_64": {
        0: "read",
        19: "read",  # readv
        7: "poll",
        271: "poll",  # ppoll
        23: "select",
        270: "select",  # pselect6
        232: "epoll",
        281: "epoll",  # epoll_pwait
        441: "epoll",  # epoll_pwait2
        219: "restart",
    },
    "aarch64": {
        63: "read",
        65: "read",  # readv
        73: "poll",  # ppoll
        72: "select",  # pselect6
        22: "epoll",  # epoll_pwait
        441: "epoll",  # epoll_pwait2
        128: "restart",
    },
}


def knows_calls() -> bool:
    """Whether system calls of this machine are known by their numbers."""
    return os.uname().machine in _CALLS


_READABLE = 0x41  # POLLIN | POLLRDNORM, the same bits for epoll
_POLLFD = struct.Struct("ihh")
_SOCK_DIAG, _BY_FAMILY, _REQUEST, _ERROR = 4, 20, 1, 2
_SHOW_PEER, _PEER = 4, 2
_NO_COOKIE = (0xFFFFFFFF, 0xFFFFFFFF)
_MESSAGE = struct.Struct("IHHII")
_DIAG_REQUEST = struct.Struct("BBHIIIII")
_DIAG_ANSWER_BYTES = 16
_DIAG_S = 0.1
"""The kernel answers while it is asked; this only bounds what cannot be."""
_GONE = frozenset({errno.ENOENT, errno.ESRCH})


class Reader(NamedTuple):
    pid: int
    via: str
    """read, poll, select or epoll."""
    fd: int


class Probe(NamedTuple):
    foreground: int | None
    reader: Reader | None
    known: bool
    """Whether `reader` is None because no process reads, rather than because it is unknown."""
    processes: int
    """Of the foreground group."""
    commands: tuple[str, ...]
    """Their names, each once, the group's leader first."""


class _GoneError(Exception):
    """It vanished while it was looked at."""


class _DeniedError(Exception):
    """It is there, and we may not look."""


class _Terminal(NamedTuple):
    path: str
    proc: str

    def is_behind(self, pid: int, fd: int) -> bool:
        """Whether this descriptor is our terminal.

        `/dev/tty` counts: the controlling terminal of a foreground process is ours.
        """
        try:
            link = os.readlink(f"{self.proc}/{pid}/fd/{fd}")
        except OSError as error:
            if error.errno in _GONE:
                return False
            raise _DeniedError from None
        return link in (self.path, "/dev/tty")


def probe(
    child_pid: int,
    tty_path: str,
    foreground_pgid: int | None,
    *,
    proc: str = "/proc",
    machine: str | None = None,
) -> Probe:
    """Is a process of the foreground group blocked reading the terminal?"""
    if foreground_pgid is None:
        return Probe(None, None, known=False, processes=0, commands=())
    calls = _CALLS.get(machine or os.uname().machine)
    members = group_members(foreground_pgid)
    terminal = _Terminal(tty_path, proc)
    # With nothing to be seen (another PID namespace, hidepid) nothing is known.
    known = calls is not None and bool(members)
    reader: Reader | None = None
    commands: dict[str, None] = {}
    threads_left = MAX_THREADS
    for pid in sorted(members, key=lambda pid: (pid != foreground_pgid, pid != child_pid, pid)):
        try:
            commands[_contents(f"{proc}/{pid}/comm").strip().decode(errors="replace")] = None
            if reader is not None or calls is None:
                continue
            tids = _threads(pid, proc)[:threads_left]
            threads_left -= len(tids)
            reader = _reader(pid, tids, terminal, calls)
        except _GoneError:
            continue
        except _DeniedError:
            known = False
    return Probe(
        foreground_pgid,
        reader,
        known=reader is not None or (known and threads_left > 0),
        processes=len(members),
        commands=tuple(commands)[:MAX_COMMANDS],
    )


def group_members(pgid: int) -> list[int]:
    """Every process of a process group, without the dead ones that no parent has reaped.

    Not a walk over children: that loses a process whose parent has ended, and most
    containers' kernels do not list children. About 1 µs for each process of the machine.
    """
    found = [pid for pid in _all_pids() if _answer_or_none(os.getpgid, pid) == pgid]
    return [pid for pid in found if not _is_zombie(pid)]


def session_members(sids: frozenset[int], *, besides: frozenset[int] = frozenset()) -> list[int]:
    """Processes of these kernel sessions, without the dead ones that no parent has reaped.

    One that ended while this looked may have started another that the list does not have.
    So where nothing is found although one ended, this looks again.
    """
    dead: set[int] = set()
    found: list[int] = []
    for _ in range(MAX_LOOKS):
        count = len(dead)
        for pid in reversed(_all_pids()):  # the newest are the first to go
            if (sid := _answer_or_none(os.getsid, pid)) is None:
                dead.add(pid)
            elif sid in sids and pid not in besides:
                (dead.add if _is_zombie(pid) else found.append)(pid)
        if found or len(dead) == count:
            break
    return found


def _is_zombie(pid: int) -> bool:
    try:
        # The name before it may contain anything, a bracket too.
        return _contents(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except _GoneError:
        return True
    except _DeniedError:
        return False


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _answer_or_none(question: Callable[[int], int], pid: int) -> int | None:
    try:
        return question(pid)
    except OSError:
        return None


def _threads(pid: int, proc: str) -> list[int]:
    """The main thread first: it is nearly always the one that reads."""
    try:
        tids = [int(name) for name in os.listdir(f"{proc}/{pid}/task")]
    except OSError as error:
        raise (_GoneError if error.errno in _GONE else _DeniedError) from None
    return sorted(tids, key=lambda tid: (tid != pid, tid))


def _reader(pid: int, tids: list[int], terminal: _Terminal, calls: dict[int, str]) -> Reader | None:
    denied = False
    for tid in tids:
        try:
            found = _blocked(pid, tid, terminal, calls)
        except _GoneError:
            continue
        except _DeniedError:
            denied = True
            continue
        if found is not None:
            return found
    if denied:
        raise _DeniedError
    return None


def _blocked(pid: int, tid: int, terminal: _Terminal, calls: dict[int, str]) -> Reader | None:
    """How this thread waits for the terminal, if it does."""
    words = _current_call(pid, tid, terminal.proc)
    if len(words) < 7:  # "running", or blocked outside a system call
        return None
    via = calls.get(int(words[0]))
    first, second = (int(word, 16) for word in words[1:3])
    if via == "restart":
        # A wait that went through SIGSTOP and SIGCONT: the arguments are still those of
        # the interrupted call, its number is not.
        via = _restarted(pid, tid, terminal.proc)
    match via:
        case "read":
            fds = [first]
        case "poll":
            fds = _polled(_memory(pid, first, second * _POLLFD.size, terminal.proc))
        case "select":
            fds = _selected(_memory(pid, second, (first + 63) // 64 * 8, terminal.proc), first)
        case "epoll":
            fds = _registered(_contents(f"{terminal.proc}/{pid}/fdinfo/{first}"))
        case _:
            return None
    for fd in fds:
        if terminal.is_behind(pid, fd):
            # ssh and its like relay the terminal and a connection at once: whether the far
            # side computes or asks is unknown here, so it is not called a reader.
            others = [other for other in fds if other != fd]
            return None if _relays(pid, others, terminal.proc) else Reader(pid, via, fd)
    return None


def _relays(pid: int, fds: list[int], proc: str) -> bool:
    """Whether one of these is a connection to another process.

    A pair of which the process has both ends is none: event loops (asyncio) wake themselves by one.
    """
    inodes = [inode for fd in fds if (inode := _socket_inode(pid, fd, proc)) is not None]
    if not inodes:
        return False
    peers = [_unix_peer(inode) for inode in inodes]
    for inode, peer in zip(inodes, peers, strict=True):
        if peer is None:
            if _is_unix(pid, inode, proc):  # of another network namespace
                raise _DeniedError
            return True  # of another family: to somewhere else by nature
    own = {_socket_inode(pid, fd, proc) for fd in _descriptors(pid, proc)}
    return not own.issuperset(peers)


def _socket_inode(pid: int, fd: int, proc: str) -> int | None:
    try:
        link = os.readlink(f"{proc}/{pid}/fd/{fd}")
    except OSError:
        return None
    number = link[len("socket:[") : -1]
    return int(number) if link.startswith("socket:[") and number.isdigit() else None


def _descriptors(pid: int, proc: str) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"{proc}/{pid}/fd")[:MAX_WATCHED]]
    except OSError as error:
        raise (_GoneError if error.errno in _GONE else _DeniedError) from None


def _is_unix(pid: int, inode: int, proc: str) -> bool:
    """Whether this is a unix socket, as its own network namespace has it."""
    table = _contents(f"{proc}/{pid}/net/unix")
    return any(line.split()[6:7] == [b"%d" % inode] for line in table.splitlines())


def _unix_peer(inode: int) -> int | None:
    """The other end of a unix socket; 0 if it has none, None if the kernel knows no such socket here.

    By `sock_diag`: /proc does not tell which two belong together.
    """
    request = _DIAG_REQUEST.pack(socket.AF_UNIX, 0, 0, 0xFFFFFFFF, inode, _SHOW_PEER, *_NO_COOKIE)
    header = _MESSAGE.pack(_MESSAGE.size + len(request), _BY_FAMILY, _REQUEST, 0, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as asked:
            asked.settimeout(_DIAG_S)
            asked.send(header + request)
            answer = asked.recv(4096)
    except OSError:
        raise _DeniedError from None
    if len(answer) < _MESSAGE.size + _DIAG_ANSWER_BYTES:
        raise _DeniedError
    size, kind, *_ = _MESSAGE.unpack_from(answer)
    if kind == _ERROR:
        code = -struct.unpack_from("i", answer, _MESSAGE.size)[0]
        if code == errno.ENOENT:
            return None
        raise _DeniedError  # a kernel without it
    at = _MESSAGE.size + _DIAG_ANSWER_BYTES
    while at + 8 <= min(size, len(answer)):
        length, what, value = struct.unpack_from("HHI", answer, at)
        if what == _PEER:
            return value
        at += max(4, (length + 3) & ~3)
    return 0


def _current_call(pid: int, tid: int, proc: str) -> list[bytes]:
    try:
        return _contents(f"{proc}/{pid}/task/{tid}/syscall").split()
    except _GoneError:
        if os.access(f"{proc}/{pid}/task/{tid}", os.F_OK):
            raise _DeniedError from None  # a kernel that does not tell
        raise


def _restarted(pid: int, tid: int, proc: str) -> str | None:
    where = _contents(f"{proc}/{pid}/task/{tid}/wchan")
    if where in (b"", b"0"):
        raise _DeniedError
    return "poll" if b"poll" in where else None


def _polled(array: bytes) -> list[int]:
    whole = len(array) - len(array) % _POLLFD.size
    entries = _POLLFD.iter_unpack(array[:whole])
    return [fd for fd, events, _ in entries if fd >= 0 and events & _READABLE]


def _selected(bits: bytes, count: int) -> list[int]:
    watched = int.from_bytes(bits, "little")
    return [fd for fd in range(min(count, MAX_WATCHED)) if watched >> fd & 1]


def _registered(table: bytes) -> list[int]:
    """From lines such as `tfd:        0 events:       19 data: …`."""
    fds: list[int] = []
    for line in table.splitlines():
        words = line.split()
        if len(words) >= 4 and words[0] == b"tfd:" and int(words[3], 16) & _READABLE:
            fds.append(int(words[1]))
    return fds[:MAX_WATCHED]


def _memory(pid: int, address: int, size: int, proc: str) -> bytes:
    """Bytes of another process; empty where the address is not one."""
    size = min(size, MAX_WATCHED * _POLLFD.size)
    if not 0 < address < 1 << 63 or size <= 0:
        return b""
    fd = _opened(f"{proc}/{pid}/mem")
    try:
        return os.pread(fd, size, address)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _contents(path: str) -> bytes:
    fd = _opened(path)
    try:
        chunks: list[bytes] = []
        while chunk := os.read(fd, 65536):
            chunks.append(chunk)
            if len(chunks) >= 16:  # an epoll of thousands; its beginning will do
                break
    except OSError as error:
        raise (_GoneError if error.errno in _GONE else _DeniedError) from None
    finally:
        os.close(fd)
    return b"".join(chunks)


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise (_GoneError if error.errno in _GONE else _DeniedError) from None
