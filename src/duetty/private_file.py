"""Small JSON files for this user only, written whole or not at all. Knows nothing of what they hold."""

import json
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

PUT_ASIDE = ".unreadable"
"""Behind the name of a file that was found damaged: `status` names it, `duetty repair` knows what to do."""

log = logging.getLogger("duetty.state")

Shape = TypeVar("Shape")


def read_private(file: Path, shape: Callable[[Any], Shape]) -> Shape | None:
    """What `shape` makes of the file's JSON; None where there is none.

    A file of which it can make nothing is put aside: the next that is written would be in its place.
    """
    try:
        return shape(json.loads(file.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        log.warning("file_unreadable", extra={"file": str(file), "reason": str(error)[:200]})
        if not isinstance(error, OSError):
            with suppress(OSError):
                put_aside(file)
        return None


def put_aside(file: Path) -> None:
    """Raises:
    OSError: if it cannot be renamed.
    """
    file.replace(file.with_name(f"{file.name}{PUT_ASIDE}"))


def all_put_aside(directory: Path) -> list[Path]:
    """None, while there is no descriptor left to look with: who asks wants to know other things too."""
    try:
        return sorted(directory.glob(f"*{PUT_ASIDE}"))
    except OSError:
        return []


def write_private(file: Path, content: object) -> None:
    """Put another content in place of the file's.

    Raises:
        OSError: if it cannot be written; the file is as before then.
    """
    beside = file.with_suffix(".new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        json.dump(content, out)
    beside.replace(file)
