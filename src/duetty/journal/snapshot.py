"""A snapshot file: the terminal at one offset, complete or not there.

It is written beside its place and renamed into it, so a reader finds a whole
snapshot or none; the checksum is for what happens to files afterwards.
"""

import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

MAX_SNAPSHOT_BYTES = 64 << 20
"""More than any scrollback we keep; a larger one is a mistake of the owner."""

_HEADER = struct.Struct("<8sHHQQI")
"""Magic with version, cols, rows, base, length, checksum of the content."""

_MAGIC = b"DUETSNP1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The terminal at `base`, in the owner's own format."""

    content: bytes
    cols: int
    rows: int
    base: int


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Put the snapshot at `path`, whole or not at all.

    Raises:
        OSError: if the disk refuses; `path` is then as it was.
    """
    content = snapshot.content
    header = _HEADER.pack(
        _MAGIC, snapshot.cols, snapshot.rows, snapshot.base, len(content), zlib.crc32(content)
    )
    part = path.with_suffix(".tmp")
    try:
        with open(
            os.open(part, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC, 0o600), "wb"
        ) as file:
            file.write(header)
            file.write(content)
        part.replace(path)
    except OSError:
        discard(part)
        raise


def read_snapshot(path: Path) -> Snapshot | None:
    """The snapshot at `path`; None if there is none or it is damaged."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
            if len(header) != _HEADER.size:
                return None
            magic, cols, rows, base, length, checksum = _HEADER.unpack(header)
            if magic != _MAGIC or length > MAX_SNAPSHOT_BYTES:
                return None
            content = file.read(length)
    except OSError:
        return None
    if len(content) != length or zlib.crc32(content) != checksum:
        return None
    return Snapshot(content=content, cols=cols, rows=rows, base=base)


def snapshot_size(path: Path) -> int:
    """What the snapshot takes on disk; 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def discard(path: Path) -> None:
    """Remove a file that is no longer needed, if the disk lets us."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return
