"""Where links lead, and which directories hold them: a program that writes in one can make it lead elsewhere."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from duetty.sandbox.stat_checks import check_absent, stat_of

MAX_LINKS = 40
"""On one way, as the kernel has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    end: Path
    """Without a link in it."""

    mode: int | None
    """Of what is there; None if that is nothing."""

    holders: tuple[Path, ...]
    """Directories with a link that leads on."""

    @property
    def is_file(self) -> bool:
        return self.mode is not None and stat.S_ISREG(self.mode)


def way_of(path: Path) -> Way | None:
    """None where links go round and round.

    Raises:
        SandboxUnavailable: if it cannot be found out.
    """
    found = stat_of(path)
    if (
        found is not None
        and not stat.S_ISLNK(found.st_mode)
        and os.path.realpath(path) == str(path)
    ):
        return Way(end=path, mode=found.st_mode, holders=())
    holders: dict[Path, None] = {}
    at, ahead, links = Path("/"), list(reversed(path.parts[1:])), 0
    while ahead:
        name = ahead.pop()
        if name == "..":
            at = at.parent
            continue
        found = stat_of(at / name)
        if found is None or not stat.S_ISLNK(found.st_mode):
            at /= name
            continue
        links += 1
        if links > MAX_LINKS:
            return None
        holders[at] = None
        try:
            target = (at / name).readlink()
        except OSError as error:  # exchanged a moment ago
            check_absent(at / name, error)
            return None
        if target.is_absolute():
            at = Path("/")
        ahead += reversed([each for each in target.parts if each != "/"])
    found = stat_of(at)
    return Way(end=at, mode=None if found is None else found.st_mode, holders=tuple(holders))
