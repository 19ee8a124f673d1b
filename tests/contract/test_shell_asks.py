"""A line that its shell asks about: the caller learns that a person is waited for, and what they said."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.approvals.asking import AgentCall, outcomes, waiting
from tests.contract.people import looking
from tests.edges.mcp.connect import connected
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty, pytest.mark.shells]

Json = dict[str, Any]

UNREAD = 'eval "$x"'
"""What it does is not known before it runs: policy leaves it to the shell, which asks."""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as name:
        server = ServerProcess(Path(name), DUETTY_APPROVAL_ASK="always")
        server.start()
        try:
            server.client.post("/sessions", {"name": "s"})
            for shell in ("zsh", "fish"):
                server.client.post("/sessions", {"name": shell, "command": shell})
            yield server
        finally:
            server.end()


def asked(line: str, **execution: Any) -> Json:
    return {"action": "execute", "execution": {"command": line, **execution}}


def test_a_call_that_its_shell_asks_about_says_that_it_waits_for_a_person(
    server: ServerProcess,
) -> None:
    with looking(server):
        call = AgentCall(server, "", path="/terminal", body=asked(UNREAD, timeout=3_000))
        approval = waiting(server)
        call.over()
        error = call.answer["error"]
        its = error["details"]["target"]
        twice = AgentCall(
            server,
            "",
            path="/terminal",
            body=asked("echo two", timeout=1_000) | {"target": {"session": its["session"]}},
        )
        twice.over()
        server.client.post(f"/approvals/{approval['id']}/decline")
        server.client.post(f"/sessions/{its['session']}/close", {})

    assert approval["operation"] == "input.line"
    assert (call.status, error["code"]) == (408, "PM_TERM_TIMEOUT")
    assert "waits for a person" in error["message"]
    assert error["details"]["approval"] == approval["id"]
    assert (error["details"]["retriable"], error["details"]["still_running"]) == (False, False)
    assert twice.answer["error"]["details"]["approval"] == approval["id"]
    assert twice.answer["error"]["details"]["retriable"] is False


def test_a_decline_of_what_the_shell_asks_is_the_calls_decline(server: ServerProcess) -> None:
    with looking(server):
        call = AgentCall(server, "", path="/terminal", body=asked(UNREAD, timeout=60_000))
        approval = waiting(server)
        server.client.post(f"/approvals/{approval['id']}/decline", {"note": "no"})
        call.over()

    error = call.answer["error"]
    assert (call.status, error["code"]) == (403, "PM_TERM_DECLINED")
    assert error["details"]["approval"] == approval["id"]
    assert outcomes(server, approval["id"]) == ["rejected"]


def test_a_run_over_http_learns_of_the_question_and_of_its_end(server: ServerProcess) -> None:
    call = AgentCall(server, "", body={"input": UNREAD, "max_wait_ms": 2_000})
    approval = waiting(server)
    call.over()
    server.client.post(f"/approvals/{approval['id']}/decline")
    declined = AgentCall(server, "", body={"input": UNREAD, "max_wait_ms": 60_000})
    other = waiting(server)
    server.client.post(f"/approvals/{other['id']}/decline", {"note": "no"})
    declined.over()
    granted = AgentCall(server, "", body={"input": UNREAD, "max_wait_ms": 60_000})
    third = waiting(server)
    server.client.post(f"/approvals/{third['id']}/approve")
    granted.over()

    assert (call.status, call.answer["completed_by"]) == (200, "deadline")
    assert call.answer["approval"] == approval["id"]
    assert (declined.status, declined.answer["error"]["code"]) == (403, "approval_rejected")
    assert (granted.status, granted.answer["completed_by"]) == (200, "mark")
    assert granted.answer["approval"] is None


@pytest.mark.anyio
async def test_the_tool_that_runs_a_command_says_the_same(server: ServerProcess) -> None:
    async with connected("http-2026", server, dialect="wsh") as client:
        result: Any = await client.call_tool(
            "wsh_run_command", {"session": "s", "input": UNREAD, "max_wait_ms": 2_000}
        )
    approval = waiting(server)
    server.client.post(f"/approvals/{approval['id']}/decline")

    content: Json = result.structured_content
    assert content["approval"] == approval["id"]
    assert "waits for a person" in json.dumps([each.model_dump() for each in result.content])


@pytest.mark.parametrize(
    ("session", "line", "printed"),
    [
        ("fish", r"echo 'it\'s'", "it's"),
        ("fish", r"echo 'a\\' 'b'", "a\\ b"),
        ("zsh", "echo 'a!b' \"it's\" ${HOME:+x}", "a!b it's x"),
    ],
)
def test_what_the_shell_reads_otherwise_is_not_asked_about(
    server: ServerProcess, session: str, line: str, printed: str
) -> None:
    call = AgentCall(
        server, "", path=f"/sessions/{session}/run", body={"input": line, "max_wait_ms": 60_000}
    )
    call.over()

    assert call.status == 200, call.answer
    assert call.answer["approval"] is None
    assert call.answer["output"] == printed
    assert server.client.get("/approvals")["approvals"] == []


@pytest.mark.parametrize(
    ("shell", "without"),
    [("bash", "set +H"), ("zsh", "setopt no_bang_hist"), ("fish", "true")],
)
def test_where_no_history_is_put_into_lines_an_exclamation_mark_is_not_asked_about(
    server: ServerProcess, shell: str, without: str
) -> None:
    name = f"{shell}-plain"
    server.client.post("/sessions", {"name": name, "command": shell})

    for line in (without, 'echo "a!b" c!d'):
        body = {"input": line, "max_wait_ms": 60_000}
        call = AgentCall(server, "", path=f"/sessions/{name}/run", body=body)
        call.over()

    assert call.status == 200, call.answer
    assert call.answer["approval"] is None
    assert call.answer["output"] == "a!b c!d"
