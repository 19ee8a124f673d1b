"""A viewer that follows a session sees what the session sees."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from duetty.events import Entry, Exited, Output
from duetty.session import Follower, Snapshot, follow
from duetty.vt import Terminal
from tests.engine import Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        with anyio.fail_after(60):
            yield engine


class Viewer:
    """A terminal of its own, fed by what a follower receives."""

    def __init__(self) -> None:
        self.terminal = Terminal(cols=1, rows=1)
        self.snapshots = 0
        self.ended = False

    def take(self, item: Snapshot | Entry) -> None:
        match item:
            case Snapshot():
                self.snapshots += 1
                self.terminal = Terminal(cols=item.cols, rows=item.rows)
                self.terminal.feed(item.screen)
            case Entry(event=Output(data=data)):
                self.terminal.feed(data)
            case Entry(event=Exited()):
                self.ended = True
            case Entry():
                pass


async def watch(follower: Follower, viewer: Viewer) -> None:
    while not viewer.ended:
        viewer.take(await follower.receive())


async def test_a_viewer_that_came_in_the_middle_has_the_same_screen(engine: Engine) -> None:
    session = await engine.open(
        command="sh -c 'seq 1 50; read x; seq 51 99; printf \"\\033[3;3Hhere\"'"
    )
    await engine.call("session.wait", session="s", text="50")
    viewer = Viewer()

    with follow(session) as follower:
        viewer.take(await follower.receive())
        await engine.call("input.write", session="s", data="\r")
        await watch(follower, viewer)

    assert viewer.terminal.screen(styled=True).lines == session.screen(styled=True).lines
    assert viewer.terminal.cursor == session.screen(styled=False).cursor


async def test_a_viewer_that_fell_behind_gets_a_snapshot_and_ends_up_right(engine: Engine) -> None:
    session = await engine.open(command="sh -c 'read x; seq 1 1000000; printf \"\\033[5;1Hlast\"'")
    viewer = Viewer()

    with follow(session) as follower:
        viewer.take(await follower.receive())
        await engine.call("input.write", session="s", data="\r")
        await engine.call("session.wait", session="s", exit=True)  # and reads nothing meanwhile
        while viewer.snapshots < 2:
            viewer.take(await follower.receive())

    assert viewer.snapshots == 2
    assert viewer.terminal.screen(styled=True).lines == session.screen(styled=True).lines
