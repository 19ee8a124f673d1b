"""An acknowledgement means recorded: a full disk, then SIGKILL."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edges.http.asking import client_of
from tests.faults.test_disk import fill, mounted
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty, pytest.mark.root]


@pytest.fixture
def server(home: Path) -> Iterator[ServerProcess]:
    with mounted(home, "size=8m,mode=700"):
        server = ServerProcess(home)
        server.start()
        try:
            yield server
        finally:
            (home / "ballast").unlink(missing_ok=True)
            server.end()


def recorded(server: ServerProcess) -> set[str]:
    """Command lines of runs that the files of the trail have."""
    lines = [
        json.loads(line)
        for path in sorted(server.paths.audit.glob("trail-*.jsonl"))
        for line in path.read_bytes().splitlines()
    ]
    runs = [each for each in lines if each["kind"] == "call" and each["operation"] == "command.run"]
    return {each["judged"]["command_line"] for each in runs}


def test_every_run_that_an_agent_was_told_is_done_survives_a_full_disk_and_sigkill(
    server: ServerProcess, home: Path
) -> None:
    acknowledged: set[str] = set()
    codes: set[str] = set()
    with client_of(server) as agent:
        agent.post("/sessions", json={"name": "s", "command": "bash"})
        ballast = fill(home)
        for number in range(20):
            line = f"echo run-{number}"
            answer = agent.post("/sessions/s/run", json={"input": line})
            if answer.status_code == 200:
                acknowledged.add(line)
            else:
                codes.add(answer.json()["error"]["code"])
    server.kill()
    kept = recorded(server)
    ballast.unlink()
    server.start()
    with client_of(server) as agent:
        after = agent.post("/sessions/s/run", json={"input": "echo after"})

    assert acknowledged <= kept
    assert codes <= {"audit_unavailable"}
    assert codes, "the disk was full"
    assert after.status_code == 200
    assert "echo after" in recorded(server)
