"""What a confined command leaves behind: nothing. Real processes, in real namespaces."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from secrets import randbelow

import anyio
import anyio.to_thread
import pytest

from duetty.config import Settings
from duetty.sandbox import support
from tests.engine import Engine, running_engine
from tests.sandbox.inside import settled_sockets

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.pty,
    pytest.mark.skipif(support().bubblewrap is None, reason="bubblewrap makes no namespaces here"),
]


@pytest.fixture
async def engine(home: Path) -> AsyncGenerator[Engine]:
    (home / "ws").mkdir()
    settings = Settings(
        session_grace_ms=300,
        policy_profile="open",
        session_sandbox="bubblewrap",
        sandbox_workspaces=(str(home / "ws"),),
    )
    with settled_sockets():
        async with running_engine(home, settings=settings) as engine:
            with anyio.fail_after(60):
                yield engine


@pytest.fixture
def sleep() -> Iterator[str]:
    """A command that can be told from those of all other tests."""
    command = f"sleep {7000 + randbelow(10**6)}.25"
    yield command
    for pid in running(command):
        os.kill(pid, signal.SIGKILL)


def running(command: str) -> list[int]:
    """Processes of exactly these words."""
    words = command.replace(" ", "\0").encode() + b"\0"
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (place / "cmdline").read_bytes() == words:
                found.append(int(place.name))
        except OSError:
            continue
    return found


async def wait_gone(command: str) -> None:
    with anyio.fail_after(10):
        while running(command):
            await anyio.sleep(0.01)


@pytest.mark.parametrize("redirected", ["", ">/dev/null 2>&1 </dev/null"])
async def test_nothing_outlives_a_confined_command(
    engine: Engine, home: Path, sleep: str, redirected: str
) -> None:
    ran = await engine.call(
        "process.run", command=f"setsid {sleep} {redirected} & echo out", cwd=str(home / "ws")
    )

    assert (ran.stdout, ran.process.sandbox) == ("out\n", "bubblewrap")
    await wait_gone(sleep)
    told = await engine.call("process.read", process=ran.process.id)
    assert not told.process.leftovers


async def test_what_a_confined_command_waits_for_lives_as_long_as_it_does(
    engine: Engine, home: Path, sleep: str
) -> None:
    started = await engine.call(
        "process.start", command=f"setsid {sleep} & echo up; wait", cwd=str(home / "ws")
    )
    await engine.call("process.read", process=started.id, wait_ms=20_000, wait_for="output")
    while not running(sleep):
        await anyio.sleep(0.01)
    # The thread that prepared it is idle by then, and others are started and ended.
    for _ in range(3):
        await engine.call("process.run", command="true", cwd=str(home / "ws"))

    assert running(sleep)

    await engine.call("process.stop", process=started.id, grace_ms=200)
    await wait_gone(sleep)


async def test_a_confined_command_that_is_asked_to_stop_has_its_grace(
    engine: Engine, home: Path
) -> None:
    started = await engine.call(
        "process.start",
        command="trap 'sleep 0.2; echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done",
        cwd=str(home / "ws"),
    )
    await engine.call("process.read", process=started.id, wait_ms=20_000, wait_for="output")

    stopped = await engine.call("process.stop", process=started.id, grace_ms=20_000)
    told = await engine.call("process.read", process=started.id)

    assert (stopped.exit_code, stopped.exit_signal) == (7, None)
    assert told.stdout == "up\nbye\n"


async def test_a_confined_command_that_is_ended_by_a_signal_says_so(
    engine: Engine, home: Path, sleep: str
) -> None:
    started = await engine.call("process.start", command=f"exec {sleep}", cwd=str(home / "ws"))
    while not running(sleep):
        await anyio.sleep(0.01)

    stopped = await engine.call("process.stop", process=started.id, grace_ms=20_000)

    assert (stopped.exit_code, stopped.exit_signal) == (None, "TERM")


SERVER = """
import sys
from pathlib import Path
import anyio
from duetty.clock import SystemClock
from duetty.processes import Order, Processes
from duetty.sandbox import SandboxRequest
place, command = Path(sys.argv[1]), sys.argv[2]
async def main():
    async with anyio.create_task_group() as tasks:
        processes = Processes(
            directory=place / "processes", environment={"PATH": "/usr/bin:/bin"}, most=4,
            output_bytes=1000, clock=SystemClock(), tasks=tasks,
        )
        await processes.start(Order(
            command=command, cwd=str(place), env=processes.environment,
            sandbox=SandboxRequest(asked="bubblewrap", workspaces=(str(place),)),
        ))
        print("started", flush=True)
        await anyio.sleep_forever()
anyio.run(main)
"""


async def test_a_confined_command_ends_with_the_server_even_when_that_is_killed(
    tmp_path: Path, sleep: str
) -> None:
    with settled_sockets():
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(tmp_path), f"setsid {sleep} & wait"],
            stdout=subprocess.PIPE,
        )
        assert server.stdout is not None
        assert await anyio.to_thread.run_sync(server.stdout.readline) == b"started\n"
        with anyio.fail_after(20):
            while not running(sleep):
                await anyio.sleep(0.01)

    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    server.stdout.close()

    await wait_gone(sleep)
