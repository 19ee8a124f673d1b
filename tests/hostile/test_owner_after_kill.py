"""After SIGKILL, history still says whose the last runs were."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edges.http.asking import client_of
from tests.faults.server_facts import run
from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty


@pytest.fixture
def server(home: Path) -> Iterator[ServerProcess]:
    server = ServerProcess(home)
    # A store that is slower than the kill.
    server.start_with("duetty.store.writer.GATHER_S = 30.0")
    try:
        yield server
    finally:
        server.end()


def test_an_agents_last_runs_are_its_own_and_a_persons_are_theirs(server: ServerProcess) -> None:
    with client_of(server) as agent:
        agent.post("/sessions", json={"name": "s", "command": "bash"})
        for number in range(3):
            answer = agent.post("/sessions/s/run", json={"input": f"echo agent-{number}"})
            assert answer.status_code == 200
    run(server, "echo by-hand")
    server.kill()
    server.start()

    whose = {each["command_line"]: each["actor"] for each in server.client.get("/history")}

    assert {whose[f"echo agent-{number}"] for number in range(3)} == {"agent:token"}
    assert whose["echo by-hand"] == "person:local"
