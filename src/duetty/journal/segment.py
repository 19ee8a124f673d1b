"""A segment: one file of the journal, and the window through which it is filled.

The file is reserved ahead of the bytes, so a full disk is an error when we
reserve and never a SIGBUS when we write. The reserved area is zero. The header
carries how many bytes are certain; after a SIGKILL the bytes behind that, up to
the last one that is not NUL, had been read as well and count. NULs at the very
end are all that could be missed, and they change nothing in a terminal. With the
certain bytes goes their checksum, so that a file which was changed is known as one.

The header is reached by `pwrite`, not through a mapping: a write to a mapping
that the file system refuses (remounted read-only, say) would end the process.
"""

import errno
import mmap
import os
import struct
import threading
import zlib
from dataclasses import dataclass
from pathlib import Path

from duetty.errors import Unavailable
from duetty.journal.snapshot import discard

HEADER_BYTES = 4096
"""The header has a page of its own."""

READ_BYTES = 4096
"""What a PTY gives at once: with less room than this, the window moves first."""

FIRST_RESERVE_BYTES = 64 << 10
MAX_RESERVE_BYTES = 1 << 20
"""A session that prints little takes little disk; one that floods seldom stops to reserve."""

SUFFIX = ".segment"

_VERSION = 1
_MAGIC = b"DUETJRNL"
_STATIC = struct.Struct("<8sIQ")
"""Magic, version, base: never changed once written."""
_CHECKSUM = struct.Struct("<I")
_COUNTS = struct.Struct("<QQ")
"""Committed length, and the offset through which a gap was counted (0: no gap)."""
_COUNTS_AT = 32
_CONTENT = struct.Struct("<QI")
"""The checksum and how many bytes it covers. Older servers wrote none: then damage is not found."""
_CONTENT_AT = 64

CHECK_BYTES = 256 << 10
"""Read at once to make a checksum of it."""

_PAGE = mmap.ALLOCATIONGRANULARITY
_POPULATE_WRITE = 23
"""MADV_POPULATE_WRITE, Linux 5.14; Python has no name for it yet."""

_ZEROS = bytes(256 << 10)


def segment_path(directory: Path, base: int) -> Path:
    return directory / f"{base:020d}{SUFFIX}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """A segment file as it was found."""

    path: Path
    base: int
    end: int
    gap_through: int
    """Offsets up to here were given out, though the bytes behind `end` were not kept."""
    uncommitted_bytes: int
    cut_bytes: int = 0
    """Of what was certain: the file ends before it does."""
    content: tuple[int, int] | None = None
    """Length and checksum of what was certain, if it is what it was; None if it is not known."""
    is_garbled: bool = False


class Segment:
    """The segment being written. One writer; readers use the file."""

    def __init__(self, path: Path, *, base: int, fd: int, size: int) -> None:
        self.path = path
        self.base = base
        self._fd = fd
        self._size = size
        self._step = FIRST_RESERVE_BYTES
        self._content: tuple[int, int] | None = (0, 0)
        """None for one that was found changed: it is not vouched for any more."""
        self._committing = threading.Lock()

    @classmethod
    def create(cls, directory: Path, base: int) -> "Segment":
        """A new, empty segment; it is in its place only when it is whole.

        Raises:
            OSError: if the disk refuses; nothing is left behind.
        """
        path = segment_path(directory, base)
        part = path.with_suffix(".tmp")
        fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC, 0o600)
        segment = cls(path, base=base, fd=fd, size=0)
        try:
            segment.reserve(base + 1)
            os.pwrite(fd, _checked(_STATIC.pack(_MAGIC, _VERSION, base)), 0)
            segment.commit(base)
            part.replace(path)
        except OSError:
            segment.close()
            discard(part)
            raise
        return segment

    @classmethod
    def reopen(cls, recovered: Recovered) -> "Segment":
        """The segment again, to go on at its end.

        Raises:
            OSError: if it cannot be written.
        """
        fd = os.open(recovered.path, os.O_RDWR)
        segment = cls(recovered.path, base=recovered.base, fd=fd, size=os.fstat(fd).st_size)
        segment._content = recovered.content
        return segment

    def reserve(self, through: int) -> None:
        """Have disk for every offset below `through`.

        Raises:
            OSError: if the disk has no room, even for just that.
        """
        least = _pages(self._place(through))
        if least <= self._size:
            return
        wanted = max(least, _pages(self._size + self._step))
        try:
            self._grow(wanted)
        except OSError:
            self._step = FIRST_RESERVE_BYTES
            self._grow(least)
        else:
            self._step = min(2 * self._step, MAX_RESERVE_BYTES)

    def window(self, end: int, size: int) -> tuple[int, memoryview]:
        """About `size` reserved bytes around `end`, mapped, and the offset of the first.

        Every page is made writable now. A fault while the kernel copies would
        be a place where a killed process loses bytes already taken from the PTY,
        and a page the file system refuses is an error here and a signal there.
        Zeros are written first, though zeros are there: a file system gives out
        pages to one large write five times faster than to a fault for each.

        Raises:
            OSError: if the pages cannot be had.
        """
        place = self._place(end)
        first = place - place % _PAGE
        length = min(max(size, place - first + READ_BYTES), self._size - first)
        _write_zeros(self._fd, place, first + length)
        mapping = mmap.mmap(self._fd, length, offset=first)
        window = memoryview(mapping)
        try:
            mapping.madvise(_POPULATE_WRITE)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            _populate(window[place - first :])
        return self.base + first - HEADER_BYTES, window

    def write(self, output: bytes | memoryview, offset: int) -> None:
        """Put bytes at `offset`, without a window.

        Raises:
            OSError: if they cannot all be written.
        """
        self.reserve(offset + len(output))
        rest = memoryview(output)
        place = self._place(offset)
        while rest:
            count = os.pwrite(self._fd, rest, place)
            rest = rest[count:]
            place += count

    def commit(self, end: int, *, gap_through: int = 0) -> None:
        """Say in the header that every byte below `end` is certain.

        Raises:
            OSError: if the header cannot be written.
        """
        os.pwrite(self._fd, _checked(_COUNTS.pack(end - self.base, gap_through)), _COUNTS_AT)
        with self._committing:
            if self._content is not None and end - self.base > self._content[0]:
                self._content = _summed(self._fd, self._content, end - self.base)
                os.pwrite(self._fd, _checked(_CONTENT.pack(*self._content)), _CONTENT_AT)

    def trim(self, end: int) -> None:
        """Give back what was reserved behind `end`.

        Raises:
            OSError: if the disk refuses.
        """
        self._size = self._place(end)
        os.ftruncate(self._fd, self._size)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _place(self, offset: int) -> int:
        return HEADER_BYTES + offset - self.base

    def _grow(self, size: int) -> None:
        allocate(self._fd, self._size, size)
        self._size = size


def allocate(fd: int, start: int, end: int) -> None:
    """Have zeros on disk from `start` to `end`, or an error now.

    Raises:
        OSError: if there is no room.
    """
    try:
        os.posix_fallocate(fd, start, end - start)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
        _write_zeros(fd, start, end)


def recover(path: Path, *, check: bool = False) -> Recovered:
    """What a segment file holds, whether or not its writer came to an end.

    `check`: all of it is read, and compared with its checksum.

    Raises:
        Unavailable: if the header is damaged or of another version.
        OSError: if the file cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        header = file.read(HEADER_BYTES)
        base, committed, gap_through = _parse_header(path, header)
        size = os.fstat(file.fileno()).st_size
        known = _known_content(header)
        is_cut = known is not None and HEADER_BYTES + known[0] > size
        is_same = known is None or is_cut or not check or _is_same(file.fileno(), known)
        length = _last_byte(file.fileno(), HEADER_BYTES + committed, size) - HEADER_BYTES
    kept = min(length, size - HEADER_BYTES)
    end = base + kept
    promised = max(gap_through, base + committed)
    return Recovered(
        path=path,
        base=base,
        end=end,
        gap_through=promised if promised > end else 0,
        uncommitted_bytes=max(kept - committed, 0),
        cut_bytes=max(committed - kept, 0),
        content=known if is_same and not is_cut else None,
        is_garbled=not is_same,
    )


def is_changed(path: Path) -> bool:
    """Whether a segment is not what its checksum is of; reads all of it."""
    try:
        found = recover(path, check=True)
    except (OSError, Unavailable):
        return True
    return found.is_garbled or bool(found.cut_bytes)


def _known_content(header: bytes) -> tuple[int, int] | None:
    if not _is_intact(header, _CONTENT.size, _CONTENT_AT):
        return None
    length, checksum = _CONTENT.unpack_from(header, _CONTENT_AT)
    return length, checksum


def _is_same(fd: int, known: tuple[int, int]) -> bool:
    return _summed(fd, (0, 0), known[0]) == known


def _summed(fd: int, content: tuple[int, int], length: int) -> tuple[int, int]:
    """The checksum of so many bytes, from one of fewer."""
    done, checksum = content
    while done < length:
        part = os.pread(fd, min(CHECK_BYTES, length - done), HEADER_BYTES + done)
        if not part:
            break
        checksum = zlib.crc32(part, checksum)
        done += len(part)
    return done, checksum


def _parse_header(path: Path, header: bytes) -> tuple[int, int, int]:
    def damaged(what: str) -> Unavailable:
        return Unavailable(
            f"the journal segment {path} is damaged: {what}",
            hint="move the journal's directory away to go on without what the session printed",
            details={"path": str(path)},
        )

    if len(header) < HEADER_BYTES:
        raise damaged("its header is cut short")
    magic, version, base = _STATIC.unpack_from(header)
    if magic != _MAGIC or not _is_intact(header, _STATIC.size, 0):
        raise damaged("its header does not read as one")
    if version != _VERSION:
        raise damaged(f"it has format {version}, this server writes {_VERSION}")
    if path.name != segment_path(path.parent, base).name:
        raise damaged(f"it says it begins at {base}")
    if not _is_intact(header, _COUNTS.size, _COUNTS_AT):
        return base, 0, 0  # the bytes themselves tell where they end
    committed, gap_through = _COUNTS.unpack_from(header, _COUNTS_AT)
    return base, committed, gap_through


def _checked(fields: bytes) -> bytes:
    return fields + _CHECKSUM.pack(zlib.crc32(fields))


def _is_intact(header: bytes, length: int, at: int) -> bool:
    return header[at : at + length + _CHECKSUM.size] == _checked(header[at : at + length])


def _last_byte(fd: int, start: int, size: int) -> int:
    """Where the last byte that is not NUL ends, looking no further back than `start`."""
    end = size
    while end > start:
        block = max(start, end - len(_ZEROS))
        found = os.pread(fd, end - block, block).rstrip(b"\0")
        if found:
            return block + len(found)
        end = block
    return start


def _populate(area: memoryview) -> None:
    """Fault in an area that was never written, on kernels that cannot do so by name."""
    zero = os.open("/dev/zero", os.O_RDONLY)
    try:
        while area:
            area = area[os.readv(zero, (area,)) :]
    finally:
        os.close(zero)


def _write_zeros(fd: int, start: int, end: int) -> None:
    while start < end:
        start += os.pwrite(fd, _ZEROS[: end - start], start)


def _pages(size: int) -> int:
    return -(-size // _PAGE) * _PAGE
