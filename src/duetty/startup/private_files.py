"""Small files that only their owner may read."""

import os
from pathlib import Path

from duetty.errors import StateUnwritable


def write_private(path: Path, text: str) -> None:
    """Write a small file that only its owner may read, whole or not at all.

    Raises:
        StateUnwritable: if that is not possible.
    """
    temporary = path.with_name(f"{path.name}.new")
    try:
        fd = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC | os.O_CLOEXEC, 0o600
        )
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        temporary.replace(path)
    except OSError as error:
        raise StateUnwritable(
            f"cannot write {path}: {error.strerror}", hint="free some space or set DUETTY_HOME"
        ) from error


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
