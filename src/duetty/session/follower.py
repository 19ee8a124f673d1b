"""Following a session: a snapshot, then every byte and entry after it.

Bytes are read from the journal by offset, so that a follower costs no memory
however slow it is, and can go on from any byte that the journal still has.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import anyio

from duetty.errors import OutputExpired
from duetty.events import Entry, KeysTyped, Lagged, Subscription, ViewersChanged
from duetty.ids import Offset, Seq
from duetty.session.render_jobs import LARGE_CELLS, cells_of, drawn
from duetty.session.session import Session
from duetty.session.viewers import Size, Viewer, ViewerKind

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


class Follower:
    """One viewer's way through a session."""

    def __init__(self, session: Session, entries: Subscription[Entry], viewer: Viewer) -> None:
        self.session = session
        self.viewer = viewer
        self._entries = entries

    @property
    def end(self) -> Offset:
        """The offset the next byte will have."""
        return self.session.journal.end

    @property
    def is_over(self) -> bool:
        """The session was removed, or the server ends."""
        return self._entries.is_closed

    def has(self, offset: int) -> bool:
        """Whether everything from this byte on can be read, and was printed at this size.

        Who was away while the size changed cannot know where.
        """
        journal = self.session.journal
        if not journal.start <= offset <= journal.end or self._was_resized_since(offset):
            return False
        spans = journal.spans(offset, journal.end)
        return offset == journal.end or (
            len(spans) == 1 and (spans[0].start, spans[0].end) == (offset, journal.end)
        )

    def _was_resized_since(self, offset: int) -> bool:
        journal = self.session.journal
        before = journal.size_at(offset - 1) if offset else None
        sizes = {(size.cols, size.rows) for size in journal.sizes_since(offset)}
        if before is not None:
            sizes.add((before.cols, before.rows))
        return len(sizes) > 1

    def read(self, start: int, limit: int) -> bytes | None:
        """Bytes from an offset on; None if some of them are gone."""
        journal = self.session.journal
        end = min(start + limit, int(journal.end))
        try:
            return journal.read(start, end)
        except OutputExpired:
            return None

    async def snapshot(
        self, *, scrollback_rows: int | None = None, not_before: int | None = None
    ) -> Snapshot:
        """The terminal now, with this much scrollback. Taken once for all who ask at this byte.

        With `not_before` one of a moment ago will do, if it is not older than this
        byte: in a flood every viewer asks at another byte, and each snapshot takes
        as long as a chunk of the flood itself.
        """
        session = self.session
        above = session.total_rows if scrollback_rows is None else scrollback_rows
        cells = cells_of(session, above=above)
        if cells <= LARGE_CELLS:
            return await self._snapshot(cells, scrollback_rows, not_before)
        # Each takes seconds of a worker: who asks meanwhile gets the same one, and the bytes since.
        async with _making.setdefault(session, anyio.Lock()):
            last = session.viewers.last_dump
            if isinstance(last, _Dumped) and anyio.current_time() - last.at_s < SHARED_LARGE_S:
                not_before = max(int(session.journal.start), 0)
            return await self._snapshot(cells, scrollback_rows, not_before, SHARED_LARGE_S)

    async def _snapshot(
        self,
        cells: int,
        scrollback_rows: int | None,
        not_before: int | None,
        shared_s: float = SHARED_S,
    ) -> Snapshot:
        session = self.session
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
        screen = await drawn(
            session, lambda it: it.dump(scrollback_rows=scrollback_rows), cells=cells
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

    def take(self) -> Entry | Lagged | None:
        """The next entry, if one is there."""
        return self._entries.take()

    def clear(self) -> None:
        """Forget the entries so far: what is asked for now has all of them."""
        self._entries.clear()

    async def wait(self, *, output: bool = True) -> None:
        """Until there are entries, or bytes if those are wanted, or the session is gone."""
        self._entries.wants_output = output
        await self._entries.wait()

    def skip_keys(self) -> None:
        """This viewer is not told what people type: it sees what the program makes of it."""
        self._entries.skips = KeysTyped

    def tell_output(self, tell: Callable[[], bool] | None) -> None:
        """Call this in the very turn in which the program prints; when it says no, `wait` ends."""
        self._entries.on_output = tell

    def wake(self) -> None:
        """Wake every waiter."""
        self._entries.wake()


@contextmanager
def follow(
    session: Session, *, kind: ViewerKind = "api", name: str = "", size: Size | None = None
) -> Generator[Follower]:
    """Look at a session until the block is left.

    Raises:
        Exhausted: if too many look at it.
    """
    viewer = session.viewers.add(kind=kind, name=name, size=size)
    try:
        session.log.append(ViewersChanged(viewers=len(session.viewers)))
        with session.log.subscribe() as entries:
            yield Follower(session, entries, viewer)
    finally:
        session.viewers.remove(viewer)
        session.log.append(ViewersChanged(viewers=len(session.viewers)))
        if not session.viewers:
            session.viewers.last_dump = None
