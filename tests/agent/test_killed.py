"""SIGKILL at each moment of a turn: the conversation goes on, and nothing runs twice."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from duetty.errors import DuettyError
from tests.agent.model_server import ModelServer, Reply, call, results, say
from tests.agent.talking import Asked
from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty


def once(request: dict[str, Any]) -> Reply:
    """Calls the tool as long as it knows of no outcome."""
    if results(request):
        return say("I know what became of it.")
    return call("run", {"input": "echo once >> ran"}, "I do it.")


@pytest.mark.parametrize(
    ("moment", "times", "told"),
    [
        ("in the stream", 1, "[exit code 0"),
        ("before the call is written", 1, "[exit code 0"),
        ("before the call begins", 0, "Not done: the server ended"),
        ("when the call is written", 0, "Unknown: the server ended"),
        ("before the result is written", 1, "Unknown: the server ended"),
    ],
)
def test_a_server_killed_in_a_turn_goes_on_with_it(
    moment: str, times: int, told: str, home: Path
) -> None:
    with ModelServer(*[once] * 4) as model:
        server = ServerProcess(home, **model.settings)
        server.start(change=f"from tests.agent.dying import at; at({moment!r})")
        try:
            with suppress(DuettyError):  # it may die before it has said that it heard
                server.client.post("/agent/messages", {"text": "do it", "cwd": str(home)})
            server.wait_ended()
            server.paths.address_file.unlink(missing_ok=True)
            server.start()
            asked = Asked(server)
            interrupted = asked.info()
            server.client.post(f"/agent/conversations/{asked.id}/resume", {})
            info = asked.wait("idle", "failed")

            ran = home / "ran"
            assert (interrupted["state"], interrupted["code"]) == ("failed", "agent_interrupted")
            assert info["state"] == "idle"
            assert (ran.read_text() if ran.exists() else "") == "once\n" * times
            assert results(model.requests[-1])[-1].startswith(told)
            assert [each["text"] for each in asked.entries("message")] == ["do it"]
        finally:
            server.end()
