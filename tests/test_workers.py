"""Work of a thread beside the loop: its caller pays for it, and others get their turn in between."""

import time
from functools import partial

import anyio
import pytest

from duetty.ops import timed
from duetty.session.render_jobs import MAX_SPANS
from duetty.vt import Terminal
from duetty.workers import WORK_S, Rests, in_worker


def busy(seconds: float) -> None:
    until_s = time.thread_time() + seconds
    while time.thread_time() < until_s:
        pass


@pytest.mark.anyio
async def test_what_a_worker_does_is_paid_for_by_its_caller() -> None:
    paid: list[float] = []
    other: list[float] = []

    async def calls(pays: list[float], seconds: float) -> None:
        await timed(in_worker(busy, seconds), pays.append)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(calls, paid, 0.05)
        tasks.start_soon(calls, other, 0.001)

    assert sum(paid) >= 0.05
    assert sum(other) < 0.05


@pytest.mark.anyio
async def test_work_that_fails_is_paid_for_too() -> None:
    paid: list[float] = []

    def fails() -> None:
        busy(0.02)
        raise ValueError("as it goes")

    with pytest.raises(ValueError, match="as it goes"):
        await timed(in_worker(fails), paid.append)

    assert sum(paid) >= 0.02


def test_a_terminal_that_is_read_at_length_rests_between_its_rows() -> None:
    rows: list[int] = []
    state = Terminal(cols=80, rows=50).snapshot()
    terminal = Terminal.restore(state, between_rows=partial(rows.append, 1))

    terminal.styled_screen(max_spans=MAX_SPANS)
    assert len(rows) == 50
    terminal.grid()
    assert len(rows) == 100
    terminal.feed(b"\x1b[?1049h")  # the other screen is drawn from a copy
    terminal.dump()
    assert len(rows) == 200


def test_a_rest_comes_after_work_and_not_at_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rested: list[float] = []
    monkeypatch.setattr(time, "sleep", rested.append)
    rests = Rests()
    for _ in range(20):
        busy(WORK_S / 5)
        rests()

    assert 1 <= len(rested) < 20
