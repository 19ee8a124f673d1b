"""Extents: the segments of a journal as readers see them.

A reader takes the end of the journal first and its extents second, each in one
step. Extents may be added, sealed and dropped meanwhile, but an offset below that
end keeps its meaning: there, in a gap, or expired. So readers need no lock.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from duetty.errors import OutputExpired
from duetty.ids import Offset
from duetty.journal.segment import HEADER_BYTES


class Span(NamedTuple):
    """Offsets from `start` up to and not including `end`."""

    start: Offset
    end: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """One segment file and the offsets it holds."""

    path: Path
    base: int
    end: int | None
    """None while it is being written: it then ends where the journal does."""
    snapshot_bytes: int

    def end_below(self, end: int) -> int:
        return end if self.end is None else min(self.end, end)


Extents = tuple[Extent, ...]
"""In order of offset, never empty; the last is the one being written."""


def find_spans(extents: Extents, start: int, end: int) -> list[Span]:
    """The parts of a range that are there, joined where nothing is between them."""
    found: list[Span] = []
    for extent in extents:
        first = max(start, extent.base)
        stop = extent.end_below(end)
        if first >= stop:
            continue
        if found and found[-1].end == first:
            first = found.pop().start
        found.append(Span(Offset(first), Offset(stop)))
    return found


def find_gaps(extents: Extents, end: int) -> tuple[Span, ...]:
    """What is missing between the first extent and the end."""
    at = extents[0].base
    found: list[Span] = []
    for span in find_spans(extents, at, end):
        if at < span.start:
            found.append(Span(Offset(at), span.start))
        at = span.end
    if at < end:
        found.append(Span(Offset(at), Offset(end)))
    return tuple(found)


def read_chunks(extents: Extents, start: int, end: int, *, size: int) -> Iterator[bytes]:
    """The bytes of a range, piece by piece.

    Raises:
        OutputExpired: if some of them are gone, or go while they are read.
    """
    at = start
    for extent in extents:
        stop = extent.end_below(end)
        if stop <= at:
            continue
        if extent.base > at:
            break
        yield from _read_extent(extent, at, stop, size=size)
        at = stop
    if at < end:
        raise _expired(at, end)


def _read_extent(extent: Extent, start: int, end: int, *, size: int) -> Iterator[bytes]:
    try:
        fd = os.open(extent.path, os.O_RDONLY)
    except FileNotFoundError as error:
        raise _expired(start, end) from error
    try:
        while start < end:
            chunk = os.pread(fd, min(size, end - start), HEADER_BYTES + start - extent.base)
            if not chunk:
                raise _expired(start, end)
            yield chunk
            start += len(chunk)
    finally:
        os.close(fd)


def _expired(start: int, end: int) -> OutputExpired:
    return OutputExpired(
        f"the journal no longer has all bytes from {start} to {end}",
        hint="a larger journal limit keeps more; a full disk keeps nothing",
        details={"start": start, "end": end},
    )
