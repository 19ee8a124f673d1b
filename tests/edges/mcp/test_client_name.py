"""What a client calls itself is told to people in the audit, and counts for nothing else."""

import secrets
from typing import Any

import pytest
from mcp.types import Implementation

from tests.edges.mcp.connect import WAYS, connected
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


def calls_on(server: ServerProcess, session: str) -> list[dict[str, Any]]:
    found = server.client.get(f"/audit?kind=call&session={session}")
    return [each for each in found if each["operation"] == "command.run"]


@pytest.mark.parametrize("way", WAYS)
async def test_the_audit_says_which_program_made_a_call(server: ServerProcess, way: str) -> None:
    session = f"n{secrets.token_hex(4)}"
    named = Implementation(name="person\x1b[31m" + "x" * 500, version="1")

    async with connected(way, server, client_info=named) as client:
        await client.call_tool("wsh_create_session", {"name": session, "command": "bash"})
        for _ in range(2):  # by the SDK's way, and past it
            await client.call_tool("wsh_run_command", {"session": session, "input": "echo hello"})

    calls = calls_on(server, session)
    assert len(calls) == 2
    for each in calls:
        assert each["client"] == "person\ufffd[31m" + "x" * 49
        assert each["actor"]["kind"] == "agent"
        assert "person\ufffd" not in str(each["actor"])
