"""The Inspector's command line, as people use it to look at a server."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.peers.conftest import MODULES, run_node
from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty


def inspector() -> str:
    about = json.loads((MODULES / "@modelcontextprotocol/inspector/package.json").read_text())
    bin_ = about["bin"]
    path = bin_ if isinstance(bin_, str) else bin_["mcp-inspector"]
    return str(MODULES / "@modelcontextprotocol/inspector" / path)


def inspect(node: Path, server: ServerProcess, era: str, way: str, *words: str) -> Any:
    # A header takes every word that follows it, so it comes first and the address last.
    first, last = (
        ([], ["--", "env", f"DUETTY_HOME={server.home}", sys.executable, "-m", "duetty", "mcp"])
        if way == "stdio"
        else (["--header", f"Authorization: Bearer {server.token()}"], [f"{server.url()}/mcp"])
    )
    options = ["--cli", *first, "--protocol-era", era, "--format", "json", *words, *last]
    ran = run_node(
        node,
        inspector(),
        *options,
        MCP_INSPECTOR_SECRET_STORE="memory",
        **{key: server.env[key] for key in ("HOME", "DUETTY_HOME", "SHELL")},
    )
    assert ran.returncode == 0, ran.stderr[-2000:] + ran.stdout[-2000:]
    return json.loads(ran.stdout)


@pytest.mark.parametrize("way", ["stdio", "http"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_and_calls(
    node: Path, server: ServerProcess, era: str, way: str
) -> None:
    listed = inspect(node, server, era, way, "--method", "tools/list")
    made = inspect(
        node, server, era, way,
        "--method", "tools/call", "--tool-name", "wsh_create_session", "--tool-args-json", "{}",
    )  # fmt: skip

    tools = listed.get("tools") or listed["result"]["tools"]
    assert len(tools) == 14
    assert "session" in json.dumps(made)
