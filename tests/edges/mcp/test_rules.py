"""Rules about a dialect hold for its tools, also where several dialects are spoken at once."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from tests.edges.mcp.connect import WAYS, connected
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

RULES = """
[[policy.rules]]
name = "no-typing"
decide = "deny"
dialect = "wsh"
operation = ["command.run", "screen.get"]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = Path(path)
        (home / "config.toml").write_text(RULES)
        with running_server(home, DUETTY_SERVER_PING_S="3600") as server:
            server.client.post("/sessions", {"name": "s"})
            yield server


@pytest.mark.parametrize("dialects", ["wsh", "wsh,command", "command,terminal,wsh"])
@pytest.mark.parametrize("way", WAYS)
async def test_a_rule_about_a_dialect_holds_beside_others(
    server: ServerProcess, way: str, dialects: str
) -> None:
    async with connected(way, server, dialect=dialects) as client:
        # Twice: the second of two plain calls goes past the SDK.
        refused = [
            await client.call_tool("wsh_run_command", {"session": "s", "input": "echo hello"})
            for _ in range(2)
        ]
        unread = await client.call_tool("wsh_get_screen", {"session": "s"})
        beside = (
            await client.call_tool("run_command", {"command": "echo hello"})
            if "command" in dialects
            else None
        )

    for each in (*refused, unread):
        assert each.is_error
        assert "no-typing" in str(each.content)
    assert beside is None or not beside.is_error


async def test_such_a_rule_holds_for_resources_beside_other_dialects(server: ServerProcess) -> None:
    async with connected("http-2026", server, dialect="command,wsh") as client:
        with pytest.raises(MCPError, match=r"the rule .* denies it"):
            await client.read_resource("wsh://sessions/s/screen")
