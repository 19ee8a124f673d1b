"""The index: when which offset was read, and every change of size.

Records of one size, only ever appended; a record that was torn or damaged costs
itself. Times are a help for people and are thinned out when there are too many;
sizes are needed to restore a screen and are kept as long as their bytes.
"""

import enum
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from duetty.ids import Offset
from duetty.journal.snapshot import discard

LIMIT_BYTES = 1 << 20
"""32768 records; beyond it every second time is forgotten, so old times grow coarse."""

PENDING_BYTES = 64 << 10
"""Sizes that wait for a disk that was full; far more than a full disk sees."""

_RECORD = struct.Struct("<QqHHHH8x")
"""Offset, wall time in ns, cols, rows, kind, checksum, and room for more."""
_CHECKED = struct.Struct("<QqHHH")


class Kind(enum.IntEnum):
    TIME = 1
    RESIZE = 2
    SNAPSHOT = 3
    """A snapshot was taken here: sizes before this record are part of it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Bytes from `offset` on were read at `wall_ns`, until the next moment."""

    offset: Offset
    wall_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """From `offset` on the program sees this size."""

    offset: Offset
    wall_ns: int
    cols: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Record:
    offset: int
    wall_ns: int
    cols: int
    rows: int
    kind: Kind

    def packed(self) -> bytes:
        fields = (self.offset, self.wall_ns, self.cols, self.rows, self.kind)
        return _RECORD.pack(*fields, zlib.crc32(_CHECKED.pack(*fields)) & 0xFFFF)


class Index:
    """The index of one journal. One writer; `times` may be asked from any thread."""

    def __init__(self, path: Path) -> None:
        """Open or create the index, mending what a killed writer left.

        Raises:
            OSError: if it cannot be written.
        """
        self._path = path
        self._fd = _open(path)
        content = path.read_bytes()
        records = list(_parse(content))
        self._size = len(content) - len(content) % _RECORD.size
        self._thin_at = max(LIMIT_BYTES, 2 * self._size)
        self._pending = b""
        self._sizes = [record for record in records if record.kind is not Kind.TIME]
        self.lost_bytes = len(content) - len(records) * _RECORD.size
        """What was torn or damaged when the index was opened."""
        if len(content) > self._size:
            os.ftruncate(self._fd, self._size)

    def add(self, kind: Kind, offset: int, *, wall_ns: int, cols: int = 0, rows: int = 0) -> None:
        """Append a record. A full disk delays a size and costs a time, and raises nothing."""
        record = _Record(offset, wall_ns, cols, rows, kind)
        if kind is not Kind.TIME:
            self._sizes.append(record)
        if not self._append(self._pending + record.packed()) and kind is not Kind.TIME:
            self._pending = (self._pending + record.packed())[-PENDING_BYTES:]
        if self._size > self._thin_at:
            self._thin()

    def sizes_since(self, offset: int) -> tuple[Size, ...]:
        """Changes of size from `offset` on, in order; not those a snapshot there includes."""
        sizes = self._sizes
        first = 0
        for place, record in enumerate(sizes):
            if record.kind is Kind.SNAPSHOT and record.offset == offset:
                first = place + 1
        return tuple(
            _size(record)
            for record in sizes[first:]
            if record.kind is Kind.RESIZE and record.offset >= offset
        )

    def size_at(self, offset: int) -> Size | None:
        """The size the program saw when it printed the byte at `offset`."""
        found = None
        for record in self._sizes:
            if record.offset > offset:
                break
            found = record
        return found and _size(found)

    def times(self, start: int, end: int) -> list[Moment]:
        """The moments of a range, beginning with the one its first byte belongs to."""
        moments: list[Moment] = []
        try:
            content = self._path.read_bytes()
        except OSError:
            return moments
        for record in _parse(content):
            if record.kind is not Kind.TIME:
                continue
            if record.offset >= end:
                break
            if record.offset <= start:
                moments.clear()
            moments.append(Moment(Offset(record.offset), record.wall_ns))
        return moments

    def prune(self, start: int) -> None:
        """Forget what was before `start`, but for the size and time in force there."""
        records = self._read()
        in_force: dict[bool, _Record] = {
            record.kind is Kind.TIME: record for record in records if record.offset < start
        }
        before = sorted(in_force.values(), key=records.index)
        self._rewrite([*before, *(record for record in records if record.offset >= start)])

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, records: bytes) -> bool:
        try:
            written = os.write(self._fd, records)
            if written < len(records):
                os.ftruncate(self._fd, self._size)
                return False
        except OSError:
            return False
        self._size += written
        self._pending = b""
        return True

    def _thin(self) -> None:
        """Forget every second time, and sizes in which nothing was printed."""
        kept: list[_Record] = []
        times = 0
        size_at: dict[int, int] = {}  # offset of the last record but times: its place in `kept`
        for record in self._read():
            if record.kind is Kind.TIME:
                times += 1
                if times % 2:
                    kept.append(record)
                continue
            place = size_at.get(record.offset)
            if place is not None and record.kind is kept[place].kind is Kind.RESIZE:
                kept[place] = record
            else:
                size_at = {record.offset: len(kept)}
                kept.append(record)
        self._rewrite(kept)
        self._thin_at = max(LIMIT_BYTES, 2 * self._size)

    def _read(self) -> list[_Record]:
        try:
            return list(_parse(self._path.read_bytes() + self._pending))
        except OSError:
            return self._sizes

    def _rewrite(self, records: list[_Record]) -> None:
        """Put another index in the place of this one; if the disk refuses, keep this one."""
        part = self._path.with_suffix(".tmp")
        content = b"".join(record.packed() for record in records)
        try:
            part.unlink(missing_ok=True)
            fd = _open(part)
        except OSError:
            return
        try:
            if os.write(fd, content) < len(content):
                raise OSError("cut short")
            part.replace(self._path)
        except OSError:
            os.close(fd)
            discard(part)
            return
        os.close(self._fd)
        self._fd = fd
        self._size = len(content)
        self._pending = b""
        self._sizes = [record for record in records if record.kind is not Kind.TIME]


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_APPEND, 0o600)


def _parse(content: bytes) -> Iterator[_Record]:
    """The records that are whole and believable."""
    whole = len(content) - len(content) % _RECORD.size
    unpacked: Iterable[tuple[int, int, int, int, int, int]] = _RECORD.iter_unpack(content[:whole])
    for *fields, checksum in unpacked:
        offset, wall_ns, cols, rows, kind = fields
        if zlib.crc32(_CHECKED.pack(*fields)) & 0xFFFF == checksum and kind in _KINDS:
            yield _Record(offset, wall_ns, cols, rows, _KINDS[kind])


_KINDS = {int(kind): kind for kind in Kind}


def _size(record: _Record) -> Size:
    return Size(
        offset=Offset(record.offset), wall_ns=record.wall_ns, cols=record.cols, rows=record.rows
    )
