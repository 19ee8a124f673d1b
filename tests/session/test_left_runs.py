"""What a caller stopped waiting for: bounded as a run in the background, until somebody uses it."""

from pathlib import Path

import anyio
import pytest

from tests.engine import AGENT, Engine, running_engine
from tests.ops.at_a_shell import ANNA

pytestmark = [pytest.mark.anyio, pytest.mark.shells]


async def ended(engine: Engine) -> list[tuple[str | None, str | None]]:
    """Of what was left running: the line, and which of its bounds ended it."""
    found = await engine.call("command.ended")
    return [(each.command_line, each.bound_reached) for each in found]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash"])
async def test_a_run_that_outlives_its_wait_is_ended_at_its_deadline_and_its_shell_is_not(
    engine: Engine, shell: str
) -> None:
    session = await engine.open(command=shell)
    line = "sleep 600; sleep 601"

    left = await engine.run(line, max_wait_ms=300, max_run_ms=500)
    await engine.call("session.wait", session="s", state=["prompt"])
    next_run = await engine.run("echo next")

    assert left.completed_by == "deadline"
    assert await ended(engine) == [(line, "deadline")]
    assert (next_run.output, session.is_exited) == ("next", False)


async def test_a_session_names_the_run_that_outlived_its_wait_its_end_and_its_owner(
    engine: Engine,
) -> None:
    await engine.open(command="bash")

    left = await engine.run("sleep 600", max_wait_ms=1_000, max_run_ms=600_000)
    shown = await engine.call("session.get", session="s")

    assert left.background.ends_at is not None
    assert shown.background.ends_at == left.background.ends_at
    assert shown.background.block == left.block
    assert left.background.owner == AGENT.identity


async def test_a_run_that_outlives_its_wait_is_ended_when_it_prints_more_than_its_cap(
    engine: Engine,
) -> None:
    await engine.open(command="bash")

    await engine.run("yes", max_wait_ms=100, max_run_bytes=20_000, max_output_bytes=256)
    await engine.call("session.wait", session="s", state=["prompt"])

    assert await ended(engine) == [("yes", "output")]


async def test_a_program_that_takes_no_notice_is_ended_all_the_same(engine: Engine) -> None:
    session = await engine.open(command="bash")
    line = "trap '' INT HUP; while :; do sleep 0.1; done"

    await engine.run(line, max_wait_ms=300, max_run_ms=400)
    await engine.call("session.wait", session="s", exit=True)

    assert session.is_exited  # the loop is the shell's own: nothing less ends it
    assert await ended(engine) == [(line, "deadline")]


@pytest.mark.parametrize("by", [AGENT, ANNA])
async def test_a_program_that_somebody_types_into_is_not_ended(engine: Engine, by: object) -> None:
    await engine.open(command="bash")
    line = "sleep 0.5; read -r a; echo got $a; sleep 1; echo after"

    left = await engine.run(line, max_wait_ms=100, max_run_ms=1_200)
    await engine.dispatcher.call(by, "input.write", {"session": "s", "data": "it\r"})  # type: ignore[arg-type]
    told = await engine.call("session.get", session="s")
    waited = await engine.call("session.wait", session="s", text="after", max_wait_ms=20_000)

    assert left.background.ends_at is not None
    assert (told.background.ends_at, told.background.max_output_bytes) == (None, None)
    assert waited.match == "after"


async def test_an_interrupt_that_had_no_effect_leaves_the_deadline_as_it_is(
    engine: Engine,
) -> None:
    await engine.open(command="bash")
    line = "(trap '' INT; while :; do sleep 0.1; done)"

    await engine.run(line, max_wait_ms=300, max_run_ms=1_000)
    await engine.call("input.press", session="s", keys=["Ctrl-C"])
    await engine.call("session.wait", session="s", state=["prompt"])

    assert await ended(engine) == [(line, "deadline")]


async def test_in_a_terminal_that_a_person_opened_nothing_is_ended(engine: Engine) -> None:
    await engine.dispatcher.call(ANNA, "session.open", {"name": "s", "command": "bash"})

    left = await engine.run("sleep 1; echo after", max_wait_ms=100, max_run_ms=150)
    await engine.call("session.wait", session="s", state=["prompt"])

    assert (left.background.ends_at, left.background.max_output_bytes) == (None, None)
    assert await ended(engine) == [("sleep 1; echo after", None)]


async def test_a_run_that_was_left_keeps_its_deadline_over_a_restart(home: Path) -> None:
    async with running_engine(home, keep_sessions=True) as first:
        await first.open(command="bash")
        left = await first.run("sleep 600", max_wait_ms=100, max_run_ms=1_500)
    async with running_engine(home) as engine:
        with anyio.fail_after(60):
            told = await engine.call("session.get", session="s")
            await engine.call("session.wait", session="s", state=["prompt"])

        assert told.background.ends_at == left.background.ends_at
        assert await ended(engine) == [("sleep 600", "deadline")]
