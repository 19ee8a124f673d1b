"""The trail over stops and starts of a real server: what was cut meanwhile is told, and nothing else."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.approvals.asking import AgentCall, asking_server
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with asking_server() as server:
        yield server


def stop(server: ServerProcess) -> None:
    server.end()


def files(server: ServerProcess) -> list[Path]:
    return sorted(server.paths.audit.glob("trail-*.jsonl"))


def cut_four(server: ServerProcess) -> None:
    newest = files(server)[-1]
    newest.write_bytes(b"".join(newest.read_bytes().splitlines(keepends=True)[:-4]))


def delete_all(server: ServerProcess) -> None:
    for path in files(server):
        path.unlink()


def forget(server: ServerProcess) -> None:
    for path in server.paths.database.parent.glob(f"{server.paths.database.name}*"):
        path.unlink()


def verified(server: ServerProcess) -> tuple[int, dict[str, Any]]:
    said = server.command("audit", "verify", "--json")
    return said.returncode, json.loads(said.stdout)


@pytest.mark.parametrize(
    ("tamper", "what"),
    [
        (cut_four, "were missing from the end when the server started"),
        (delete_all, "were missing from the end when the server started"),
        (forget, "the database remembered nothing of the trail when the server started"),
    ],
)
def test_what_was_cut_while_no_server_ran_is_told_before_and_after_every_later_start(
    server: ServerProcess, tamper: Callable[[ServerProcess], None], what: str
) -> None:
    stop(server)
    last = len(files(server)[-1].read_bytes().splitlines())
    tamper(server)

    alone = verified(server)
    server.start()
    first = verified(server)
    degraded = server.client.get("/server/info")["degraded"]
    stop(server)
    server.start()
    second = verified(server)

    assert [each[0] for each in (alone, first, second)] == [1, 1, 1]
    assert [what in each["what"] for each in first[1]["problems"]] == [True]
    assert second[1]["problems"] == first[1]["problems"]
    assert what in degraded["audit"]
    if tamper is cut_four:
        assert f"records {last - 3} to {last} " in first[1]["problems"][0]["what"]
        assert first[1]["problems"][0]["line"] == last - 3


def test_a_killed_server_is_no_tampering(server: ServerProcess) -> None:
    for number in range(3):
        AgentCall(server, f"echo {number}").over()
        server.kill()
        with files(server)[-1].open("ab") as file:
            file.write(b'{"seq":12')
        alone = server.command("audit", "verify")
        server.start()

        assert verified(server)[1]["problems"] == []
        assert (alone.returncode, "intact." in alone.stdout) == (0, True)
        assert "degraded" not in server.command("status").stdout


def test_the_trail_is_verified_and_exported_without_a_server(server: ServerProcess) -> None:
    with_server = server.command("audit", "export").stdout
    stop(server)

    exported = server.command("audit", "export")
    told = server.command("audit", "verify")
    cut_four(server)
    cut = server.command("audit", "verify")

    assert exported.stdout.startswith(with_server)
    assert "no server runs" in exported.stderr
    assert (told.returncode, "intact." in told.stdout) == (0, True)
    assert "no server runs" in told.stderr
    assert (cut.returncode, "the end is missing" in cut.stdout) == (1, True)


@pytest.mark.parametrize("keep_sessions", [True, False])
def test_a_restart_goes_on_in_the_newest_file_though_questions_wait(
    server: ServerProcess, keep_sessions: bool
) -> None:
    for number in range(3):
        name = f"n{number}"
        server.client.post("/sessions", {"name": name})
        calls = [AgentCall(server, f"touch {number}", path=f"/sessions/{name}/run")]
        if number != 1:
            server.client.post("/sessions", {"name": f"t{number}"})
            path = f"/sessions/t{number}/input"
            calls.append(AgentCall(server, "", path=path, body=f"touch {number}\r"))
        wait_questions(server, len(calls))
        server.client.post("/server/stop", {"keep_sessions": keep_sessions})
        server.wait_ended()
        for call in calls:
            call.over()
        server.start()

    assert [path.name for path in files(server)] == ["trail-000001.jsonl"]
    assert verified(server)[1]["problems"] == []


def wait_questions(server: ServerProcess, count: int) -> None:
    deadline_s = time.monotonic() + 60
    while len(server.client.get("/approvals")["approvals"]) < count:
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
