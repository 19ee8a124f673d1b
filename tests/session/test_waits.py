"""Waiting for what a session does: silence, text, a block, the exit, a state."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.errors import IdleTimeout, SessionExited, WaitTimeout
from tests.engine import Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        await engine.open(command="bash")
        await engine.run("true")
        with anyio.fail_after(60):
            yield engine


async def type_line(engine: Engine, line: str) -> None:
    await engine.call("input.write", session="s", data=f"{line}\r")


async def wait(engine: Engine, **condition: object) -> Any:
    return await engine.call("session.wait", session="s", **condition)


async def test_a_text_is_waited_for_until_it_is_shown(engine: Engine) -> None:
    await type_line(engine, "sleep 0.3; echo rea''dy; sleep 100")

    waited = await wait(engine, text="ready")

    assert (waited.reason, waited.match, waited.state) == ("text", "ready", "running")


async def test_an_expression_is_waited_for_and_what_matched_is_told(engine: Engine) -> None:
    await type_line(engine, "sleep 0.3; echo port=$((4000+242)); sleep 100")

    waited = await wait(engine, regex=r"port=\d{4}")

    assert (waited.reason, waited.match) == ("text", "port=4242")


async def test_the_next_block_is_waited_for_and_told_with_its_code(engine: Engine) -> None:
    await type_line(engine, "sleep 0.3; (exit 6)")

    waited = await wait(engine, block=1)

    assert (waited.reason, waited.block.number, waited.block.exit_code) == ("block", 2, 6)
    assert waited.block.command_line == "sleep 0.3; (exit 6)"


async def test_the_exit_is_waited_for_and_told_with_its_code(engine: Engine) -> None:
    await type_line(engine, "sleep 0.3; exit 4")

    waited = await wait(engine, exit=True)

    assert (waited.reason, waited.exit_code, waited.state) == ("exit", 4, "exited")


async def test_silence_since_the_last_generation_is_none(engine: Engine) -> None:
    seen = await wait(engine, idle_ms=100)

    with pytest.raises(IdleTimeout):
        await wait(engine, idle_ms=50, last_generation=seen.generation, max_wait_ms=400)
    at_once = await wait(engine, idle_ms=50, last_generation=seen.generation - 1, max_wait_ms=400)

    assert (seen.reason, at_once.generation) == ("idle", seen.generation)


async def test_fresh_silence_begins_with_the_call(engine: Engine) -> None:
    await wait(engine, idle_ms=300)

    with pytest.raises(IdleTimeout):
        await wait(engine, idle_ms=250, fresh=True, max_wait_ms=100)
    assert (await wait(engine, idle_ms=250, max_wait_ms=100)).reason == "idle"


async def test_what_does_not_come_is_told_at_the_bound_with_the_screen(engine: Engine) -> None:
    await type_line(engine, "echo some''thing; read x")
    await wait(engine, state=["awaiting_input"])

    with pytest.raises(WaitTimeout) as told:
        await wait(engine, text="never", max_wait_ms=100)

    assert told.value.details["state"] == "awaiting_input"
    assert "something" in told.value.details["screen"]["lines"]  # type: ignore[index]


async def test_a_process_that_goes_ends_the_wait_for_anything_else(engine: Engine) -> None:
    await type_line(engine, "exit 4")

    with pytest.raises(SessionExited):
        await wait(engine, text="never")
