"""A server that ends while it serves a request: PM_TERM_DISCONNECTED, whichever the door."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.contract.doors import Said, opened
from tests.edges.mcp.connect import connected
from tests.edges.mcp.host import MODERN, Host, hosted
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

Json = dict[str, Any]


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as name:
        server = ServerProcess(Path(name))
        server.start()
        try:
            yield server
        finally:
            server.end()


def begun(server: ServerProcess) -> None:
    """Wait until the command of the request runs."""
    while not server.client.get("/processes"):
        pass


def assert_disconnected(error: Json, *, alias: str | None = None) -> None:
    details = error["details"]
    assert error["code"] == "PM_TERM_DISCONNECTED"
    assert error["message"]
    assert "connect again" in error["hint"]
    assert (details["retriable"], details["retry"]) == (True, "after_reconnect")
    assert details["trace_id"] == details["metadata"]["trace_id"]
    assert details["metadata"]["mode"] == "headless"
    assert details["metadata"]["alias"]["canonical"] == "execute"
    assert details["metadata"]["alias"]["normalised"] is (alias is not None)


SLEEPS: Json = {
    "action": "execute",
    "invocation": {"mode": "headless"},
    "execution": {"command": "sleep 30"},
}
OLDER: Json = {"action": "run", "mode": "headless", "command": "sleep 30"}


@pytest.mark.parametrize("request_", [SLEEPS, OLDER], ids=["canonical", "alias"])
@pytest.mark.parametrize("era", ["2025", "2026"])
def test_a_bridge_tells_that_its_server_was_killed(
    server: ServerProcess, era: str, request_: Json
) -> None:
    with hosted(server, "--dialect", "terminal") as host:
        meta = {"_meta": MODERN} if era == "2026" else {}
        if era == "2025":
            host.shake_hands()
        host.begin("tools/call", {"name": "terminal", "arguments": request_, **meta})
        begun(server)

        server.kill()
        answer = host.hear_answer()
        server.start()
        listed = _called(host, {"action": "list", "invocation": {"mode": "headless"}}, meta)

    result = answer["result"]
    assert result["isError"] is True
    assert result.get("resultType") == ("complete" if era == "2026" else None)
    alias = "run" if request_ is OLDER else None
    assert_disconnected(result["structuredContent"]["error"], alias=alias)
    assert "ok" in listed["result"]["structuredContent"], "the next call is served"


def _called(host: Host, arguments: Json, meta: Json) -> Json:
    return host.ask("tools/call", {"name": "terminal", "arguments": arguments, **meta})


@pytest.mark.parametrize("door", ["http", "mcp-http-2026", "mcp-http-2025", "mcp-stdio-2025"])
async def test_a_request_is_told_that_the_server_stops(server: ServerProcess, door: str) -> None:
    told: list[Said] = []

    async def execute() -> None:
        async with opened(door, server) as ask:
            told.append(await ask(**SLEEPS))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(execute)
        await anyio.to_thread.run_sync(begun, server)
        await anyio.to_thread.run_sync(server.command, "stop")

    [said] = told
    assert said.status in (None, 503)
    assert_disconnected(said.error or {})


@pytest.mark.parametrize("way", ["http-2026", "stdio-2025"])
async def test_a_call_of_another_dialect_is_answered_when_the_server_stops(
    server: ServerProcess, way: str
) -> None:
    told: list[Any] = []

    async def execute() -> None:
        async with connected(way, server, dialect="command") as client:
            told.append(await client.call_tool("run_command", {"command": "sleep 30"}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(execute)
        await anyio.to_thread.run_sync(begun, server)
        await anyio.to_thread.run_sync(server.command, "stop")

    [result] = told
    assert result.is_error
    assert result.structured_content["error"]["code"] == "server_stopping"
