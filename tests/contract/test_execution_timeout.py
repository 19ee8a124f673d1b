"""A caller's own bound, `execution.timeout`, also bounds its wait for a person."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duetty.client.client import RemoteError
from tests.approvals.asking import AgentCall, outcomes, waiting
from tests.contract.people import looking
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

Json = dict[str, Any]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as name:
        server = ServerProcess(Path(name), DUETTY_PROCESS_TIMEOUT_MS="900")
        server.start()
        try:
            yield server
        finally:
            server.end()


def asking(server: ServerProcess, mode: str, command: str, **execution: object) -> AgentCall:
    body: Json = {
        "action": "execute",
        "invocation": {"mode": mode},
        "execution": {"command": command, **execution},
    }
    return AgentCall(server, "", path="/terminal", body=body)


@pytest.mark.parametrize(
    ("mode", "command"), [("interactive", "rm -rf /nowhere"), ("headless", "make nothing")]
)
def test_a_question_is_taken_back_when_the_callers_time_is_up(
    server: ServerProcess, mode: str, command: str
) -> None:
    with looking(server):
        call = asking(server, mode, command, timeout=1_000)
        approval = waiting(server)
        call.over()
        with pytest.raises(RemoteError) as too_late:
            server.client.post(f"/approvals/{approval['id']}/approve", {})
        left = [each for each in server.client.get("/sessions") if "terminal" in each["tags"]]

    error = call.answer["error"]
    assert (call.status, error["code"]) == (408, "PM_TERM_TIMEOUT")
    assert error["details"] | {"metadata": None, "trace_id": None} == {
        "fields": {},
        "allowed": [],
        "retriable": True,
        "retry": "by_policy",
        "reason": "approval_unanswered",
        "approval": approval["id"],
        "still_running": False,
        "target": None,
        "partial": {"output": None, "stdout": None, "stderr": None},
        "timeout_ms": 1_000,
        "metadata": None,
        "trace_id": None,
    }
    assert outcomes(server, approval["id"]) == ["withdrawn"]
    assert (too_late.value.details["state"], too_late.value.details["via"]) == (
        "withdrawn",
        "timeout",
    )
    assert left == [], "the terminal that was opened for it is gone"


def test_without_a_bound_a_person_has_the_time_that_questions_have(server: ServerProcess) -> None:
    with looking(server):
        call = asking(server, "headless", "make nothing")
        approval = waiting(server)
        seq = server.client.get("/approvals")["seq"]
        later = server.client.get("/approvals", after=seq, wait_ms=1_200)
        server.client.post(f"/approvals/{approval['id']}/decline", {})
        call.over()

    assert [each["id"] for each in later["approvals"]] == [approval["id"]]
    assert call.answer["error"]["code"] == "PM_TERM_DECLINED"


def test_an_answer_in_time_leaves_the_command_its_own_time(server: ServerProcess) -> None:
    """The bound is for each of the two waits: what a person thought about is not cut short for it."""
    with looking(server):
        call = asking(server, "headless", "make nothing; sleep 3.5; false", timeout=6_000)
        approval = waiting(server)
        seq = server.client.get("/approvals")["seq"]
        server.client.get("/approvals", after=seq, wait_ms=3_500)
        server.client.post(f"/approvals/{approval['id']}/approve", {})
        call.over()

    assert call.answer["result"]["exit_code"] == 1
