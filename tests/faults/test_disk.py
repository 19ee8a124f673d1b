"""A disk that is full or cannot be written."""

import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from duetty.client import session_path
from duetty.config import Settings
from duetty.errors import OutputExpired, StateUnwritable
from duetty.events import Degraded, Entry
from tests.engine import Engine, running_engine
from tests.faults.server_facts import refused, run
from tests.server_process import ServerProcess, is_alive, running_server

FULL = "No space left on device"


@contextmanager
def mounted(at: Path, options: str) -> Generator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "duetty", at], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)


@pytest.fixture
def small_disk(home: Path) -> Iterator[Path]:
    with mounted(home, "size=4m,mode=700"):
        yield home


def fill(disk: Path) -> Path:
    """Take all the room there is; removing the file gives it back."""
    ballast = disk / "ballast"
    with ballast.open("ab", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return ballast


async def degraded_events(engine: Engine, lines: list[str]) -> list[str | None]:
    """What followers are told of the journal while these lines run."""
    reasons: list[str | None] = []
    with engine.registry.find("s").log.subscribe() as entries:
        for line in lines:
            await engine.run(line)
        seq = engine.registry.find("s").log.seq
        while True:
            entry = await entries.receive()
            assert isinstance(entry, Entry)
            if isinstance(entry.event, Degraded):
                reasons.append(entry.event.reason)
            if entry.seq == seq:
                return reasons


@pytest.mark.root
@pytest.mark.pty
@pytest.mark.anyio
async def test_a_full_disk_costs_a_declared_gap_and_mends_by_itself(small_disk: Path) -> None:
    # What an agent does is refused while it cannot be recorded; here it is wanted all the same.
    settings = Settings(session_grace_ms=300, policy_profile="open", audit_required=False)
    async with running_engine(small_disk, settings=settings) as engine:
        with anyio.fail_after(90):
            session = await engine.open(command="bash")
            await engine.run("echo before")
            ballast = fill(small_disk)

            told = await degraded_events(engine, ["seq 1 40000"])
            full = await engine.run("echo shown; (exit 4)")
            degraded = (await engine.call("session.get", session="s")).degraded
            gaps = session.journal.gaps
            ballast.unlink()
            mended = await degraded_events(engine, ["seq 1 400000"])
            after = await engine.run("echo after")
            info = await engine.call("session.get", session="s")

    assert told == [FULL]
    assert (full.exit_code, full.completed_by, full.state) == (4, "mark", "prompt")
    assert any(line.endswith("shown") for line in full.screen["lines"])
    assert degraded == FULL
    assert len(gaps) == 1
    assert (mended, info.degraded) == ([None], None)
    assert len(session.journal.gaps) == 1
    assert (after.output, after.exit_code) == ("after", 0)


@pytest.mark.root
@pytest.mark.pty
@pytest.mark.anyio
async def test_what_a_full_disk_took_is_said_and_never_made_up(small_disk: Path) -> None:
    async with running_engine(small_disk) as engine:
        with anyio.fail_after(90):
            await engine.open(command="bash")
            await engine.run("echo before")
            fill(small_disk)
            lost = await engine.run("seq 1 100000")

            with pytest.raises(OutputExpired):
                await engine.call("block.output", session="s", block=lost.block)
            blocks = await engine.call("block.list", session="s")

    assert (lost.exit_code, lost.completed_by) == (0, "mark")
    assert lost.output is None or lost.omitted_bytes > 0
    assert "100000" in lost.screen["lines"]
    assert [block.command_line for block in blocks] == ["seq 1 100000", "echo before"]


@pytest.mark.root
@pytest.mark.pty
@pytest.mark.anyio
async def test_a_session_cannot_be_opened_on_a_full_disk_and_leaves_nothing(
    small_disk: Path,
) -> None:
    async with running_engine(small_disk) as engine:
        with anyio.fail_after(90):
            await engine.open(command="bash")
            await engine.run("echo before")
            journals = set(engine.paths.journals.iterdir())
            ballast = fill(small_disk)

            with pytest.raises(StateUnwritable):
                await engine.open("new", command="bash")
            left = set(engine.paths.journals.iterdir()) - journals
            listed = [each.name for each in await engine.call("session.list")]
            ballast.unlink()
            opened = await engine.open("new", command="bash")
            answer = await engine.run("echo hello", session="new")

    assert (left, listed) == (set(), ["s"])
    assert opened.name == "new"
    assert answer.output == "hello"


@pytest.mark.root
@pytest.mark.pty
def test_a_server_on_a_full_disk_goes_on_and_history_answers(small_disk: Path) -> None:
    with running_server(small_disk) as server:
        for name in ("s", "other"):
            server.client.post("/sessions", {"name": name, "command": "bash"})
        run(server, "echo needle")
        server.client.get("/history")
        ballast = fill(small_disk)

        flooded = run(server, "seq 1 200000")
        with refused("state_unwritable"):
            server.client.post("/sessions", {"name": "new", "command": "bash"})
        history = server.client.get("/history")
        found = server.client.get("/search", query="needle")
        degraded = server.client.get("/server/info")["degraded"]
        other = run(server, "echo alive; (exit 3)", session="other")
        ballast.unlink()
        server.client.post("/sessions", {"name": "new", "command": "bash"})
        run(server, "seq 1 400000")
        mended = server.client.get(session_path("s"))["degraded"]
        recorded = server.client.get("/history")

    assert (flooded["exit_code"], flooded["completed_by"]) == (0, "mark")
    assert "200000" in flooded["screen"]["lines"]
    assert degraded["store"].endswith("full")
    assert "echo needle" in [block["command_line"] for block in history]
    assert [hit["block"]["command_line"] for hit in found] == ["echo needle"]
    assert (other["exit_code"], other["completed_by"]) == (3, "mark")
    assert "alive" in other["screen"]["lines"]
    assert mended is None
    # What waited for the disk was not lost.
    lines = [block["command_line"] for block in recorded]
    assert {"seq 1 200000", "seq 1 400000", "echo alive; (exit 3)"} <= set(lines)


@pytest.mark.root
def test_a_server_started_on_a_full_disk_ends_with_a_clear_error(small_disk: Path) -> None:
    fill(small_disk)

    started = ServerProcess(small_disk).command("server", "--bind", "127.0.0.1:0")

    assert started.returncode == 1
    assert "[state_unwritable]" in started.stderr
    assert "Traceback" not in started.stderr


@pytest.mark.pty
def test_a_server_that_cannot_start_leaves_the_programs_alone(home: Path) -> None:
    with running_server(home) as server:
        pid = server.client.post("/sessions", {"name": "s", "command": "bash"})["pid"]
        run(server, "X=kept")
        server.kill()
        in_the_way = server.paths.runtime / "address.new"
        in_the_way.mkdir()  # where a start writes last of all

        failed = server.command("server", "--bind", "127.0.0.1:0")
        alive = is_alive(pid)
        in_the_way.rmdir()
        server.start()
        answer = run(server, "echo $X")

    assert failed.returncode == 1
    assert "[state_unwritable]" in failed.stderr
    assert alive
    assert answer["output"] == "kept"


@pytest.mark.root
def test_a_read_only_state_directory_ends_the_server_with_a_clear_error(home: Path) -> None:
    with mounted(home, "size=1m,ro"):
        started = ServerProcess(home).command("server", "--bind", "127.0.0.1:0")

    assert started.returncode == 1
    assert "[state_unwritable]" in started.stderr
    assert "DUETTY_HOME" in started.stderr


def test_a_state_directory_under_a_file_ends_the_server_with_a_clear_error(home: Path) -> None:
    (home / "file").touch()

    started = ServerProcess(home / "file" / "below").command("server", "--bind", "127.0.0.1:0")

    assert started.returncode == 1
    assert "[state_unwritable]" in started.stderr
    assert "DUETTY_HOME" in started.stderr
