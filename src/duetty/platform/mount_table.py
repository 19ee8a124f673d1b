"""What is mounted where, as the kernel lists it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from duetty.platform.sandbox_launch import plain_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    id: int
    device: str
    """Of the whole file system: parts of it (subvolumes) have numbers of their own in `stat`."""

    root: str
    """What of the file system is mounted."""

    point: str


def mounts() -> Iterator[Mount]:
    """All that this process sees; none where that cannot be read."""
    try:
        raw = Path("/proc/self/mountinfo").read_bytes()  # a name may have a carriage return in it
    except OSError:
        return
    for line in raw.decode("utf-8", "surrogateescape").split("\n"):
        fields = line.split(" ", maxsplit=5)
        if len(fields) > 5:
            root, point = plain_name(fields[3]), plain_name(fields[4])
            yield Mount(id=int(fields[0]), device=fields[2], root=root, point=point)


def mount_id(path: str) -> int:
    """Of the mount that this path leads to, by the kernel's word; -1 if it does not say.

    Raises:
        OSError: if the path leads nowhere, or cannot be looked at.
    """
    fd = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as lines:
            found = (line.split()[1] for line in lines if line.startswith("mnt_id:"))
            return int(next(found, "-1"))
    finally:
        os.close(fd)
