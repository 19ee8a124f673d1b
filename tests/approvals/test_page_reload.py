"""A page that is loaded again is away for a moment, and is asked all the same."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from duetty.approvals import Approvals, attendance
from duetty.calls import Actor
from duetty.clock import SystemClock
from duetty.store import Store

pytestmark = pytest.mark.anyio

ANNA = Actor(kind="person", name="anna")


class NoTrail:
    def record(self, kind: str, **fields: object) -> int:
        return 0


@pytest.fixture
def approvals(tmp_path: Path) -> Iterator[Approvals]:
    with Store.open(tmp_path / "db") as store:
        yield Approvals(store, NoTrail(), SystemClock(), wait_s=60)


async def test_somebody_who_left_a_moment_ago_is_waited_for(approvals: Approvals) -> None:
    back: list[bool] = []

    async def wait() -> None:
        back.append(await approvals.attendance.comes_back())

    with anyio.fail_after(30), approvals.attendance.attending(ANNA):
        pass
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert back == []
            with approvals.attendance.attending(ANNA):
                while not back:
                    await anyio.sleep(0)

    assert back == [True]


async def test_nobody_is_waited_for_who_was_never_there(approvals: Approvals) -> None:
    with anyio.fail_after(30):
        assert not await approvals.attendance.comes_back()


async def test_whoever_stays_away_is_not_waited_for_long(
    approvals: Approvals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attendance, "RETURN_S", 0.05)
    with approvals.attendance.attending(ANNA):
        pass

    with anyio.fail_after(30):
        assert not await approvals.attendance.comes_back()
