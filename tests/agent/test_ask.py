"""`duetty ask`, through a real server, a real shell and a scripted model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.model_server import ModelServer, call, results, say
from tests.server_process import ServerProcess


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def server(home: Path, model: ModelServer) -> Iterator[ServerProcess]:
    server = ServerProcess(home, **model.settings)
    server.start()
    try:
        yield server
    finally:
        server.end()


def test_the_agent_runs_a_command_and_says_what_came_of_it(
    server: ServerProcess, model: ModelServer, home: Path
) -> None:
    model.script = [call("run", {"input": "echo it is $((6*7))"}), say("It says 42.")]

    asked = server.command("ask", "what is it?", cwd=home)

    assert asked.returncode == 0, asked.stderr
    assert "● run echo it is $((6*7))" in asked.stdout
    assert "it is 42" in asked.stdout
    assert "It says 42." in asked.stdout
    assert "it is 42" in results(model.requests[1])[0]
