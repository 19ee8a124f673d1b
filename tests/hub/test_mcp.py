"""MCP at a hub: an agent's tools reach the sessions of its user's machines, and choose among them."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from tests.hub.conftest import Servers, wait_for

pytestmark = [pytest.mark.pty]


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(stack)


@pytest.fixture(scope="module")
def agent(servers: Servers) -> httpx.Client:
    """An agent of ann, who has two machines with a shell each."""
    servers.hub.client.post("/users", {"name": "ann"})
    given = {"scopes": ["read", "input", "control", "join"]}
    token = servers.hub.client.post("/users/ann/tokens", given)["token"]
    file = servers.hub.home / "ann.token"
    file.write_text(token)
    for name in ("north", "south"):
        machine = servers.start(name)
        assert machine.command("join", servers.hub.url(), "--token-file", str(file)).returncode == 0
    return servers.client(servers.hub, token)


def call(agent: httpx.Client, tool: str, **arguments: Any) -> dict[str, Any]:
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    asked = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": meta},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    answer = agent.post("/mcp/wsh", json=asked, headers=headers)
    assert answer.status_code == 200, answer.text
    text = answer.text
    if text.startswith(("event:", "id:", ":")):
        text = next(line[6:] for line in text.splitlines() if line.startswith("data: {"))
    return httpx.Response(200, text=text).json()["result"]


def test_a_call_without_a_session_is_routed_refused_or_answered_with_the_choice(
    servers: Servers, agent: httpx.Client
) -> None:
    none = call(agent, "wsh_run_command", input="echo hi")
    assert none["isError"]
    assert none["structuredContent"]["error"]["code"] == "no_active_session"

    north = agent.post("/sessions", json={"name": "work", "command": "bash", "server": "north"})
    assert north.status_code == 201, north.text
    only = call(agent, "wsh_run_command", input="echo hi")
    assert "hi" in str(only)

    south = agent.post("/sessions", json={"name": "work", "command": "bash", "server": "south"})
    several = call(agent, "wsh_run_command", input="echo hi")
    told = several["structuredContent"]
    assert told["error"]["code"] == "multiple_sessions"
    assert {each["machine"] for each in told["candidates"]} == {"north", "south"}

    chosen = call(agent, "wsh_run_command", session=south.json()["id"], input="echo $((40+2))")
    by_both = call(agent, "wsh_run_command", session="south/work", input="echo $((40+3))")
    assert "42" in str(chosen)
    assert "43" in str(by_both)
    unclear = call(agent, "wsh_run_command", session="work", input="echo hi")
    assert "session_ambiguous" in str(unclear)


def test_the_list_of_sessions_is_that_of_the_users_machines(
    servers: Servers, agent: httpx.Client
) -> None:
    servers.http.post("/sessions", json={"name": "of-the-hub", "command": "cat"})

    listed = wait_for(lambda: call(agent, "wsh_list_sessions"))

    assert "of-the-hub" not in str(listed)
