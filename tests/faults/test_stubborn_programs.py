"""Programs that do not want to end."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from tests.engine import Engine, running_engine
from tests.server_process import is_alive

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

STUBBORN = """
trap "" HUP TERM INT QUIT
echo $$ > "$HOME/pid"
while :; do sleep 1000; done
"""

ALONE, IN_A_SHELL = "sh stubborn.sh", "/bin/sh -c 'sh stubborn.sh; true'"
"""The session's own process ignores signals, or one that it started."""


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    (home / "stubborn.sh").write_text(STUBBORN)
    try:
        async with running_engine(home) as engine:
            await engine.open("other", command="bash")
            with anyio.fail_after(60):
                yield engine
    finally:
        # Whatever a failed test left behind.
        with suppress(OSError, ValueError):
            os.kill(int((home / "pid").read_text()), signal.SIGKILL)


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


@pytest.mark.parametrize("first", ["HUP", "TERM"])
@pytest.mark.parametrize("command", [ALONE, IN_A_SHELL], ids=["alone", "in a shell"])
async def test_a_process_that_ignores_polite_signals_is_killed_after_the_grace(
    engine: Engine, home: Path, command: str, first: str
) -> None:
    await engine.open(command=command)
    pid = await pid_in(home / "pid")

    closed = await engine.call("session.close", session="s", signal=first, grace_ms=200)
    with anyio.fail_after(60):
        await gone(pid)

    assert (closed.state, closed.exit_code) == ("exited", None)
    assert closed.exit_signal == ("SIGKILL" if command == ALONE else f"SIG{first}")
    assert await others_work(engine)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [({}, "SIGHUP"), ({"signal": "TERM"}, "SIGTERM"), ({"signal": "INT"}, "SIGINT")],
)
async def test_a_session_is_closed_by_a_hangup_unless_another_signal_is_chosen(
    engine: Engine, chosen: dict[str, str], told: str
) -> None:
    await engine.open(command="sleep 1000")

    closed = await engine.call("session.close", session="s", grace_ms=30_000, **chosen)

    assert (closed.state, closed.exit_signal) == ("exited", told)


async def test_removing_a_session_kills_a_process_that_ignores_polite_signals(
    engine: Engine, home: Path
) -> None:
    await engine.open(command=ALONE)
    pid = await pid_in(home / "pid")
    journals = len(list(engine.paths.journals.iterdir()))

    await engine.call("session.remove", session="s", grace_ms=200)
    with anyio.fail_after(60):
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
    await engine.call("input.write", session="s", data=f"sh stubborn.sh {ending}\r")
    pid = await pid_in(home / "pid")

    closed = await engine.call("session.close", session="s", grace_ms=200)
    with anyio.fail_after(60):
        await gone(pid)

    assert closed.state == "exited"
    assert await others_work(engine)


async def test_a_program_gets_its_grace_after_the_shell_is_gone(engine: Engine, home: Path) -> None:
    """An editor saves its file when the terminal hangs up; the shell goes before it."""
    (home / "saving.sh").write_text(
        'trap "sleep 0.3; touch saved; exit" HUP\necho $$ > pid\nwhile :; do sleep 0.05; done\n'
    )
    await engine.open(command="bash")
    await engine.run("true")
    await engine.call("input.write", session="s", data="sh saving.sh\r")
    pid = await pid_in(home / "pid")

    await engine.call("session.close", session="s", grace_ms=20_000)
    with anyio.fail_after(60):
        await gone(pid)

    assert (home / "saved").exists()


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
    with anyio.fail_after(60):
        await gone(pid)

    assert info.state == "exited"
    assert await others_work(engine)
