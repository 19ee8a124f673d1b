"""Questions about lines that an agent types at a prompt: the call waits, and nothing is typed before."""

from collections.abc import Iterator

import pytest

from tests.approvals.asking import AgentCall, asking_server, outcomes, waiting
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty, pytest.mark.shells]


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with asking_server() as server:
        yield server


def opened(server: ServerProcess, shell: str) -> str:
    server.client.post("/sessions", {"name": shell, "command": shell})
    server.client.post(f"/sessions/{shell}/run", {"input": "true"})
    return shell


def types(server: ServerProcess, session: str, line: str) -> AgentCall:
    return AgentCall(server, "", path=f"/sessions/{session}/input", body=f"{line}\r")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_typed_line_runs_after_a_yes_and_a_yes_for_the_session_covers_it_again(
    server: ServerProcess, shell: str
) -> None:
    session, made = opened(server, shell), server.home / "made"
    call = types(server, session, f"touch {made}")
    question = waiting(server)
    before = made.exists()
    server.client.post(f"/approvals/{question['id']}/approve", {"covers": "session"})
    call.over()
    server.client.post(f"/sessions/{session}/run", {"input": f"rm {made}"})
    again = types(server, session, f"touch {made}")
    again.over()
    server.client.post(f"/sessions/{session}/run", {"input": "true"})

    assert not before
    assert (call.status, again.status) == (204, 204)
    assert made.exists()
    assert outcomes(server, question["id"]) == ["granted"]


def test_a_typed_line_that_is_declined_is_not_on_the_prompt(server: ServerProcess) -> None:
    session, made = opened(server, "bash"), server.home / "made"
    call = types(server, session, f"touch {made}")
    question = waiting(server)
    server.client.post(f"/approvals/{question['id']}/decline")
    call.over()
    server.client.post(f"/sessions/{session}/run", {"input": "true"})
    shown = "\n".join(server.client.get(f"/sessions/{session}/screen", format="plain")["lines"])

    assert (call.status, call.answer["error"]["code"]) == (403, "approval_rejected")
    assert "touch" not in shown
    assert not made.exists()


def test_a_question_about_a_typed_line_is_the_same_after_a_restart(server: ServerProcess) -> None:
    session, made = opened(server, "bash"), server.home / "made"
    call = types(server, session, f"touch {made}")
    asked = waiting(server)
    server.kill()
    call.over()
    server.start()
    left = waiting(server)
    again = types(server, session, f"touch {made}")
    server.client.post(f"/approvals/{left['id']}/approve")
    again.over()
    server.client.post(f"/sessions/{session}/run", {"input": "true"})

    assert left["id"] == asked["id"]
    assert made.exists()
    assert outcomes(server, asked["id"]) == ["granted"]
