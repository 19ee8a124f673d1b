"""Which terminal a descriptor is the master of, and who leads the session there.

The standard library only, and little of that: the keeper asks it.
"""

import fcntl
import os
import struct

_TIOCGPTN = 0x80045430
_TIOCGSID = 0x5429
_INT = struct.Struct("i")


def terminal_of(master: int) -> str:
    """The path of the terminal.

    Raises:
        OSError: if the descriptor is not the master of one.
    """
    number = _INT.unpack(fcntl.ioctl(master, _TIOCGPTN, bytes(_INT.size)))[0]
    return os.path.join("/dev/pts", str(number))  # noqa: PTH118 - pathlib would cost the keeper 1 MB


def session_leader(master: int) -> int | None:
    """The first process of the session that has the terminal; None if none does."""
    try:
        return _INT.unpack(fcntl.ioctl(master, _TIOCGSID, bytes(_INT.size)))[0]
    except OSError:
        return None
