"""Small JSON files for this user only, written whole or not at all. Knows nothing of what they hold."""

import json
import os
from pathlib import Path


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
