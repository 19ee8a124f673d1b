"""What the product needs of a machine, and whether this one has it. Asked of the kernel, not assumed."""

import ctypes
import os
import pty
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from duetty.errors import CapabilityMissing
from duetty.platform.short_turns import knows_short_turns
from duetty.platform.terminal_probe import knows_calls
from duetty.platform.terminals import unread_bytes

BWRAP = ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap")
"""By absolute path: PATH and the working directory are the user's, or a program's."""

_LANDLOCK_CREATE_RULESET = 444
_VERSION = 1
_GET_SUBREAPER = 37
_GET_SECCOMP = 21


@dataclass(frozen=True, slots=True)
class Capability:
    name: str
    gives: str
    without: str
    """What the product does where it is missing."""

    has: Callable[[], bool]
    is_required: bool = False


def landlock_abi() -> int:
    """The kernel's; 0 for none."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        found: int = libc.syscall(
            _LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)
        )
        return max(0, found)
    return 0


def bubblewrap_path() -> str | None:
    return next((each for each in BWRAP if os.access(each, os.X_OK)), None)


def _has_proc() -> bool:
    return os.access("/proc/self/stat", os.R_OK)


def _has_children_lists() -> bool:
    return os.access(f"/proc/self/task/{os.getpid()}/children", os.R_OK)


def _has_pidfd() -> bool:
    with suppress(OSError, AttributeError):
        os.close(os.pidfd_open(os.getpid()))
        return True
    return False


def _has_terminal_peer() -> bool:
    try:
        master, slave = pty.openpty()
    except OSError:
        return False
    try:
        return unread_bytes(master) >= 0
    finally:
        os.close(master)
        os.close(slave)


def _knows_prctl(option: int) -> bool:
    with suppress(OSError, AttributeError):
        answer = ctypes.c_int(-1)
        return ctypes.CDLL(None, use_errno=True).prctl(option, ctypes.byref(answer), 0, 0, 0) >= 0
    return False


CAPABILITIES: tuple[Capability, ...] = (
    Capability(
        "proc",
        "which program has a terminal, and whether it reads",
        "the server does not start",
        _has_proc,
        is_required=True,
    ),
    Capability(
        "peer_credentials",
        "which user and process calls over a unix socket (SO_PEERCRED)",
        "the server does not start",
        lambda: hasattr(socket, "SO_PEERCRED"),
        is_required=True,
    ),
    Capability(
        "pidfd",
        "ends of processes, without mistaking one for another",
        "the server does not start",
        _has_pidfd,
        is_required=True,
    ),
    Capability(
        "children_lists",
        "which processes run below a command",
        "what a command left behind is not found",
        _has_children_lists,
    ),
    Capability(
        "subreaper",
        "processes that lost their parents stay below the server",
        "such a process is not known by its descent",
        lambda: _knows_prctl(_GET_SUBREAPER),
    ),
    Capability(
        "terminal_probe",
        "whether a program waits for input (system calls of this machine)",
        "states are `unknown` where marks do not tell",
        knows_calls,
    ),
    Capability(
        "terminal_peer",
        "what a program has not read yet (TIOCGPTPEER)",
        "an interrupt may wait behind unread input",
        _has_terminal_peer,
    ),
    Capability(
        "short_turns",
        "keys that do not wait for a flood (Linux 6.12)",
        "a key beside a flood takes some milliseconds more",
        knows_short_turns,
    ),
    Capability(
        "landlock",
        "the sandbox level `landlock`",
        "that level is refused",
        lambda: landlock_abi() > 0,
    ),
    Capability(
        "seccomp",
        "system calls that no sandbox allows",
        "sandboxes are refused",
        lambda: _knows_prctl(_GET_SECCOMP),
    ),
    Capability(
        "bubblewrap",
        "the sandbox level `bubblewrap`",
        "that level is refused",
        lambda: bubblewrap_path() is not None,
    ),
)


def check_required() -> None:
    """Raises:
    CapabilityMissing: if the server cannot work on this machine.
    """
    missing = [each for each in CAPABILITIES if each.is_required and not each.has()]
    if missing:
        raise CapabilityMissing(missing[0].name, missing[0].gives)
