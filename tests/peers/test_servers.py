"""Real servers behind the gateway: npm `server-everything`, `-filesystem`, `-memory`."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp import types as t

from duetty.upstreams.upstream_settings import as_toml
from tests.edges.mcp.connect import connected
from tests.peers.conftest import MODULES
from tests.server_process import ServerProcess, running_server
from tests.upstreams.running import WAIT_S
from tests.upstreams.test_gateway import trust

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

NAMES = ("everything", "files", "memory", "rooted")


@pytest.fixture(scope="module")
def server(node: Path) -> Iterator[ServerProcess]:
    def table(package: str, *args: str, **more: Any) -> dict[str, Any]:
        script = MODULES / "@modelcontextprotocol" / package / "dist" / "index.js"
        trusted = {"permissions": {"trust_level": "trusted"}}
        return {"command": str(node), "args": [str(script), *args], **trusted, **more}

    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as place:
        home = Path(place)
        (home / "shared").mkdir()
        (home / "shared/note.txt").write_text("hello")
        graph = {"env": {"MEMORY_FILE_PATH": str(home / "memory.jsonl")}}
        tables = {
            "everything": table("server-everything", "stdio"),
            "rooted": table("server-everything", "stdio", roots=True),
            "files": table("server-filesystem", str(home / "shared")),
            "memory": table("server-memory", **graph),
        }
        text = "\n".join(as_toml(name, each) for name, each in tables.items())
        (home / "config.toml").write_text(text, encoding="utf-8")
        with running_server(home) as server:
            for name in NAMES:
                trust(server, name)
            yield server


async def call(client: Client, tool: str, **arguments: Any) -> t.CallToolResult:
    with anyio.fail_after(WAIT_S):
        return await client.call_tool(tool, arguments)


def text(result: t.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, t.TextContent))


@pytest.mark.parametrize("way", ["http-2025", "http-2026"])
async def test_files_are_listed_read_written_and_kept_within(
    server: ServerProcess, way: str
) -> None:
    shared = server.home / "shared"
    async with connected(way, server, dialect="gateway") as client:
        read = await call(client, "mcp__files__read_text_file", path=str(shared / "note.txt"))
        path = str(shared / f"{way}.txt")
        await call(client, "mcp__files__write_file", path=path, content="new")
        outside = await call(client, "mcp__files__read_text_file", path="/etc/passwd")
        with pytest.raises(MCPError) as wrong:
            await call(client, "mcp__files__read_text_file", path=7)

    assert text(read) == "hello"
    assert (shared / f"{way}.txt").read_text() == "new"
    assert outside.is_error
    assert wrong.value.error.code == t.INVALID_PARAMS


async def test_what_is_remembered_is_found_again(server: ServerProcess) -> None:
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}
    async with connected("http-2026", server, dialect="gateway") as client:
        await call(client, "mcp__memory__create_entities", entities=[entity])
        found = await call(client, "mcp__memory__search_nodes", query="Ada")

    assert "wrote programs" in text(found)


@pytest.mark.parametrize("way", ["http-2025", "http-2026"])
async def test_links_and_resources_in_answers_can_be_read_through_the_gateway(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server, dialect="gateway") as client:
        links = await call(client, "mcp__everything__get-resource-links", count=2)
        held = await call(
            client, "mcp__everything__get-resource-reference", resourceType="Text", resourceId=1
        )
        uris = [block.uri for block in links.content if isinstance(block, t.ResourceLink)]
        uris += [
            block.resource.uri for block in held.content if isinstance(block, t.EmbeddedResource)
        ]
        with anyio.fail_after(WAIT_S):
            read = [await client.read_resource(uri) for uri in uris]

    assert len(uris) == 3
    assert all(str(uri).startswith("upstream+everything:") for uri in uris)
    assert all(each.contents for each in read)


async def test_structured_answers_pictures_progress_and_prompts_pass(
    server: ServerProcess,
) -> None:
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with connected("http-2026", server, dialect="gateway") as client:
        weather = await call(client, "mcp__everything__get-structured-content", location="New York")
        picture = await call(client, "mcp__everything__get-tiny-image")
        total = await call(client, "mcp__everything__get-sum", a=1, b=2)
        with anyio.fail_after(WAIT_S):
            await client.call_tool(
                "mcp__everything__trigger-long-running-operation",
                {"duration": 1, "steps": 3},
                progress_callback=hear,
            )
            prompts = {each.name for each in (await client.list_prompts()).prompts}
            resources = (await client.list_resources()).resources

    assert "temperature" in (weather.structured_content or {})
    assert any(isinstance(block, t.ImageContent) for block in picture.content)
    assert "3" in text(total)
    assert heard == sorted(heard)
    assert len(heard) >= 2
    assert any(name.startswith("mcp__everything__") for name in prompts)
    assert resources


@pytest.mark.parametrize("way", ["http-2025", "http-2026"])
async def test_a_tool_that_is_called_as_a_task_only_is_called(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server, dialect="gateway") as client:
        found = await call(
            client, "mcp__everything__simulate-research-query", topic="terminals", ambiguous=False
        )

    assert not found.is_error
    assert "terminals" in text(found)


@pytest.mark.parametrize("way", ["http-2025", "http-2026"])
async def test_places_of_prompts_and_resources_are_completed_by_their_server(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server, dialect="gateway") as client:
        with anyio.fail_after(WAIT_S):
            prompt = await client.complete(
                t.PromptReference(name="mcp__everything__completable-prompt"),
                {"name": "department", "value": "E"},
            )
            templates = (await client.list_resource_templates()).resource_templates
            uri = next(each.uri_template for each in templates if "text" in each.uri_template)
            resource = await client.complete(
                t.ResourceTemplateReference(uri=uri), {"name": "resourceId", "value": "1"}
            )

    assert prompt.completion.values == ["Engineering"]
    assert resource.completion.values == ["1"]


async def test_workspaces_of_open_sessions_are_told_to_who_may_know_of_them(
    server: ServerProcess,
) -> None:
    project = server.home / "p" / "project"
    project.mkdir(parents=True)
    (project / ".git").mkdir()
    server.client.post("/sessions", {"name": "rooted", "cwd": str(project)})
    async with connected("http-2026", server, dialect="gateway") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        with anyio.fail_after(WAIT_S):
            while project.as_uri() not in (told := await roots(client)):
                await anyio.sleep(0.2)  # it is told of changes once a second

    assert project.as_uri() in told
    assert "mcp__everything__get-roots-list" not in names


async def roots(client: Client) -> str:
    return text(await call(client, "mcp__rooted__get-roots-list"))


async def test_the_table_of_the_trail_says_which_tool(server: ServerProcess) -> None:
    async with connected("http-2026", server, dialect="gateway") as client:
        await call(client, "mcp__everything__get-sum", a=1, b=2)

    shown = server.command("audit", "--operation", "upstreams.call").stdout

    assert "mcp__everything__get-sum" in shown
