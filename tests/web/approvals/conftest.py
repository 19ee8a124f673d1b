"""A server whose rules ask, and an agent that it asks about."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.homes import settle_home
from tests.server_process import ServerProcess, running_server
from tests.web.agent import Mcp
from tests.web.approvals.asking import RULES, waiting
from tests.web.browsing import written_home


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        written_home(home)
        (home / "config.toml").write_text(RULES)
        with running_server(home) as started:
            yield started


@pytest.fixture(scope="module")
def agent(server: ServerProcess) -> Iterator[Mcp]:
    with Mcp(server) as connected:
        yield connected


@pytest.fixture(autouse=True)
def nothing_left_to_answer(server: ServerProcess) -> Iterator[None]:
    """Whatever a test left open does not show up in the next."""
    yield
    for each in waiting(server):
        server.client.post(f"/approvals/{each['id']}/decline", {})
    for each in server.client.get("/approvals/standing"):
        server.client.delete(f"/approvals/standing/{each['id']}")


@pytest.fixture
def session(server: ServerProcess) -> str:
    server.client.post("/sessions", {"name": "s", "command": "bash", "cwd": str(server.home)})
    return "s"
