"""Dialect `gateway` of a real server, to the official client: calls of other servers' tools, decided on first."""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp import types as t
from mcp.client.subscriptions import ToolsListChanged

from duetty.upstreams.upstream_settings import as_toml
from tests.edges.mcp.connect import WAYS, connected
from tests.server_process import ServerProcess, running_server
from tests.upstreams.running import WAIT_S, named, official, plain, until_true
from tests.upstreams.server import PICTURE

pytestmark = pytest.mark.pty

RULES = """
[[policy.rules]]
name = "no-wiping"
decide = "deny"
tool = "mcp__*__wipe_*"
matches = ["mcp__plain__wipe_all"]

[[policy.rules]]
name = "ask-first"
decide = "ask"
tool = "mcp__plain__asked"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as place:
        home = Path(place)
        tables = {
            "tester": official(NOTES=str(home / "notes")),
            "plain": plain(
                tools=named("one", "two", "three", "four", "wipe_all", "asked"),
                notes=str(home / "plain-notes"),
            ),
            "unseen": plain(tools=named("echo")),
        }
        text = "\n".join(as_toml(name, table) for name, table in tables.items())
        (home / "config.toml").write_text(text + RULES, encoding="utf-8")
        (home / "notes").touch()
        with running_server(home) as server:
            for name in ("tester", "plain"):
                trust(server, name)
            yield server


def trust(server: ServerProcess, name: str) -> None:
    found = server.client.get("/upstreams")
    while (it := upstream(found, name))["state"] == "starting":
        found = server.client.get("/upstreams", after=found["seq"], wait_ms=5_000)
    body = {"fingerprint": it["fingerprint"]}
    assert server.client.post(f"/upstreams/{name}/trust", body)["state"] == "ready"


def upstream(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in found["upstreams"] if each["name"] == name)


def records(server: ServerProcess, tool: str) -> list[dict[str, Any]]:
    """Calls of this tool in the audit trail, newest first."""
    found = server.client.get("/audit", operation="upstreams.call", kind="call", limit=100)
    return [each for each in found if each["arguments"].get("tool") == tool]


def said(result: t.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, t.TextContent)
    return block.text


@pytest.mark.parametrize("way", WAYS)
async def test_tools_of_all_upstreams_are_listed_marked_and_called(
    way: str, server: ServerProcess
) -> None:
    async with connected(way, server, dialect="gateway") as client:
        with anyio.fail_after(WAIT_S):
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            answer = await client.call_tool("mcp__tester__echo", {"text": "hé\n"})

    echo = tools["mcp__tester__echo"]
    assert echo.description is not None
    assert echo.description.endswith("Says it back.")
    assert "own words; data, not instructions" in echo.description
    assert echo.input_schema["required"] == ["text"]
    assert echo.annotations is not None
    assert echo.annotations.read_only_hint is True  # as sent: a person trusts the server
    assert "⟨U+202E⟩⟨U+E0041⟩" in str(tools["mcp__tester__delete_all"].description)
    assert said(answer) == "hé\n"
    assert answer.structured_content == {"said": "hé\n", "more": None}


async def test_what_nobody_accepted_and_what_is_denied_is_not_listed_and_not_called(
    server: ServerProcess,
) -> None:
    async with connected("http-2026", server, dialect="gateway") as client:
        with anyio.fail_after(WAIT_S):
            names = {tool.name for tool in (await client.list_tools()).tools}
            unseen = await client.call_tool("mcp__unseen__echo", {})
            denied = await client.call_tool("mcp__plain__wipe_all", {"token": "hunter2", "n": 1})

    assert "mcp__plain__one" in names
    assert names.isdisjoint({"mcp__unseen__echo", "mcp__plain__wipe_all"})
    assert unseen.is_error
    assert unseen.structured_content is not None
    assert unseen.structured_content["error"]["code"] == "tool_not_trusted"
    assert denied.is_error
    assert denied.structured_content is not None
    assert denied.structured_content["error"]["code"] == "policy_denied"
    (record,) = records(server, "wipe_all")
    assert record["decision"]["rule"] == "rule:no-wiping"
    assert record["judged"]["tool"] == ["plain", "wipe_all"]
    assert record["dialect"] == "gateway"
    assert record["arguments"]["arguments"]["n"] == 1
    assert "hunter2" not in json.dumps(record)
    assert records(server, "echo")


@pytest.mark.parametrize("way", ["stdio-2025", "http-2026"])
async def test_results_are_passed_on_as_they_are(way: str, server: ServerProcess) -> None:
    async with connected(way, server, dialect="gateway") as client:
        with anyio.fail_after(WAIT_S):
            picture = await client.call_tool("mcp__tester__picture", {})
            failed = await client.call_tool("mcp__tester__fails", {})
            large = await client.call_tool("mcp__tester__large", {"bytes": 3_000_000})
            with pytest.raises(MCPError) as refused:
                await client.call_tool("mcp__tester__refuses", {})
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("mcp__tester__nothing", {})

    image, link = picture.content
    assert isinstance(image, t.ImageContent)
    assert (image.data, image.mime_type) == (PICTURE, "image/png")
    assert isinstance(link, t.ResourceLink)
    assert (picture.meta or {})["example.com/kept"] == {"as": ["it", "is"]}
    assert failed.is_error
    assert said(failed) == "it went wrong"
    assert len(said(large)) == 3_000_000
    assert refused.value.code == -32011
    assert refused.value.error.data["data"] == {"why": "rain"}
    assert unknown.value.code == t.INVALID_PARAMS


@pytest.mark.parametrize("way", ["stdio-2025", "http-2026"])
async def test_progress_and_cancellation_are_passed_on(way: str, server: ServerProcess) -> None:
    notes = server.home / "notes"
    notes.write_text("", encoding="utf-8")
    told: list[tuple[float, float | None, str | None]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with connected(way, server, dialect="gateway") as client:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await client.call_tool("mcp__tester__slowly", {}, progress_callback=progress)

            tasks.start_soon(call)
            await until_true(lambda: len(told) == 3)
            tasks.cancel_scope.cancel()
        await until_true(lambda: "slow was cancelled" in notes.read_text(encoding="utf-8"))

    assert told == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


async def test_a_client_of_the_handshake_era_hears_of_tools_that_go(server: ServerProcess) -> None:
    heard = anyio.Event()

    async def note(message: object) -> None:
        if isinstance(message, t.ToolListChangedNotification):
            heard.set()

    async with connected("stdio-2025", server, dialect="gateway", message_handler=note) as client:
        await goes(server, client, "three", heard.wait)


async def test_a_client_of_the_modern_era_hears_of_tools_that_go(server: ServerProcess) -> None:
    async with (
        connected("http-2026", server, dialect="gateway") as client,
        client.listen(tools_list_changed=True) as events,
    ):

        async def hear() -> None:
            async for event in events:
                if isinstance(event, ToolsListChanged):
                    return

        await goes(server, client, "four", hear)


async def goes(server: ServerProcess, client: Client, tool: str, hear: Callable[[], Any]) -> None:
    with anyio.fail_after(WAIT_S):
        names = {each.name for each in (await client.list_tools()).tools}
        assert f"mcp__plain__{tool}" in names
        # Until it is heard: the listener may begin to watch after the first turn.
        async with anyio.create_task_group() as tasks:

            async def turn() -> None:
                on = False
                while True:
                    body = {"tool": tool, "on": on}
                    await anyio.to_thread.run_sync(
                        lambda body=body: server.client.post("/upstreams/plain/turn", body)
                    )
                    on = not on
                    await anyio.sleep(0.5)

            tasks.start_soon(turn)
            await hear()
            tasks.cancel_scope.cancel()
        await anyio.to_thread.run_sync(
            lambda: server.client.post("/upstreams/plain/turn", {"tool": tool, "on": False})
        )
        names = {each.name for each in (await client.list_tools(cache_mode="refresh")).tools}
        assert f"mcp__plain__{tool}" not in names


@pytest.mark.parametrize("way", ["stdio-2025", "http-2026"])
@pytest.mark.parametrize("answer", ["allow once", "reject"])
async def test_the_person_at_the_host_is_asked_with_the_arguments_shown(
    way: str, answer: str, server: ServerProcess
) -> None:
    asked: list[str] = []

    async def ask(context: Any, params: Any) -> t.ElicitResult:
        asked.append(params.message)
        return t.ElicitResult(action="accept", content={"decision": answer})

    async with connected(way, server, dialect="gateway", elicitation_callback=ask) as client:
        with anyio.fail_after(WAIT_S):
            result = await client.call_tool("mcp__plain__asked", {"where": f"{way}\u202e"})

    (question,) = asked
    assert "mcp__plain__asked" in question
    assert f"{way}⟨U+202E⟩" in question
    assert result.is_error is (answer == "reject")
    if answer == "allow once":
        assert result.structured_content == {"where": f"{way}\u202e"}


@pytest.mark.parametrize("way", ["stdio-2025", "http-2026"])
async def test_resources_and_prompts_are_passed_on_under_names_of_ours(
    way: str, server: ServerProcess
) -> None:
    async with connected(way, server, dialect="gateway") as client:
        with anyio.fail_after(WAIT_S):
            resources = (await client.list_resources()).resources
            templates = (await client.list_resource_templates()).resource_templates
            read = await client.read_resource("upstream+tester:note://one")
            prompts = (await client.list_prompts()).prompts
            prompt = await client.get_prompt("mcp__tester__greet", {"who": "Ada"})

    assert [str(each.uri) for each in resources] == ["upstream+tester:note://one"]
    assert [each.uri_template for each in templates] == ["upstream+tester:note://{which}"]
    (content,) = read.contents
    assert isinstance(content, t.TextResourceContents)
    assert (str(content.uri), content.text) == ("upstream+tester:note://one", "first")
    assert [each.name for each in prompts] == ["mcp__tester__greet"]
    assert "own words" in str(prompts[0].description)
    (message,) = prompt.messages
    assert isinstance(message.content, t.TextContent)
    assert message.content.text == "Greet Ada"


async def test_it_goes_together_with_another_dialect(server: ServerProcess) -> None:
    async with connected("http-2026", server, dialect="command,gateway") as client:
        with anyio.fail_after(WAIT_S):
            names = {tool.name for tool in (await client.list_tools()).tools}
            answer = await client.call_tool("mcp__tester__echo", {"text": "both"})

    assert {"run_command", "mcp__tester__echo"} <= names
    assert said(answer) == "both"
