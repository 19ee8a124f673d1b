"""`duetty repair`: what was damaged is listed, explained, brought back or removed."""

import json
import sqlite3
from collections.abc import Iterator
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
        for number in range(30):
            run(server, f"echo said {number}")
        server.client.get("/history")  # so that everything is on disk
        yield server


def stop(server: ServerProcess) -> None:
    server.command("stop", "--keep-sessions")
    server.wait_ended()


def listed(server: ServerProcess) -> list[dict[str, object]]:
    return json.loads(server.command("repair", "--json").stdout)


def garble_a_page(path: Path) -> None:
    """One page of the middle, so that the database is found broken and most of it can be read."""
    with closing(sqlite3.connect(path)) as database:
        [(root,)] = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'blocks_of_session'"
        )
        [(page_bytes,)] = database.execute("PRAGMA page_size")
    with path.open("r+b") as file:
        file.seek((root - 1) * page_bytes)
        file.write(b"\xa5" * page_bytes)


def test_a_broken_database_is_listed_restored_and_discarded(server: ServerProcess) -> None:
    stop(server)
    garble_a_page(server.paths.database)
    server.start()
    before = server.client.get("/history")
    [kept] = listed(server)
    told = server.command("doctor").stdout
    refused = server.command("repair", "restore", str(kept["name"]))
    stop(server)
    done = server.command("repair", "restore", str(kept["name"]))
    server.start()
    after = [each["command_line"] for each in server.client.get("/history?limit=100")]
    found = server.client.get("/search?query=said")
    discarded = server.command("repair", "discard", str(kept["name"]))

    assert len(before) < 30
    assert kept["kind"] == "database"
    assert "duetty repair" in told
    assert refused.returncode != 0
    assert "duetty stop" in refused.stderr
    assert done.returncode == 0, done.stderr
    assert {f"echo said {number}" for number in range(30)} <= set(after)
    assert found
    assert discarded.returncode == 0
    assert listed(server) == []
    assert "Nothing is damaged." in server.command("repair").stdout


def test_damaged_segments_settings_and_choices_are_explained(server: ServerProcess) -> None:
    run(server, "seq 1 300000")
    stop(server)
    segments = sorted(server.paths.journals.glob("*/*.segment"))
    with segments[0].open("r+b") as file:
        file.seek(4096 + 50)
        file.write(b"GARBLED")
    choices = server.paths.state / "upstreams.json.unreadable"
    choices.write_text("{no json")
    still_wrong = server.command("repair", "restore", choices.name)
    choices.write_text("{}")
    mended = server.command("repair", "restore", choices.name)
    server.paths.config_file.write_text("[server]\nno_such = 1\n")
    kinds = {str(each["kind"]): each for each in listed(server)}
    impossible = server.command("repair", "restore", str(kinds["journal"]["name"]))
    unknown = server.command("repair", "discard", "nothing")
    server.paths.config_file.unlink()

    assert still_wrong.returncode != 0
    assert "mend it by hand" in still_wrong.stderr
    assert mended.returncode == 0
    assert set(kinds) == {"journal", "settings"}
    assert "no_such" in str(kinds["settings"]["summary"])
    assert impossible.returncode != 0
    assert unknown.returncode != 0


def test_small_files_that_are_damaged_are_named_put_aside_and_never_written_over(
    server: ServerProcess,
) -> None:
    server.client.post("/users", {"name": "ada"})
    stop(server)
    paths = server.paths
    kept = paths.users_file.read_bytes()
    damaged = {
        paths.users_file: b"[" * 100_000,
        paths.servers_file: b'{"servers": 5}',
        paths.join_file: b'{"hub": "no address", "token": ""}',
        paths.hub_file: b"\xff\x00no json",
        paths.state / "upstreams.json": b"{}",
        paths.state / "upstream-projects.json": b"[]",
        paths.node_key_file: b"short",
    }
    for file, damage in damaged.items():
        file.write_bytes(damage)

    server.start()
    server.client.post("/users", {"name": "eve"})  # which writes the file anew
    told = server.client.get("/server/info")["degraded"]["files"]
    names = {str(each["name"]) for each in listed(server)}
    stop(server)
    aside = paths.state / "users.json.unreadable"
    found = aside.read_bytes()
    aside.write_bytes(kept)
    restored = server.command("repair", "restore", aside.name)
    for name in names - {aside.name}:
        (paths.state / name).unlink()
    server.start()

    assert names == {f"{each.name}.unreadable" for each in damaged}
    assert all(name in told for name in names)
    assert found == damaged[paths.users_file]
    assert restored.returncode == 0, restored.stderr
    assert [each["name"] for each in server.client.get("/users")] == ["ada"]
    assert "files" not in server.client.get("/server/info")["degraded"]
