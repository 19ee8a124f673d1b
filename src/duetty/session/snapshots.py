"""Snapshots for viewers: the terminal as bytes, and where in the journal output goes on.

Bytes after it are read from the journal by offset, so that a viewer costs no memory
however slow it is, and can go on from any byte that the journal still has.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import anyio

from duetty.ids import Offset, Seq
from duetty.journal import Journal
from duetty.session.render_jobs import LARGE_CELLS, cells_of, drawn
from duetty.session.session import Session

SHARED_S = 0.03
"""How old a snapshot may be that a flooded viewer gets: one at thirty a second for all of them."""

SHARED_LARGE_S = 5.0
"""The same, where making one takes seconds of a worker."""

_making: WeakKeyDictionary[Session, anyio.Lock] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything a viewer needs to begin; bytes and entries go on from here."""

    seq: Seq
    offset: Offset
    """Where in the journal it was taken: output goes on at this byte."""

    cols: int
    rows: int
    screen: bytes
    """The terminal as VT bytes, for a fresh terminal of this size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dumped:
    snapshot: Snapshot
    cols: int
    rows: int
    scrollback_rows: int | None
    at_s: float


def can_go_on(journal: Journal, offset: int) -> bool:
    """Whether everything from this byte on can be read, and was printed at this size.

    A viewer that was away while the size changed cannot know where.
    """
    if not journal.start <= offset <= journal.end or _was_resized_since(journal, offset):
        return False
    spans = journal.spans(offset, journal.end)
    return offset == journal.end or (
        len(spans) == 1 and (spans[0].start, spans[0].end) == (offset, journal.end)
    )


def _was_resized_since(journal: Journal, offset: int) -> bool:
    before = journal.size_at(offset - 1) if offset else None
    sizes = {(size.cols, size.rows) for size in journal.sizes_since(offset)}
    if before is not None:
        sizes.add((before.cols, before.rows))
    return len(sizes) > 1


async def take_snapshot(
    session: Session, *, scrollback_rows: int | None = None, not_before: int | None = None
) -> Snapshot:
    """The terminal now, with this much scrollback. Taken once for all who ask at this byte.

    With `not_before` one of a moment ago will do, if it is not older than this
    byte: in a flood every viewer asks at another byte, and each snapshot takes
    as long as a chunk of the flood itself.
    """
    above = session.total_rows if scrollback_rows is None else scrollback_rows
    cells = cells_of(session, above=above)
    if cells <= LARGE_CELLS:
        return await _snapshot(session, cells, scrollback_rows, not_before)
    # Each takes seconds of a worker: who asks meanwhile gets the same one, and the bytes since.
    async with _making.setdefault(session, anyio.Lock()):
        last = session.viewers.last_dump
        if isinstance(last, _Dumped) and anyio.current_time() - last.at_s < SHARED_LARGE_S:
            not_before = max(int(session.journal.start), 0)
        return await _snapshot(session, cells, scrollback_rows, not_before, SHARED_LARGE_S)


async def _snapshot(
    session: Session,
    cells: int,
    scrollback_rows: int | None,
    not_before: int | None,
    shared_s: float = SHARED_S,
) -> Snapshot:
    cols, rows = session.terminal_size
    oldest = session.journal.end if not_before is None else not_before
    last = session.viewers.last_dump
    if (
        isinstance(last, _Dumped)
        and (last.cols, last.rows, last.scrollback_rows) == (cols, rows, scrollback_rows)
        and last.snapshot.offset >= oldest
        and (not_before is None or anyio.current_time() - last.at_s < shared_s)
    ):
        return last.snapshot
    seq, offset = session.log.seq, session.journal.end

    def begun() -> None:
        nonlocal seq, offset, cols, rows
        seq, offset = session.log.seq, session.journal.end
        cols, rows = session.terminal_size

    screen = await drawn(
        session,
        lambda it: it.dump(scrollback_rows=scrollback_rows),
        cells=cells,
        owner=f"viewers of {session.profile.id}",
        begun=begun,
    )
    snapshot = Snapshot(seq=seq, offset=offset, cols=cols, rows=rows, screen=screen)
    session.viewers.last_dump = _Dumped(
        snapshot=snapshot,
        cols=cols,
        rows=rows,
        scrollback_rows=scrollback_rows,
        at_s=anyio.current_time(),
    )
    return snapshot
