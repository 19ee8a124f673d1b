"""Calls through the gateway that outlive their request: towards its clients and towards upstreams, in both eras.

Behind the gateway stands another server of ours, which answers calls that take long with tasks.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import types as t

from duetty.upstreams.upstream_settings import as_toml
from tests.edges.mcp.connect import connected
from tests.edges.mcp.host import INITIALIZE, hosted
from tests.edges.mcp.test_tasks import WITH_TASKS, wait_status
from tests.server_process import ServerProcess
from tests.upstreams.running import WAIT_S, plain
from tests.upstreams.test_gateway import trust

pytestmark = pytest.mark.pty

SOON = "duetty.edges.mcp.core.TASK_AFTER_S = 0.2"


@pytest.fixture(scope="module")
def far() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as place:
        server = ServerProcess(Path(place))
        server.start_with(SOON)
        try:
            yield server
        finally:
            server.end()


@pytest.fixture(scope="module")
def server(far: ServerProcess) -> Iterator[ServerProcess]:
    tables: dict[str, dict[str, Any]] = {
        "far": {
            "url": f"{far.url()}/mcp",
            "token_file": str(far.paths.token_file),
            "permissions": {"trust_level": "trusted"},
            "elicitation": True,
        },
        "asks": plain(trust="untrusted"),
    }
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as place:
        text = "\n".join(as_toml(name, table) for name, table in tables.items())
        (Path(place) / "config.toml").write_text(text, encoding="utf-8")
        server = ServerProcess(Path(place))
        server.start_with(SOON)
        try:
            for name in tables:
                trust(server, name)
            yield server
        finally:
            server.end()


def run(line: str) -> dict[str, Any]:
    arguments = {"session": "s", "input": line, "view": "output"}
    return {"name": "mcp__far__wsh_run_command", "arguments": arguments}


@pytest.fixture(scope="module")
def session(far: ServerProcess) -> None:
    far.client.post("/sessions", {"name": "s"})


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("way", ["stdio-2025", "http-2026"])
async def test_a_task_of_an_upstream_is_waited_for_and_its_question_answered(
    server: ServerProcess, way: str
) -> None:
    asked: list[str] = []

    async def ask(context: Any, params: Any) -> t.ElicitResult:
        asked.append(params.message)
        return t.ElicitResult(action="accept", content={"decision": "allow once"})

    async with connected(way, server, dialect="gateway", elicitation_callback=ask) as client:
        with anyio.fail_after(WAIT_S):
            slow = await client.call_tool(**run("sleep 1; echo done"))
            dangerous = await client.call_tool(**run("sleep 1; rm -rf ~/nothing-there"))

    assert slow.structured_content is not None
    assert slow.structured_content["output"] == "done"
    assert not dangerous.is_error
    assert len(asked) == 1
    assert "Server 'far', in its own words" in asked[0]
    assert "nothing-there" in asked[0]


@pytest.mark.usefixtures("session")
def test_a_long_call_becomes_a_task_for_a_client_of_the_modern_era(server: ServerProcess) -> None:
    with hosted(server, "--dialect", "gateway") as host:
        made = host.ask("tools/call", run("sleep 1; echo done") | {"_meta": WITH_TASKS})["result"]
        got = wait_status(host, made["taskId"], "completed", WITH_TASKS)

    assert (made["resultType"], made["status"]) == ("task", "working")
    assert got["result"]["structuredContent"]["output"] == "done"


def test_a_call_is_made_as_a_task_in_2025_and_who_waits_for_it_is_asked(
    server: ServerProcess,
) -> None:
    with hosted(server, "--dialect", "gateway") as host:
        able: dict[str, Any] = INITIALIZE | {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {"form": {}}},
        }
        about = host.ask("initialize", able)["result"]
        host.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        tools = {each["name"]: each for each in host.ask("tools/list")["result"]["tools"]}
        wanted = {"name": "mcp__asks__echo", "arguments": {"a": 1}, "task": {"ttl": 60_000}}
        made = host.ask("tools/call", wanted)["result"]["task"]
        wait_status(host, made["taskId"], "input_required", None)
        host.begin("tasks/result", {"taskId": made["taskId"]})
        question = host.hear_told("elicitation/create")
        answer = {"action": "accept", "content": {"decision": "allow once"}}
        host.reply(question, answer)
        result = host.hear_answer()["result"]

    assert about["capabilities"]["tasks"]["requests"] == {"tools": {"call": {}}}
    assert tools["mcp__asks__echo"]["execution"] == {"taskSupport": "optional"}
    assert "mcp__asks__echo" in question["params"]["message"]
    related = {"io.modelcontextprotocol/related-task": {"taskId": made["taskId"]}}
    assert question["params"]["_meta"] == related
    assert result["structuredContent"] == {"a": 1}
    assert result["_meta"]["duetty/decided_by"] == "person"
