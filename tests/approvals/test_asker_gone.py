"""A question is about somebody who may still ask, and is still there."""

from collections.abc import Callable, Iterator

import pytest

from tests.approvals.asking import AgentCall, asking_server, outcomes, waiting
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

Leave = Callable[[AgentCall, ServerProcess, str], None]


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with asking_server() as server:
        yield server


def hang_up(call: AgentCall, _server: ServerProcess, _token: str) -> None:
    call.hang_up()


def revoke(_call: AgentCall, server: ServerProcess, token: str) -> None:
    server.client.delete(f"/tokens/{token}")


@pytest.mark.parametrize("leave", [hang_up, revoke])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/sessions", {"name": "new", "command": "touch never"}),
        ("/sessions/s/run", {"input": "touch never"}),
        ("/processes", {"command": "touch never"}),
    ],
)
def test_a_question_is_taken_back_when_its_asker_leaves_or_is_sent_away(
    server: ServerProcess, leave: Leave, path: str, body: dict[str, str]
) -> None:
    made = server.client.post("/tokens", {"name": "x", "scopes": ["read", "input", "control"]})
    call = AgentCall(server, "", path=path, body=body, token=made["token"])
    approval = waiting(server)

    leave(call, server, made["info"]["id"])
    call.over()

    said = server.command("approve", approval["id"])
    assert said.returncode != 0
    assert outcomes(server, approval["id"]) == ["withdrawn"]
    assert call.status in (0, 403)
    assert [each["name"] for each in server.client.get("/sessions")] == ["s"]
