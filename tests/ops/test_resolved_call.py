"""A call's session is found once and carried: what waits still means the session that it meant."""

from pathlib import Path

import anyio
import pytest

from duetty.config import Settings
from duetty.errors import SessionNotFound
from duetty.session import Registry, Session
from tests.engine import running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

GUARDED = Settings(session_grace_ms=300)


async def test_a_call_looks_its_session_up_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []
    find = Registry.find

    def counted(self: Registry, name: str) -> Session:
        found.append(name)
        return find(self, name)

    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            await engine.open()
            monkeypatch.setattr(Registry, "find", counted)
            await engine.run("echo hello")
            await engine.call("input.press", session="s", keys=["a"])
            await engine.call("screen.get", session="s")
            await engine.call("history.list", session="s")
            await engine.call("context.cwd", session="s")

    assert found == ["s"] * 5


async def test_a_line_that_waits_for_its_turn_is_not_typed_into_another_session_of_that_name(
    home: Path,
) -> None:
    refused: list[SessionNotFound] = []
    async with running_engine(home, settings=GUARDED) as engine, anyio.create_task_group() as tasks:
        with anyio.fail_after(60):
            first = await engine.open()
            await engine.run("true")

            async def type_line() -> None:
                with pytest.raises(SessionNotFound) as error:
                    await engine.call("input.write", session="s", data="touch typed\n")
                refused.append(error.value)

            async with first.run_lock:
                tasks.start_soon(type_line)
                while not first.run_lock.statistics().tasks_waiting:
                    await anyio.sleep(0)
                await engine.call("session.remove", session="s", signal="KILL")
                await engine.open()

    assert [each.code for each in refused] == ["session_not_found"]
    assert not (home / "typed").exists()
