"""Following a session: a snapshot, then every entry after it; again after falling behind."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from duetty.events import Entry, Lagged, Subscription
from duetty.ids import Offset, Seq
from duetty.session.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything a viewer needs to begin; entries after `seq` go on from here."""

    seq: Seq
    offset: Offset
    """Where in the journal the screen was taken: output goes on at this byte."""

    cols: int
    rows: int
    screen: bytes
    """The terminal as VT bytes, for a fresh terminal of this size."""


class Follower:
    """One viewer's way through a session."""

    def __init__(self, session: Session, entries: Subscription) -> None:
        self._session = session
        self._entries = entries
        self._behind = True

    async def receive(self) -> Snapshot | Entry:
        """A snapshot first and after each gap, otherwise the next entry.

        Raises:
            anyio.EndOfStream: when the session is gone and everything was received.
        """
        while not self._behind:
            item = await self._entries.receive()
            if isinstance(item, Entry):
                return item
            assert isinstance(item, Lagged)
            self._behind = True
        # Entries that were queued before the snapshot are part of it.
        self._entries.clear()
        self._behind = False
        return snapshot(self._session)


def snapshot(session: Session) -> Snapshot:
    return Snapshot(
        seq=session.log.seq,
        offset=session.journal.end,
        cols=session.profile.cols,
        rows=session.profile.rows,
        screen=session.dump(),
    )


@contextmanager
def follow(session: Session) -> Generator[Follower]:
    with session.log.subscribe() as entries:
        yield Follower(session, entries)
