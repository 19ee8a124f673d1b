"""The server is killed; overlays, panels and the size that they leave to the program are not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duetty.client import session_path
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.pty]


@pytest.fixture
def server(home: Path) -> Iterator[ServerProcess]:
    with running_server(home) as server:
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        yield server


def size_told_to_programs(server: ServerProcess) -> str:
    ran: dict[str, Any] = server.client.post(session_path("s", "/run"), {"input": "stty size"})
    return ran["output"]


def elements(server: ServerProcess) -> dict[str, Any]:
    return server.client.get(session_path("s", "/elements"))


def test_a_panel_made_a_moment_before_the_kill_is_there_after_it(server: ServerProcess) -> None:
    server.client.post(session_path("s", "/panel"), {"position": "top", "height": 2})
    before = elements(server)

    server.kill()
    server.start()

    assert elements(server) == before
    assert server.client.get(session_path("s"))["rows"] == 24
    assert size_told_to_programs(server) == "22 80"


def test_a_size_with_panels_survives_the_kill_and_grows_back_without_them(
    server: ServerProcess,
) -> None:
    server.client.post(session_path("s", "/panel"), {"position": "bottom", "height": 5})
    server.client.post(session_path("s", "/resize"), {"cols": 100, "rows": 30})

    server.kill()
    server.start()
    with_panel = size_told_to_programs(server)
    server.client.delete(session_path("s", "/panel"))
    server.kill()
    server.start()

    assert (with_panel, size_told_to_programs(server)) == ("25 100", "30 100")
    assert elements(server)["panels"] == []
