"""The lane leaves nobody behind: whoever has something to take, or has become quiet, gets a turn."""

from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import anyio
import pytest

from duetty.journal import Intake, Journal
from duetty.session.lane import Lane
from tests.journal.fakes import pipe

pytestmark = pytest.mark.anyio


class Member:
    """A flood that says when the lane lets it go."""

    def __init__(self, lane: Lane, journal: Journal, fd: int) -> None:
        self.lane = lane
        self.journal = journal
        self.fd = fd
        self.left = anyio.Event()
        intake = journal.open_intake(fd)
        assert intake is not None
        self.intake: Intake = intake
        lane.enter(self, fd, intake)

    def take(self, slice_s: float) -> bool:
        return bool(self.journal.take(1024))

    def settle(self) -> None:
        self.lane.leave(self.fd)
        self.intake.close()
        self.left.set()

    def fail(self, error: Exception) -> None:
        raise error


@contextmanager
def members(directory: Path, count: int) -> Generator[list[Member]]:
    lane = Lane()
    with ExitStack() as kept:
        journals = [
            kept.enter_context(closing(Journal.create(directory / str(number))))
            for number in range(count)
        ]
        readers = [kept.enter_context(pipe())[0] for _ in range(count)]
        kept.callback(lane.close)
        yield [Member(lane, *each) for each in zip(journals, readers, strict=True)]


async def test_floods_that_end_at_the_same_moment_all_leave_the_lane(home: Path) -> None:
    with members(home, 3) as floods, anyio.fail_after(10):
        for flood in floods:
            await flood.left.wait()


async def test_a_quiet_flood_that_the_loop_overlooked_is_told_of_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with members(home, 1) as (flood,), anyio.fail_after(10):
        overlooked = anyio.Event()

        def overlook(_lane: Lane) -> None:
            monkeypatch.undo()
            overlooked.set()

        monkeypatch.setattr(Lane, "_turn", overlook)
        await overlooked.wait()
        await flood.left.wait()
