"""The workspace of a directory: what an agent may change there without a question.

The repository that the directory is in, else the directory itself; never a home, and nothing that
the system or several people share.
"""

import os
from pathlib import Path

_SYSTEM = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr"}
)
_OTHERS = frozenset({"home", "Users", "var"})
_SHARED = frozenset({"media", "mnt", "opt", "root", "srv", "tmp"})
MAX_DEPTH = 64


def workspace_of(directory: str, home: str) -> str:
    """Absolute, or empty where there is none; looks at the disk for a repository."""
    if not directory.startswith("/"):
        return ""
    place = Path(os.path.normpath(directory))
    for parent in (place, *place.parents)[:MAX_DEPTH]:
        if not _may_be(parent, home):
            break
        if os.path.lexists(parent / ".git"):
            return str(parent)
    return str(place) if _may_be(place, home) else ""


def _may_be(place: Path, home: str) -> bool:
    """What stands directly below the root is shared, but for such as `/app` of a container."""
    top, *below = place.parts[1:] or ("",)
    if not top or top in _SYSTEM or place == Path(os.path.normpath(home or "/")):
        return False
    if top in _OTHERS:
        return len(below) > 1
    return bool(below) or top not in _SHARED
