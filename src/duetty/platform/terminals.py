"""Ioctls of a PTY: its size, its settings, its foreground group, and dropping unread input."""

import fcntl
import os
import select
import signal
import struct
import termios
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_SETTINGS = bytes(60)
"""Room for the kernel's `struct termios`: four words of modes, then control characters."""

_LOCAL = struct.Struct("@12xI")
"""The fourth word, the local modes. `tcgetattr` makes a list of objects of all of it, for each key."""

_OUTPUT = struct.Struct("@4xI")
"""The second word, the output modes."""

_INTERRUPT_KEY = struct.Struct("@17xB")
"""Behind the modes and the line discipline: the first of the control characters."""

_TIOCGPTPEER = 0x5441
_TIOCSIG = 0x40045436


def line_settings(fd: int) -> tuple[bool, bool]:
    """(echo, canonical) of the terminal."""
    try:
        (flags,) = _LOCAL.unpack_from(fcntl.ioctl(fd, termios.TCGETS, _SETTINGS))
    except OSError:
        return True, True
    return bool(flags & termios.ECHO), bool(flags & termios.ICANON)


def processes_output(fd: int) -> bool:
    """Whether a line feed returns the carriage too, as every line editor leaves it."""
    try:
        (flags,) = _OUTPUT.unpack_from(fcntl.ioctl(fd, termios.TCGETS, _SETTINGS))
    except OSError:
        return True
    return bool(flags & termios.OPOST)


def make_sane(fd: int) -> None:
    """What `stty sane` does, as far as reading lines needs it."""
    with suppress(OSError, termios.error):
        modes = termios.tcgetattr(fd)
        modes[0] = (modes[0] | termios.ICRNL | termios.BRKINT) & ~(termios.IGNCR | termios.INLCR)
        modes[1] |= termios.OPOST | termios.ONLCR
        modes[3] |= termios.ICANON | termios.ECHO | termios.ECHOE | termios.ISIG | termios.IEXTEN
        termios.tcsetattr(fd, termios.TCSANOW, modes)


def set_window_size(fd: int, *, cols: int, rows: int) -> None:
    termios.tcsetwinsize(fd, (rows, cols))


def has_output(fd: int) -> bool:
    """Whether there are unread bytes on this side of the PTY."""
    if fd < 0:
        return False
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    return any(events & select.POLLIN for _, events in waiting.poll(0))


def is_still_the_shell(master: int, shell: str) -> bool:
    """The foreground group is led by the shell, or by a fork of it that has not become a program."""
    name = foreground_program(master)
    return name is not None and name.startswith(shell)


def foreground_program(master: int) -> str | None:
    """The name of the program that leads the foreground group; None if unknown."""
    try:
        return Path(f"/proc/{os.tcgetpgrp(master)}/exe").readlink().name
    except OSError:  # no terminal any more, a leader that has ended, or another user's
        return None


@dataclass(frozen=True, slots=True)
class Foreground:
    """A program that has the terminal."""

    name: str
    pid: int
    since_s: float
    """For how long it runs."""


def foreground(master: int) -> Foreground | None:
    """Who leads the foreground group, or is the oldest of it; None if unknown."""
    try:
        group = os.tcgetpgrp(master)
    except OSError:
        return None
    if group == 0:  # no program has taken it; processes of the kernel are of this group
        return None
    if (found := program(group)) is not None:
        return found
    # The first program of a pipe may have ended.
    try:
        pids = _processes()
    except OSError:  # no descriptor is left
        return None
    return next((each for pid in pids if (each := program(pid, group)) is not None), None)


def is_asleep(master: int) -> bool:
    """Every program of the foreground group waits for something other than a disk; False if unknown."""
    try:
        group = os.tcgetpgrp(master)
        states = [_state(pid) for pid in _processes() if _is_of(pid, group)]
    except OSError:
        return False
    return set(states) - {"Z"} == {"S"}


def _processes() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]


def _is_of(pid: int, group: int) -> bool:
    try:
        return os.getpgid(pid) == group
    except OSError:
        return False


def _state(pid: int) -> str:
    stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    return stat.rpartition(")")[2].split()[0]


def program(pid: int, group: int | None = None) -> Foreground | None:
    """What is known of a process; None if it has gone, or is not of the group."""
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
        fields = rest.split()
        up_s = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError):
        return None
    if fields[0] in "ZX" or (group is not None and int(fields[2]) != group):
        return None
    since_s = up_s - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return Foreground(name, pid, max(round(since_s, 1), 0.0))


def directory_of(pid: int, known: str) -> str:
    """Where the process works: `known` where that is the same place, or the kernel does not tell."""
    link = Path(f"/proc/{pid}/cwd")
    try:
        found = str(link.readlink())
        if found == known or found.endswith(" (deleted)"):
            return known
    except OSError:  # it has gone, or is another user's
        return known
    with suppress(OSError):  # `known` may be gone
        if link.samefile(known):
            return known
    return found


def unread_bytes(master: int) -> int:
    """Bytes written to a PTY that the process at its other end has not read; -1 if unknown."""
    try:
        slave = fcntl.ioctl(master, _TIOCGPTPEER, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return -1
    try:
        has_output(slave)  # the kernel passes bytes on later; this poll has it done now
        return struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, bytes(4)))[0]
    except OSError:
        return -1
    finally:
        os.close(slave)


def drop_unread(fd: int) -> None:
    """Drop what was written to a PTY and not read: on its way, and in the line discipline.

    Else Ctrl-C waits behind it, or the next reader (the shell) takes it for commands.
    """
    with suppress(OSError, termios.error):
        termios.tcflush(fd, termios.TCOFLUSH)
        slave = fcntl.ioctl(fd, _TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            termios.tcflush(slave, termios.TCIFLUSH)
        finally:
            os.close(slave)


def interrupt_editor(fd: int) -> bool:
    """Do what Ctrl-C does to a program that reads key by key and echoes itself; False for any other.

    With the key, the kernel drops the program's unread output: a shell's line editor
    would be shown with a line that it has cleared, and its prompt could be missing.
    """
    try:
        settings = fcntl.ioctl(fd, termios.TCGETS, _SETTINGS)
        (flags,), (key,) = _LOCAL.unpack_from(settings), _INTERRUPT_KEY.unpack_from(settings)
        reads_keys = not flags & (termios.ECHO | termios.ICANON)
        if not (reads_keys and flags & termios.ISIG and key == 3):
            return False
        drop_unread(fd)
        fcntl.ioctl(fd, _TIOCSIG, signal.SIGINT)
    except OSError:
        return False
    return True
