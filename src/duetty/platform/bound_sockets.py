"""Where unix sockets of other programs are bound, as the kernel lists them."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MAX_PROCESSES = 5_000
"""Looked through for the directory of one that named its socket without any."""


def bound_sockets() -> Iterator[Path]:
    """Their paths, also of those that are gone; none where that cannot be read."""
    try:
        text = Path("/proc/net/unix").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return
    relative: dict[str, str] = {}
    for line in text.split("\n")[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) < 8:
            continue
        if fields[7].startswith("/"):
            yield Path(fields[7])
        else:
            relative[fields[6]] = fields[7]
    if relative:
        yield from _placed(relative)


def _placed(relative: dict[str, str]) -> Iterator[Path]:
    """Sockets that were bound by a name without a directory: it is in that of a process that has it.

    As far as that can be seen: a process that went elsewhere since took the answer with it.
    """
    wanted = {f"socket:[{inode}]": name for inode, name in relative.items()}
    looked_at = 0
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        looked_at += 1
        if looked_at > MAX_PROCESSES:
            return
        with suppress(OSError):
            directory = (process / "cwd").readlink()
            for fd in (process / "fd").iterdir():
                with suppress(OSError):
                    if (name := wanted.get(str(fd.readlink()))) is not None:
                        yield Path(os.path.normpath(directory / name))
