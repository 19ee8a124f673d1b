"""A question does not outlive its session: however that ends, one outcome is recorded."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from duetty.client import RemoteError
from tests.approvals.asking import AgentCall, asking_server, outcomes, waiting
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

TAKEN_BACK = "taken back: session ended"


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with asking_server() as server:
        yield server


def exits(server: ServerProcess) -> None:
    server.client.post("/sessions/s/run", {"input": "exit 3"})


def closes(server: ServerProcess) -> None:
    server.client.post("/sessions/s/close", {})


def removes(server: ServerProcess) -> None:
    server.client.delete("/sessions/s")


def is_killed(server: ServerProcess) -> None:
    os.kill(server.client.get("/sessions/s")["pid"], signal.SIGKILL)


def ended(server: ServerProcess, approval: str) -> dict[str, Any]:
    deadline_s = time.monotonic() + 60
    while True:
        listed = server.client.get("/approvals", settled="true")["approvals"]
        found = next(each for each in listed if each["id"] == approval)
        if found["state"] != "pending":
            return found
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


@pytest.mark.parametrize("end", [exits, closes, removes, is_killed])
def test_a_session_that_ends_takes_its_questions_along(
    server: ServerProcess, end: Callable[[ServerProcess], None]
) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]

    end(server)
    call.over()
    found = ended(server, approval)
    with pytest.raises(RemoteError) as late:
        server.client.post(f"/approvals/{approval}/approve")

    assert (found["state"], found["note"]) == ("withdrawn", TAKEN_BACK)
    assert (call.status, call.answer["error"]["code"]) == (409, "session_exited")
    assert outcomes(server, approval) == ["withdrawn"]
    assert late.value.code == "approval_settled"
    assert not (server.home / "made").exists()


def test_a_question_about_a_typed_line_ends_with_the_shell(server: ServerProcess) -> None:
    typed = AgentCall(server, "", path="/sessions/s/input", body="touch made\r")
    approval = waiting(server)["id"]

    closes(server)
    typed.over()

    assert (typed.status, typed.answer["error"]["code"]) == (409, "session_exited")
    assert ended(server, approval)["note"] == TAKEN_BACK
    assert outcomes(server, approval) == ["withdrawn"]


def test_a_server_that_stops_with_its_sessions_takes_their_questions_back(
    server: ServerProcess,
) -> None:
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]

    server.command("stop")
    server.wait_ended()
    call.over()
    server.start()

    assert server.client.get("/approvals")["approvals"] == []
    assert outcomes(server, approval) == ["withdrawn"]
    assert server.command("audit", "verify").returncode == 0


def test_a_session_that_ended_while_no_server_ran_leaves_no_question(server: ServerProcess) -> None:
    pid = server.client.get("/sessions/s")["pid"]
    call = AgentCall(server, "touch made")
    approval = waiting(server)["id"]
    server.command("stop", "--keep-sessions")
    server.wait_ended()
    call.over()

    os.kill(pid, signal.SIGKILL)
    server.start()

    assert ended(server, approval)["note"] == TAKEN_BACK
    assert outcomes(server, approval) == ["withdrawn"]
