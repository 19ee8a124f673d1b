"""A session's record beside its journal.

Written before a caller gets the session, so that a server which was killed
a moment later, or has lost its database, still finds it.
"""

import json
from dataclasses import asdict
from pathlib import Path

from duetty.store import SessionRecord

NAME = "session.json"


def write_sidecar(directory: Path, record: SessionRecord) -> None:
    """Replace the record, whole or not at all.

    Raises:
        OSError: if the disk refuses.
    """
    temporary = directory / f"{NAME}.new"
    temporary.touch(mode=0o600)
    temporary.write_text(json.dumps(asdict(record)), encoding="utf-8")
    temporary.replace(directory / NAME)


def read_sidecar(directory: Path) -> SessionRecord | None:
    """None if there is none, or none that can be read."""
    try:
        fields = json.loads((directory / NAME).read_text(encoding="utf-8"))
        fields["command"] = tuple(fields["command"])
        fields["tags"] = tuple(fields["tags"])
        return SessionRecord(**fields)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
