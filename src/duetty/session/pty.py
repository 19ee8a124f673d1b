"""What is asked of a PTY besides bytes: its size, its line settings, and to forget what nobody read."""

import fcntl
import os
import termios
from contextlib import suppress

LFLAG = 3
"""Index of the local modes in what `tcgetattr` returns."""

_TIOCGPTPEER = 0x5441


def line_settings(fd: int) -> tuple[bool, bool]:
    """(echo, canonical) of the terminal."""
    try:
        flags = termios.tcgetattr(fd)[LFLAG]
    except termios.error:
        return True, True
    return bool(flags & termios.ECHO), bool(flags & termios.ICANON)


def set_window_size(fd: int, *, cols: int, rows: int) -> None:
    termios.tcsetwinsize(fd, (rows, cols))


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
