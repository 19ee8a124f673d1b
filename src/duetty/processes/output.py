"""What a process printed on one stream: on disk up to a bound, its last bytes in memory always."""

import os
from pathlib import Path
from typing import NamedTuple

TAIL_BYTES = 64 * 1024
"""Kept in memory, so that the end of an output beyond the bound can be read, too."""


class Piece(NamedTuple):
    """Bytes from an offset on, as far as they are kept."""

    data: bytes
    offset: int
    """Where `data` begins; after the one asked for, where bytes in between are gone."""

    end: int


class Output:
    """Append-only, bounded; reading never waits for the disk to be written."""

    def __init__(self, path: Path, *, limit_bytes: int) -> None:
        self._path = path
        self._limit = limit_bytes
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._on_disk: int = 0
        self._tail = bytearray()
        self.total_bytes: int = 0
        self.is_open = True
        """Whether more may come."""

    def append(self, data: bytes) -> None:
        room = min(len(data), self._limit - self._on_disk)
        # Contiguous or not at all: after the first byte that is not on disk, none is.
        if room > 0 and self._on_disk == self.total_bytes:
            self._on_disk += self._write(data[:room])
        self.total_bytes += len(data)
        self._tail += data
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    def _write(self, data: bytes) -> int:
        written = 0
        try:
            while written < len(data):
                written += os.pwrite(self._fd, data[written:], self._on_disk + written)
        except OSError:
            self._limit = self._on_disk + written  # the disk is full: the tail is what stays
        return written

    def read(self, offset: int, limit: int) -> Piece:
        """Up to `limit` bytes from `offset` on; negative counts from the end."""
        start = max(0, self.total_bytes + offset) if offset < 0 else min(offset, self.total_bytes)
        if start < self._on_disk:
            data = os.pread(self._fd, min(limit, self._on_disk - start), start)
            return Piece(data, start, start + len(data))
        in_memory = self.total_bytes - len(self._tail)
        start = max(start, in_memory)
        data = bytes(self._tail[start - in_memory :][:limit])
        return Piece(data, start, start + len(data))

    def end(self) -> None:
        """Nothing more comes."""
        self.is_open = False

    def close(self) -> None:
        """Give the room back."""
        self.is_open = False
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._path.unlink(missing_ok=True)
