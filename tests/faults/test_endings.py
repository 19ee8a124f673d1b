"""Programs that do not want to end."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from tests.engine import Engine, running_engine
from tests.server_process import is_alive

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

STUBBORN = "sh -c 'trap \"\" HUP TERM INT QUIT; echo $$ > pid; while :; do sleep 1000; done'"


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        await engine.open("other", command="bash")
        with anyio.fail_after(60):
            yield engine


async def pid_in(file: Path) -> int:
    """The number a program wrote down, once it has."""
    while not (file.exists() and file.read_text().strip()):
        await anyio.sleep(0.01)
    return int(file.read_text())


async def gone(pid: int) -> None:
    """Until the process is gone or is only waiting to be reaped."""
    while is_alive(pid) and ") Z " not in Path(f"/proc/{pid}/stat").read_text():
        await anyio.sleep(0.01)


async def others_work(engine: Engine) -> bool:
    answer = await engine.run("echo alive; (exit 3)", session="other")
    return (answer.output, answer.exit_code) == ("alive", 3)


@pytest.mark.parametrize("signal", ["HUP", "TERM"])
async def test_a_process_that_ignores_polite_signals_is_killed_after_the_grace(
    engine: Engine, home: Path, signal: str
) -> None:
    await engine.open(command=STUBBORN)
    pid = await pid_in(home / "pid")

    closed = await engine.call("session.close", session="s", signal=signal, grace_ms=200)
    await gone(pid)

    assert (closed.state, closed.exit_code, closed.exit_signal) == ("exited", None, "SIGKILL")
    assert await others_work(engine)


async def test_removing_a_session_kills_a_process_that_ignores_polite_signals(
    engine: Engine, home: Path
) -> None:
    await engine.open(command=STUBBORN)
    pid = await pid_in(home / "pid")
    journals = len(list(engine.paths.journals.iterdir()))

    await engine.call("session.remove", session="s", grace_ms=200)
    await gone(pid)

    assert [each.name for each in await engine.call("session.list")] == ["other"]
    assert len(list(engine.paths.journals.iterdir())) == journals - 1
    assert await others_work(engine)


@pytest.mark.parametrize("ending", ["&", ""], ids=["in the background", "in the foreground"])
async def test_closing_a_shell_ends_what_it_started_and_ignores_polite_signals(
    engine: Engine, home: Path, ending: str
) -> None:
    """The shell itself goes at once; its program must not be left behind."""
    await engine.open(command="bash")
    await engine.run("true")
    await engine.call("input.write", session="s", data=f"{STUBBORN} {ending}\r")
    pid = await pid_in(home / "pid")

    closed = await engine.call("session.close", session="s", grace_ms=200)
    with anyio.fail_after(10):
        await gone(pid)

    assert closed.state == "exited"
    assert await others_work(engine)


async def test_a_stopped_process_is_ended_too(engine: Engine, home: Path) -> None:
    await engine.open(command="bash")
    await engine.run("true")
    await engine.run("sh -c 'echo $$ > pid; kill -STOP $$'")
    pid = await pid_in(home / "pid")

    closed = await engine.call("session.close", session="s", grace_ms=200)
    await gone(pid)

    assert closed.state == "exited"


async def test_a_daemon_that_holds_the_terminal_does_not_keep_the_session_open(
    engine: Engine, home: Path
) -> None:
    daemon = "setsid sh -c \"trap '' HUP; echo \\$\\$ > pid; echo held; exec sleep 1000\""
    await engine.open(command="bash")
    await engine.run("true")
    await engine.run(f"({daemon} &)")
    pid = await pid_in(home / "pid")

    left = await engine.run("exit 7")
    info = await engine.call("session.get", session="s")
    screen = await engine.call("screen.get", session="s", format="plain")

    assert is_alive(pid)
    assert (left.completed_by, left.exit_code) == ("exit", 7)
    assert (info.state, info.exit_code) == ("exited", 7)
    assert "held" in "\n".join(screen["lines"])
    assert await others_work(engine)


async def test_a_daemon_that_floods_the_terminal_does_not_keep_the_session_open(
    engine: Engine, home: Path
) -> None:
    daemon = "setsid sh -c \"trap '' HUP; echo \\$\\$ > pid; exec yes\""
    await engine.open(command="bash")
    await engine.run("true")
    await engine.call("input.write", session="s", data=f"({daemon} &)\r")
    pid = await pid_in(home / "pid")

    await engine.call("session.close", session="s", grace_ms=500)
    info = await engine.call("session.get", session="s")
    # Nobody reads it any more: its terminal is gone, and it with it.
    with anyio.fail_after(10):
        await gone(pid)

    assert info.state == "exited"
    assert await others_work(engine)
