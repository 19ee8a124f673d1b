"""Files that a killed server or a bad disk left broken."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from duetty.client import session_path
from duetty.errors import DuettyError
from tests.faults.server_facts import answers, run
from tests.server_process import ServerProcess, is_alive, running_server

pytestmark = [pytest.mark.pty]

NAMES = ("one", "two", "three")


@pytest.fixture
def server(home: Path) -> Iterator[ServerProcess]:
    with running_server(home) as server:
        yield server


def open_all(server: ServerProcess) -> dict[str, int]:
    pids: dict[str, int] = {}
    for name in NAMES:
        pids[name] = server.client.post("/sessions", {"name": name, "command": "bash"})["pid"]
        run(server, f"X=kept-{name}; echo {name}", session=name)
    server.client.get("/history")  # so that everything is on disk
    return pids


def listed(server: ServerProcess) -> dict[str, int]:
    return {each["name"]: each["pid"] for each in server.client.get("/sessions")}


def kept_value(server: ServerProcess, name: str) -> str:
    return run(server, "echo $X", session=name)["output"]


def logged(server: ServerProcess) -> list[str]:
    lines = server.paths.log_file.read_text().splitlines()
    return [json.loads(line)["event"] for line in lines]


def overwrite(path: Path, start: int, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xa5" * length)


def test_a_sigkill_while_history_is_written_leaves_a_sound_store(server: ServerProcess) -> None:
    pids = open_all(server)

    for _ in range(3):
        told: list[str] = []
        writing = threading.Thread(target=run_until_gone, args=(server, told))
        writing.start()
        while len(told) < 20 and writing.is_alive():
            writing.join(0.01)
        server.kill()
        writing.join(30)
        server.start()
        assert not writing.is_alive()
        assert listed(server) == pids

    history = [block["command_line"] for block in server.client.get("/history", limit=1000)]
    # Whatever was on disk for a tenth of a second is there; nothing is there twice.
    assert {f"X=kept-{name}; echo {name}" for name in NAMES} <= set(history)
    assert [kept_value(server, name) for name in NAMES] == [f"kept-{name}" for name in NAMES]
    assert "store" not in server.client.get("/server/info")["degraded"]
    with closing(sqlite3.connect(server.paths.database)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        [(doubled,)] = database.execute(
            "SELECT count(*) - count(DISTINCT session_id || '-' || number) FROM blocks"
        )
        assert doubled == 0


def run_until_gone(server: ServerProcess, told: list[str]) -> None:
    with suppress(DuettyError):
        while True:
            told.append(run(server, f"echo {len(told)}", session="two")["output"])


def test_a_database_with_a_damaged_part_costs_history_and_no_session(
    server: ServerProcess,
) -> None:
    pids = open_all(server)
    for number in range(30):
        run(server, f"echo {number}; seq 1 2000", session="one")
    server.client.get("/history")
    server.kill()
    settle(server.paths.database)
    root = root_page(server.paths.database, "blocks")
    overwrite(server.paths.database, (root - 1) * 4096, 4096)

    server.start()
    degraded = server.client.get("/server/info")["degraded"]

    assert listed(server) == pids
    assert [kept_value(server, name) for name in NAMES] == [f"kept-{name}" for name in NAMES]
    assert "broken" in degraded["store"]
    assert "store_repaired" in logged(server)
    assert list(server.paths.state.glob("duetty.db.broken-*"))
    assert server.client.get("/history")


def settle(database: Path) -> None:
    """Bring everything from the write-ahead log into the file, as time would have."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def root_page(database: Path, table: str) -> int:
    with closing(sqlite3.connect(database)) as connection:
        [(page,)] = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        )
    return page


def test_a_database_that_is_no_database_costs_no_running_program(server: ServerProcess) -> None:
    pids = open_all(server)
    server.kill()
    for path in server.paths.state.glob("duetty.db*"):
        path.unlink()
    server.paths.database.write_bytes(b"this is not a database" * 1000)

    server.start()
    degraded = server.client.get("/server/info")["degraded"]
    found = listed(server)

    assert all(is_alive(pid) for pid in pids.values())
    assert sorted(found.values()) == sorted(pids.values())
    assert "broken" in degraded["store"]
    # Names and nonces are lost with the file: the programs are there all the same.
    for name, pid in found.items():
        server.client.post(session_path(name, "/wait"), {"idle_ms": 100})
        answer = run(server, "echo $X", session=name, timeout_ms=300)
        assert any(f"kept-{old}" in answer["output"] for old, known in pids.items() if known == pid)


def test_a_damaged_journal_costs_its_own_session_only(server: ServerProcess) -> None:
    pids = open_all(server)
    id_ = server.client.get(session_path("two"))["id"]
    server.kill()
    for segment in (server.paths.journals / id_).glob("*.segment"):
        overwrite(segment, 0, 4096)

    server.start()
    degraded = server.client.get("/server/info")["degraded"]
    found = listed(server)

    assert (found["one"], found["three"]) == (pids["one"], pids["three"])
    assert "damaged" in degraded["session two"]
    assert "restore_failed" in logged(server)
    assert kept_value(server, "one") == "kept-one"
    assert kept_value(server, "three") == "kept-three"
    # The name is free, and the server works as before.
    server.client.post("/sessions", {"name": "two", "command": "bash"})
    assert answers(server, "two")


def test_a_missing_journal_costs_its_own_session_only(server: ServerProcess) -> None:
    pids = open_all(server)
    id_ = server.client.get(session_path("two"))["id"]
    server.kill()
    for path in (server.paths.journals / id_).iterdir():
        path.unlink()

    server.start()
    degraded = server.client.get("/server/info")["degraded"]
    found = listed(server)

    assert (found["one"], found["three"]) == (pids["one"], pids["three"])
    assert "journal" in degraded["session two"]
    assert kept_value(server, "one") == "kept-one"


def test_a_damaged_snapshot_or_index_costs_no_session(server: ServerProcess) -> None:
    pids = open_all(server)
    assert server.process is not None
    server.process.terminate()  # an orderly end leaves a snapshot
    server.wait_ended()
    for path in server.paths.journals.rglob("*.snapshot"):
        overwrite(path, path.stat().st_size // 2, 64)
    for path in server.paths.journals.rglob("index"):
        overwrite(path, 0, 16)

    server.start()

    assert listed(server) == pids
    assert [kept_value(server, name) for name in NAMES] == [f"kept-{name}" for name in NAMES]


def test_random_bytes_in_any_file_of_the_state_never_keep_the_server_from_starting(
    server: ServerProcess,
) -> None:
    open_all(server)
    server.kill()
    for path in server.paths.state.rglob("*"):
        if path.is_file() and path.name != "token":
            overwrite(path, path.stat().st_size // 3, 100)

    server.start()

    assert server.client.is_up()
    server.client.post("/sessions", {"name": "new", "command": "bash"})
    assert answers(server, "new")
