"""What a caller asked for ends when it leaves, unless that would leave a change half done."""

import threading
from pathlib import Path

import anyio
import pytest

from duetty.session import drawn
from duetty.vt import Terminal
from tests.engine import running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

PAINT = """
import sys
for n in range(200 * 108):
    sys.stdout.write("\\x1b[38;2;%d;%d;%dm%c" % (n % 256, n * 7 % 256, n * 13 % 256, 65 + n % 26))
sys.stdout.write("\\x1b[0m\\n")
"""


async def test_a_read_that_waits_for_a_worker_ends_with_its_caller(home: Path) -> None:
    gone, free = anyio.Event(), threading.Event()

    def hold(terminal: Terminal) -> None:
        free.wait(30)

    async with running_engine(home) as engine, anyio.create_task_group() as tasks:
        session = await engine.open(cols=200, rows=100)

        async def ask(scope: anyio.CancelScope) -> None:
            with scope:
                await engine.call("screen.get", session="s", format="styled")
            gone.set()

        async def occupy(owner: str) -> None:
            await drawn(session, hold, cells=20_000, owner=owner)

        try:
            for owner in ("one", "other"):  # all workers there are
                tasks.start_soon(occupy, owner)
            scope = anyio.CancelScope()
            tasks.start_soon(ask, scope)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()

            with anyio.fail_after(5):
                await gone.wait()
        finally:
            free.set()


async def test_a_screen_of_too_many_styles_comes_without_them(home: Path) -> None:
    (home / "paint.py").write_text(PAINT)
    async with running_engine(home) as engine:
        await engine.open(cols=200, rows=110)
        with anyio.fail_after(60):
            few = await engine.call("screen.get", session="s", format="styled")
            await engine.run(f"python3 {home}/paint.py")
            many = await engine.call("screen.get", session="s", format="styled")

    assert not any(isinstance(line, str) for line in few["lines"])
    assert all(isinstance(line, str) for line in many["lines"])
    assert len(many["lines"][10]) == 200
