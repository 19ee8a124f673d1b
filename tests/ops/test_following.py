"""A viewer that follows a session sees what the session sees."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from duetty.errors import Exhausted
from duetty.ops import View
from duetty.session import Snapshot
from duetty.session.viewers import MAX_VIEWERS
from duetty.vt import Terminal
from tests.engine import AGENT, Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        with anyio.fail_after(90):
            yield engine


class Viewer:
    """A terminal of its own: a snapshot, then bytes by offset."""

    def __init__(self, view: View, snapshot: Snapshot) -> None:
        self.view = view
        self.offset: int = snapshot.offset
        self.terminal = Terminal(cols=snapshot.cols, rows=snapshot.rows)
        self.terminal.feed(snapshot.screen)

    def catch_up(self) -> None:
        while self.offset < self.view.end:
            data = self.view.read(self.offset, 4_096)
            assert data
            self.terminal.feed(data)
            self.offset += len(data)


async def test_a_viewer_that_came_in_the_middle_has_the_same_screen(engine: Engine) -> None:
    session = await engine.open(
        command="sh -c 'seq 1 50; read x; seq 51 99; printf \"\\033[3;3Hhere\"'"
    )
    await engine.call("session.wait", session="s", text="50")

    with engine.dispatcher.follow(AGENT, "s") as view:
        viewer = Viewer(view, await view.snapshot())
        await engine.call(
            "input.write", session="s", data="answer\r"
        )  # whose echo is the next byte
        while not session.is_exited:
            await view.wait()
            viewer.catch_up()
        viewer.catch_up()

    assert viewer.terminal.screen(styled=True).lines == session.screen(styled=True).lines
    assert viewer.terminal.text(join_wraps=True) == session.text(first_row=0)
    assert viewer.terminal.cursor == session.screen(styled=False).cursor


async def test_bytes_that_the_journal_dropped_are_said_to_be_gone(engine: Engine) -> None:
    await engine.open(command="sh -c 'read x; seq 1 100'")

    with engine.dispatcher.follow(AGENT, "s") as view:
        assert view.has(view.end)
        assert not view.has(view.end + 1)
        assert view.read(view.end + 5, 10) == b""
        assert not view.has(-1)


async def test_after_a_change_of_size_nobody_can_go_on_at_an_earlier_byte(engine: Engine) -> None:
    await engine.open(command="sh -c 'echo one; read x; echo two; read y'")
    await engine.call("session.wait", session="s", text="one")

    with engine.dispatcher.follow(AGENT, "s") as view:
        before = view.end
        assert view.has(before)
        await engine.call("session.resize", session="s", cols=100, rows=30)
        assert not view.has(before)
        await engine.call("input.write", session="s", data="\r")
        await engine.call("session.wait", session="s", text="two")
        assert not view.has(before)
        assert view.has(view.end)


async def test_viewers_at_the_same_byte_share_one_snapshot(engine: Engine) -> None:
    await engine.open(command="cat")

    with engine.dispatcher.follow(AGENT, "s") as one, engine.dispatcher.follow(AGENT, "s") as other:
        first = await one.snapshot(scrollback_rows=0)
        second = await other.snapshot(scrollback_rows=0)

    assert first.screen is second.screen


async def test_flooded_viewers_share_a_snapshot_of_a_moment_ago(engine: Engine) -> None:
    await engine.open(command="cat")

    with engine.dispatcher.follow(AGENT, "s") as one, engine.dispatcher.follow(AGENT, "s") as other:
        first = await one.snapshot(scrollback_rows=0)
        await engine.call("input.write", session="s", data="x")
        while other.end == first.offset:
            await other.wait()
        shared = await other.snapshot(scrollback_rows=0, not_before=first.offset)
        newer = await other.snapshot(scrollback_rows=0, not_before=first.offset + 1)

    assert shared in (first, newer)  # a slow machine may have let the moment pass
    assert newer.offset > first.offset


async def test_only_so_many_may_look_at_a_session(engine: Engine) -> None:
    session = await engine.open(command="cat")
    viewers = [session.viewers.add(kind="api", name="") for _ in range(MAX_VIEWERS)]

    with pytest.raises(Exhausted), engine.dispatcher.follow(AGENT, "s"):
        pass

    session.viewers.remove(viewers[0])
    with engine.dispatcher.follow(AGENT, "s"):
        assert len(session.viewers) == MAX_VIEWERS
