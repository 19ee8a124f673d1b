"""A journal segment that was cut or changed while no server ran: named, never silently empty."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from duetty.client import session_path
from tests.faults.server_facts import run
from tests.server_process import ServerProcess, running_server

pytestmark = pytest.mark.pty

HEADER_BYTES = 4096


@pytest.fixture
def server(home: Path) -> Iterator[ServerProcess]:
    (home / "config.toml").write_text("[journal]\nlimit_mib = 1\n")
    with running_server(home) as server:
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        run(server, "seq 1 40000")
        yield server


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(HEADER_BYTES + 100)


def garble(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(HEADER_BYTES + 50)
        file.write(b"GARBLED")


@pytest.mark.parametrize("which", [0, -1], ids=["oldest", "newest"])
@pytest.mark.parametrize("damage", [cut, garble])
def test_a_damaged_segment_is_named(
    server: ServerProcess, damage: Callable[[Path], None], which: int
) -> None:
    server.command("stop", "--keep-sessions")
    server.wait_ended()
    found = sorted((server.paths.state / "journals").glob("*/*.segment"))
    segments = [path for path in found if path.stat().st_size > HEADER_BYTES + 1_000]
    assert len(segments) > 1
    damage(segments[which])
    server.start()
    server.command("record", "s", "--output", "/dev/null")  # all of it is read for this
    told = server.client.get(session_path("s"))["degraded"]
    status = server.client.get("/server/info")["degraded"]

    assert told is not None
    assert "damaged" in told
    assert "journal" in status
    assert run(server, "echo still there")["output"] == "still there"


def test_an_undamaged_journal_is_not_told_of(server: ServerProcess) -> None:
    for end in ("stop", "kill"):
        run(server, "seq 1 20000")
        if end == "kill":
            server.kill()
        else:
            server.command("stop", "--keep-sessions")
            server.wait_ended()
        server.start()
        server.command("record", "s", "--output", "/dev/null")

        assert server.client.get(session_path("s"))["degraded"] is None
        assert "journal" not in server.client.get("/server/info")["degraded"]
