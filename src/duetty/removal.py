"""Removing directories that programs have filled, with whatever they liked.

How deep and how wide such a tree is decides neither how long the server is held up nor whether it
goes on: the tree is moved aside, and a process of little priority, which init adopts and which may
outlive the server, takes it away. What it leaves is found and removed at the next start.
"""

import logging
import os
import subprocess
from contextlib import suppress
from itertools import islice
from pathlib import Path
from secrets import token_hex

ASIDE = ".gone-"
"""Begins the names of trees that were moved aside."""

FEW = 16
"""Files that are removed at once: no process is worth its start for those."""

_REMOVE = """nice -n 19 /bin/sh -c 'rm -rf -- "$@" || { chmod -R u+rwx -- "$@"; rm -rf -- "$@"; }' sh "$@" \\
    </dev/null >/dev/null 2>&1 &"""
_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"

log = logging.getLogger("duetty.removal")


def remove_trees(*trees: Path) -> None:
    """Each is gone at once, by its name; never raises, whatever is in it."""
    left = [aside for tree in trees if not _is_gone(tree) and (aside := _aside(tree))]
    if not left:
        return
    try:
        subprocess.run(  # noqa: S603 - of the system, with names that it takes as they are
            ["/bin/sh", "-c", _REMOVE, "sh", *left],
            check=False,
            cwd="/",
            env={"PATH": _PATH},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        log.warning("clearing_failed", extra={"trees": len(left), "reason": error.strerror})


def _is_gone(tree: Path) -> bool:
    """Whether it was one of few files, or nothing at all. Below it nothing is looked at: the process that
    fills it may put a link there meanwhile.
    """
    try:
        with os.scandir(tree) as entries:
            found = [Path(entry.path) for entry in islice(entries, FEW)]
        for each in found:
            try:
                each.unlink()
            except (IsADirectoryError, PermissionError):
                each.rmdir()
        tree.rmdir()
    except FileNotFoundError:
        return not os.path.lexists(tree)
    except OSError:
        return False
    return True


def _aside(tree: Path) -> str | None:
    """Where it is now. It stays where it is, if it must; that it is removed from there is all the same."""
    aside = tree.with_name(f"{ASIDE}{token_hex(8)}")
    with suppress(OSError):
        tree.rename(aside)
        return str(aside)
    return str(tree) if os.path.lexists(tree) else None
