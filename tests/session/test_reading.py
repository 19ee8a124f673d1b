"""A program that floods is read by the lane, and nothing about it changes but the speed."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from duetty.config import Settings
from duetty.session import Session
from duetty.session.lane import Lane
from duetty.session.reading import FLOOD_BYTES
from tests.engine import Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

NUMBERS = 300_000
"""Two megabytes: a flood by any count."""


def numbered(count: int) -> bytes:
    return b"".join(b"%d\r\n" % number for number in range(1, count + 1))


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        with anyio.fail_after(120):
            yield engine


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The descriptors that came into the lane, in order."""
    seen: list[int] = []
    enter = Lane.enter

    def noted(lane: Lane, *args: object) -> None:
        seen.append(1)
        enter(lane, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Lane, "enter", noted)
    return seen


async def until_exit(engine: Engine, session: Session) -> None:
    await engine.call("session.wait", session=session.name, exit=True, max_wait_ms=100_000)


def whole(session: Session) -> bytes:
    return session.journal.read(0, session.journal.end)


async def test_a_flood_arrives_whole_in_order_and_before_its_exit(
    engine: Engine, entered: list[int]
) -> None:
    session = await engine.open(command=f"seq 1 {NUMBERS}")

    await until_exit(engine, session)

    assert entered
    assert whole(session) == numbered(NUMBERS)
    assert session.exit_code == 0
    assert session.screen(styled=False).lines[22] == str(NUMBERS)


async def test_one_short_command_after_another_is_no_flood(
    engine: Engine, entered: list[int]
) -> None:
    session = await engine.open(command="bash")
    await engine.run("true")

    while session.journal.end < 2 * FLOOD_BYTES:
        await engine.run("printf '%0500d' 7")

    assert not entered


async def test_a_command_that_floods_ends_with_its_own_code_and_output(
    engine: Engine, entered: list[int]
) -> None:
    await engine.open(command="bash")

    flooded = await engine.run(f"seq 1 {NUMBERS}; (exit 7)", max_wait_ms=100_000)
    after = await engine.run("echo after")

    assert entered
    assert (flooded.exit_code, flooded.completed_by) == (7, "mark")
    assert flooded.output_bytes == len(numbered(NUMBERS))
    assert flooded.output.endswith(str(NUMBERS))
    assert after.output == "after"


async def test_a_journal_that_turns_over_in_a_flood_restores_the_same_screen(home: Path) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="open", journal_limit_mib=4)
    async with running_engine(home, settings=settings, keep_sessions=True) as engine:
        with anyio.fail_after(120):
            session = await engine.open(command=f"sh -c 'seq 1 {3 * NUMBERS}; sleep 1000'")
            await engine.call(
                "session.wait", session="s", text=str(3 * NUMBERS), max_wait_ms=100_000
            )
        before = session.screen(styled=True)
        start, end = session.journal.start, session.journal.end
        kept = session.journal.read(start, end)
    async with running_engine(home, settings=settings) as engine:
        again = engine.registry.find("s")

        assert start > 0
        assert numbered(3 * NUMBERS)[start:] == kept
        assert again.screen(styled=True) == before


async def test_a_size_changed_in_a_flood_is_where_the_terminal_saw_it(home: Path) -> None:
    async with running_engine(home, keep_sessions=True) as engine:
        with anyio.fail_after(120):
            session = await engine.open(
                command=f"sh -c 'seq -f %0120.0f 1 {NUMBERS // 4}; sleep 1000'"
            )
            for cols in (40, 100, 60):
                seen = session.journal.end
                while session.journal.end < seen + 400_000:
                    await session.pulse.wait()
                await engine.call("session.resize", session="s", cols=cols, rows=20)
            await engine.call(
                "session.wait", session="s", text=f"0{NUMBERS // 4}", max_wait_ms=100_000
            )
        before = session.screen(styled=True)
        above = session.scrollback(offset=0, limit=200, styled=False)
    async with running_engine(home) as engine:
        again = engine.registry.find("s")

        assert again.screen(styled=True) == before
        assert again.scrollback(offset=0, limit=200, styled=False) == above


async def test_ctrl_c_ends_a_flood_and_the_loop_reads_again(
    engine: Engine, entered: list[int]
) -> None:
    session = await engine.open(command="bash")
    await engine.run("true")
    await engine.call("input.write", session="s", data="yes\r")
    while not entered:
        await session.pulse.wait()

    await engine.call("input.interrupt", session="s")
    await engine.call("session.wait", session="s", state=["prompt"], max_wait_ms=60_000)
    after = await engine.run("echo after")

    assert after.output == "after"


async def test_another_session_is_answered_while_several_flood(
    engine: Engine, entered: list[int]
) -> None:
    for name in ("a", "b", "c"):
        await engine.open(name, command="yes")
    await engine.open("calm", command="bash")
    while len(entered) < 3:
        await anyio.sleep(0.01)

    answers = [await engine.run(f"echo {number}", session="calm") for number in range(5)]

    assert [answer.output for answer in answers] == ["0", "1", "2", "3", "4"]


async def test_floods_go_on_though_somebody_types_without_a_pause(engine: Engine) -> None:
    flood = await engine.open("flood", command="yes")
    other = await engine.open("other", command="cat")
    seen = flood.journal.end
    until = seen + 600_000

    while flood.journal.end < until:
        await engine.call("input.write", session="other", data="x")
        await anyio.sleep(0.0005)  # nothing else in this call gives the loop a turn
        if other.journal.end % 1000 > 900:
            await engine.call("input.write", session="other", data="\r")

    assert flood.journal.end >= until


async def test_a_session_killed_in_its_flood_can_be_removed(engine: Engine) -> None:
    session = await engine.open("flood", command="yes")
    while session.journal.end < 1_000_000:
        await session.pulse.wait()

    await engine.call("session.remove", session="flood", signal="KILL")
    await engine.open("flood", command="bash")
    answer = await engine.run("echo again", session="flood")

    assert answer.output == "again"
