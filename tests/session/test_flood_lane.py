"""A program that floods is read by the lane, and nothing about it changes but the speed."""

import logging
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.config import Settings
from duetty.events import Degraded, Event
from duetty.journal import Intake, Journal
from duetty.platform.terminal_probe import session_members
from duetty.session import Session
from duetty.session.lane import Lane
from duetty.session.pty_reader import FLOOD_BYTES
from duetty.shell import MarkScanner
from tests.engine import Engine, running_engine
from tests.keeper.harness import HOPPING

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


@pytest.mark.parametrize("leaves", ["", " leaves"])
async def test_those_who_start_others_all_the_time_end_with_their_session(
    engine: Engine, home: Path, leaves: str
) -> None:
    """Whether their shell is there to the last, or gone at the first signal."""
    (home / "hopping.py").write_text(HOPPING)
    session = await engine.open("hopping", command="bash")
    line = f"cd {home}; {sys.executable} hopping.py{leaves} > up {'&' if leaves else ''}\r"
    await engine.call("input.write", session="hopping", data=line)
    while not (home / "up").exists() or not (home / "up").read_text():
        await anyio.sleep(0.01)
    pid = session.profile.pid

    await engine.call("session.remove", session="hopping")

    assert session_members(frozenset({pid})) == []


# --- mistakes of our own --------------------------------------------------------


class Broken(Exception):
    """Stands for a mistake nobody thought of."""


def told_by(engine: Engine, session: Session, monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """What happens in a session from now on, as the registry is told."""
    told: list[Event] = []
    real = engine.registry.happened

    def happened(where: Session, event: Event) -> None:
        if where is session:
            told.append(event)
        real(where, event)

    monkeypatch.setattr(engine.registry, "happened", happened)
    return told


def break_once(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, *, at: int = 1) -> None:
    """Let this method fail at its call of this number, and work before and after."""
    real, calls = getattr(owner, name), iter(range(1, 1 << 30))

    def method(*args: Any) -> Any:
        if next(calls) == at:
            raise Broken(name)
        return real(*args)

    monkeypatch.setattr(owner, name, method)


def degraded(told: list[Event]) -> list[Degraded]:
    return [event for event in told if isinstance(event, Degraded)]


async def test_output_that_a_mistake_of_ours_kept_from_the_terminal_is_told_and_what_follows_is_taken(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session = await engine.open("clumsy", command="cat")
    told = told_by(engine, session, monkeypatch)
    real, failures = MarkScanner.scan, iter([Broken()])

    def scan(scanner: MarkScanner, data: memoryview, offset: int) -> Any:
        # Once: the echo and what `cat` says may come together with what follows.
        if b"boom" in bytes(data) and (failure := next(failures, None)) is not None:
            raise failure
        return real(scanner, data, offset)

    monkeypatch.setattr(MarkScanner, "scan", scan)
    with caplog.at_level(logging.ERROR, "duetty.session"):
        await engine.call("input.write", session="clumsy", data="boom\r")
        while not degraded(told):
            await session.pulse.wait()
        await engine.call("input.write", session="clumsy", data="after\r")
        await engine.call("session.wait", session="clumsy", text="after", max_wait_ms=60_000)

    reason = "output was not taken in: Broken"
    assert degraded(told) == [Degraded(part="terminal", reason=reason)]
    assert (await engine.call("session.get", session="clumsy")).degraded == reason
    assert [getattr(record, "session", None) for record in caplog.records] == ["clumsy"]
    assert b"boom" in whole(session)


@pytest.mark.parametrize(
    ("owner", "name", "at"),
    [(Journal, "take", 3), (Lane, "_serve", 2), (Journal, "fill", 5)],
    ids=["taking a slice", "a turn of the lane", "reading in the loop"],
)
async def test_a_mistake_of_ours_in_a_flood_is_told_and_the_flood_arrives_whole(
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    entered: list[int],
    owner: type,
    name: str,
    at: int,
) -> None:
    session = await engine.open(command=f"sh -c 'read x; seq 1 {NUMBERS}'")
    told = told_by(engine, session, monkeypatch)
    break_once(monkeypatch, owner, name, at=at)

    await engine.call("input.write", session="s", data="\r")
    await until_exit(engine, session)

    assert entered
    assert degraded(told) == [Degraded(part="terminal", reason="output was not taken in: Broken")]
    assert whole(session).endswith(numbered(NUMBERS))


@pytest.mark.parametrize(
    ("owner", "name"),
    [(Lane, "_read"), (Lane, "_tell"), (Intake, "_read")],
    ids=["reading", "telling the loop", "the read itself"],
)
async def test_a_mistake_of_ours_in_the_thread_that_reads_floods_ends_no_flood(
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    entered: list[int],
    owner: type,
    name: str,
) -> None:
    break_once(monkeypatch, owner, name)

    session = await engine.open(command=f"seq 1 {NUMBERS}")
    await until_exit(engine, session)

    assert entered
    assert whole(session) == numbered(NUMBERS)
    assert session.exit_code == 0
