"""What a trail holds in memory while its disk refuses, noted where there is room already.

The note takes the place of one as long, which a full disk takes too. So a server that is killed
meanwhile leaves word of how many records went with it.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

NOTE_BYTES = 128


class Note(NamedTuple):
    """The newest record that was held."""

    seq: int
    hash: str


def left_note(directory: Path) -> Note | None:
    """What the server before us held when it was killed."""
    try:
        seq, digest = _place(directory).read_text(encoding="ascii").split()
        return Note(int(seq), digest)
    except (OSError, ValueError):
        return None


def _place(directory: Path) -> Path:
    """Beside the trail's directory, in which there are records and nothing else."""
    return directory.with_name(f"{directory.name}.held")


class HeldNote:
    """The file with the note; without room for it there is none, and nothing else changes."""

    def __init__(self, directory: Path) -> None:
        self._fd = -1
        with suppress(OSError):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._fd = os.open(_place(directory), flags, 0o600)
            if os.fstat(self._fd).st_size < NOTE_BYTES:
                self.clear()

    def set(self, note: Note) -> None:
        self._write(f"{note.seq} {note.hash}")

    def clear(self) -> None:
        self._write("")

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _write(self, text: str) -> None:
        if self._fd >= 0:
            with suppress(OSError):
                os.pwrite(self._fd, text.ljust(NOTE_BYTES - 1).encode("ascii") + b"\n", 0)
