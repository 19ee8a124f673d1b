"""A database or its log that was removed, emptied or garbled: named, and what is left of it kept."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.server_facts import run
from tests.server_process import ServerProcess, running_server

pytestmark = pytest.mark.pty


@pytest.fixture
def server(home: Path) -> Iterator[ServerProcess]:
    with running_server(home) as server:
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        for number in range(5):
            run(server, f"echo {number}")
        server.client.get("/history")  # so that everything is on disk
        yield server


def garble(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(64)
        file.write(b"\xa5" * (size - 64))


def halve(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("suffix", ["", "-wal"])
@pytest.mark.parametrize("damage", [Path.unlink, empty, halve, garble])
@pytest.mark.sampled(3)
def test_a_damaged_file_is_named_by_status_and_doctor_and_kept(
    server: ServerProcess, damage: Callable[[Path], None], suffix: str
) -> None:
    path = server.paths.database.with_name(server.paths.database.name + suffix)
    server.kill()
    if suffix == "":
        # All of it in the file itself, as after a stop.
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damage(path)
    server.start()
    status = server.client.get("/server/info")["degraded"]
    shown = server.command("status").stdout
    doctor = server.command("doctor").stdout
    server.command("stop", "--keep-sessions")
    server.wait_ended()
    server.start()
    later = server.client.get("/server/info")["degraded"]

    assert "store" in status
    assert "degraded store" in shown
    assert "store" in doctor
    assert "store" not in later, "it is told until the next start"


def test_after_a_clean_stop_the_file_alone_has_everything(
    server: ServerProcess, tmp_path: Path
) -> None:
    server.command("stop")
    server.wait_ended()
    log = server.paths.database.with_name(server.paths.database.name + "-wal")
    copy = tmp_path / "copy.db"
    shutil.copyfile(server.paths.database, copy)

    assert not log.exists() or not log.stat().st_size
    with closing(sqlite3.connect(copy)) as database:
        [(count,)] = database.execute("SELECT count(*) FROM blocks")
    assert count >= 5


def test_a_kill_is_no_damage(server: ServerProcess) -> None:
    for _ in range(3):
        run(server, "echo again")
        server.kill()
        server.start()
        assert "store" not in server.client.get("/server/info")["degraded"]
