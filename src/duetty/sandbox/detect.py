"""What this machine can give. Asked of the kernel, not assumed."""

import platform
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from duetty.platform.capabilities import bubblewrap_path, landlock_abi
from duetty.platform.descendants import first_child
from duetty.platform.seccomp import AF_UNIX, filter_program

PROBE_S = 10.0
MIN_LANDLOCK = 3
"""ABI that knows truncation (Linux 6.2): without it a file outside could be emptied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    bubblewrap: str | None
    """Path of the program; None if it is missing or may make no namespaces."""

    bubblewrap_reason: str | None
    landlock: int
    """The kernel's ABI; 0 for none."""

    machine: str

    @property
    def has_landlock(self) -> bool:
        return self.landlock >= MIN_LANDLOCK


@cache
def support() -> Support:
    """Looked at once; takes some milliseconds, so not for the event loop."""
    path, reason = _bubblewrap()
    return Support(
        bubblewrap=path,
        bubblewrap_reason=reason,
        landlock=landlock_abi() if filter_program(platform.machine(), families=[AF_UNIX]) else 0,
        machine=platform.machine(),
    )


def inner_pid(pid: int, level: str) -> int:
    """The process that was wrapped, given the one that was started; the same if nothing is known.

    bubblewrap stays outside, and has an init of its own inside, whose first child it is.
    """
    if level != "bubblewrap":
        return pid
    for _ in range(2):
        child = first_child(pid)
        if child is None:
            return pid
        pid = child
    return pid


def _bubblewrap() -> tuple[str | None, str | None]:
    path = bubblewrap_path()
    if path is None:
        return None, "bubblewrap is not installed"
    if filter_program(platform.machine(), families=[AF_UNIX]) is None:
        return None, f"there is no system call filter for {platform.machine()}"
    if Path(path).stat().st_uid != 0:
        return None, f"{path} does not belong to root"
    probe = [
        *(path, "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc"),
        *("--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *("--tmpfs", "/tmp", "--", "/bin/true"),  # noqa: S108 - of the sandbox itself
    ]
    try:
        done = subprocess.run(  # noqa: S603 - an absolute path of root's
            probe, capture_output=True, timeout=PROBE_S, check=False, env={}
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"{path} does not run: {error}"
    if done.returncode != 0:
        stderr = done.stderr.decode(errors="replace").strip()[:200]
        return None, f"{path} may not make namespaces here: {stderr}"
    return path, None
