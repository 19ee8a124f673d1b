"""Every revision of the protocol on one endpoint: agreed on, and then of use."""

from typing import Any

import httpx
import pytest

from tests.edges.mcp.host import INITIALIZE, MODERN, hosted
from tests.server_process import ServerProcess

HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
NEWEST_HANDSHAKE = HANDSHAKES[-1]
MODERN_REVISION = "2026-07-28"


@pytest.mark.parametrize("revision", HANDSHAKES)
def test_a_host_of_each_revision_agrees_on_its_own_and_runs_a_command(
    server: ServerProcess, revision: str
) -> None:
    with hosted(server) as host:
        host.shake_hands(revision)
        name = host.call("wsh_create_session", command="bash")["session"]
        answer = host.call("wsh_run_command", session=name, input="echo spoken")

    assert (answer["exit_code"], answer["output"]) == (0, "spoken")


def test_a_revision_that_nobody_knows_is_answered_with_the_newest_of_the_handshake(
    server: ServerProcess,
) -> None:
    with hosted(server) as host:
        answer = host.ask("initialize", INITIALIZE | {"protocolVersion": "1999-01-01"})["result"]

    assert answer["protocolVersion"] == NEWEST_HANDSHAKE


def test_the_modern_revision_needs_no_handshake_and_says_what_it_serves(
    server: ServerProcess,
) -> None:
    with hosted(server) as host:
        about = host.ask("server/discover", {"_meta": MODERN})["result"]
        made = host.ask(
            "tools/call",
            {"name": "wsh_create_session", "arguments": {"command": "bash"}, "_meta": MODERN},
        )["result"]["structuredContent"]
        run = {"session": made["session"], "input": "echo spoken"}
        answer = host.ask(
            "tools/call", {"name": "wsh_run_command", "arguments": run, "_meta": MODERN}
        )["result"]["structuredContent"]

    assert MODERN_REVISION in about["supportedVersions"]
    assert (answer["exit_code"], answer["output"]) == (0, "spoken")


@pytest.mark.parametrize("revision", HANDSHAKES)
def test_each_revision_is_served_by_the_same_address(server: ServerProcess, revision: str) -> None:
    headers = {
        "Authorization": f"Bearer {server.token()}",
        "Accept": "application/json, text/event-stream",
    }
    with httpx.Client(base_url=server.url(), headers=headers, timeout=60) as http:

        def ask(number: int, method: str, params: dict[str, Any]) -> httpx.Response:
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            return http.post("/mcp", json=message).raise_for_status()

        begun = ask(1, "initialize", INITIALIZE | {"protocolVersion": revision})
        http.headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
        http.headers["MCP-Protocol-Version"] = revision
        http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = ask(2, "tools/list", {})

    assert f'"protocolVersion":"{revision}"' in begun.text.replace(" ", "")
    assert '"wsh_run_command"' in tools.text
