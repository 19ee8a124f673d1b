"""The published design, row by row (sections 1.2, 1.4, 3, 4, 7 and 8), on one running server.

Its settings are the design's own text. `npx` there is ours: it starts the npm servers that
are installed for tests, in place of those that the text names and nobody has here.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp import types as t

from duetty.edges.mcp.dialects.gateway import DECIDED_BY, OWN_WORD
from duetty.upstreams.upstream_settings import as_toml
from tests.edges.mcp.connect import call as called_own
from tests.edges.mcp.connect import connected
from tests.edges.mcp.test_elwood import HINTS, KINDS, read
from tests.peers.conftest import MODULES
from tests.peers.conftest import node as node
from tests.server_process import ServerProcess, is_alive, running_server
from tests.upstreams.running import HERE, WAIT_S, named, plain, until_true
from tests.upstreams.test_document import DOCUMENT
from tests.upstreams.test_gateway import records, trust, upstream
from tests.upstreams.test_http import Elsewhere
from tests.upstreams.test_trust import Person

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

PERMISSIONS = """
[permissions]
allow = ["mcp__filesystem__read_file", "mcp__postgres__read_graph"]
deny = ["mcp__*__delete_*"]
"""

NPX = """#!/bin/sh
case "$*" in
*server-filesystem*) shift 2; exec "{node}" "{modules}/server-filesystem/dist/index.js" "{shared}" ;;
*server-github*) exec "{node}" "{modules}/server-everything/dist/index.js" stdio ;;
*server-postgres*) exec "{node}" "{modules}/server-memory/dist/index.js" ;;
esac
exit 1
"""
"""What the design calls github is `server-everything` here, and postgres `server-memory`."""

TRUSTED = ("filesystem", "github", "postgres", "cloud-api", "everything", "changing", "ending")
SECRET = "ghp-not-to-be-shown"
DATABASE = "postgresql://localhost:5432/project_db"


@dataclass(frozen=True, slots=True)
class World:
    server: ServerProcess
    project: Path

    @property
    def shared(self) -> Path:
        return self.server.home / "shared"

    def info(self, name: str) -> dict[str, Any]:
        return upstream(self.server.client.get("/upstreams"), name)

    def tool(self, server: str, name: str) -> dict[str, Any]:
        return next(each for each in self.info(server)["tools"] if each["name"] == name)

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any] | None = None,
        *,
        way: str = "http-2026",
        **can: Any,
    ) -> t.CallToolResult:
        """As an agent does, through the gateway; `can` is what its host can be asked for."""
        async with connected(way, self.server, dialect="gateway", **can) as client:
            with anyio.fail_after(WAIT_S):
                return await client.call_tool(tool, arguments or {})

    async def own(self, tool: str, **arguments: Any) -> dict[str, Any]:
        async with connected("http-2026", self.server, dialect="elwood") as client:
            return await called_own(client, tool, **arguments)

    async def read(self, uri: str) -> tuple[str, str | None]:
        async with connected("http-2026", self.server, dialect="elwood") as client:
            return await read(client, uri)


@pytest.fixture(scope="module")
def world(node: Path) -> Iterator[World]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as place:
        home = Path(place)
        for each in ("shared", "bin", "elsewhere", "projects/work/.elwood"):
            (home / each).mkdir(parents=True)
        (home / "shared/note.txt").write_text("hello")
        modules = MODULES / "@modelcontextprotocol"
        npx = home / "bin/npx"
        npx.write_text(NPX.format(node=node, modules=modules, shared=home / "shared"))
        npx.chmod(0o755)
        elsewhere = Elsewhere(home / "elsewhere")
        elsewhere.start()
        everything = {
            "command": str(node),
            "args": [str(modules / "server-everything/dist/index.js"), "stdio"],
            "permissions": {"trust_level": "trusted"},
            "roots": True,
            "sampling": True,
            "elicitation": True,
        }
        lies = [{"name": "harmless", "annotations": {"readOnlyHint": True}}]
        # Nothing below /tmp is seen in a sandbox, and the checkout may be there.
        source = (HERE / "plain_server.py").read_text(encoding="utf-8")
        confined = plain(trust="sandbox") | {
            "command": os.path.realpath(sys.executable),
            "args": ["-I", "-S", "-c", source, json.dumps({"tools": named("echo")})],
        }
        tables = {
            "everything": everything,
            "changing": plain(tools=named("change", "echo")),
            "ending": plain(tools=named("echo")),
            "confined": confined,
            "liar": plain(tools=[*named("echo"), *lies], trust="untrusted"),
        }
        text = DOCUMENT.replace(
            "https://api.example.com/mcp", f"http://127.0.0.1:{elsewhere.port}/mcp"
        )
        text += "\n".join(as_toml(name, table) for name, table in tables.items()) + PERMISSIONS
        (home / "config.toml").write_text(text, encoding="utf-8")
        project = home / "projects/work"
        subprocess.run(["git", "init", "-q", "-b", "trunk"], cwd=project, check=True)
        (project / "notes.txt").write_text("of the project\n")
        given = {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-postgres"]}
        offered = {
            "project-db": given | {"env": {"POSTGRES_URL": DATABASE}},
            "eager-to-please": given | {"permissions": {"trust_level": "trusted"}},
            "cloud-api": given | {"permissions": {"trust_level": "trusted"}},
        }
        (project / ".elwood/settings.json").write_text(json.dumps({"mcp": {"servers": offered}}))
        environment = {
            "PATH": f"{npx.parent}:/usr/bin:/bin",
            "GITHUB_TOKEN": SECRET,
            "API_TOKEN": "open-sesame",
            "DUETTY_MCP_SERVER_ENABLED": "true",  # the text says no; its own row shows that
            "DUETTY_MCP_LIST_AT_MOST": "1000",
        }
        try:
            with running_server(home, **environment) as server:
                server.client.post("/sessions", {"name": "pane", "cwd": str(project)})
                for name in (*TRUSTED, "liar"):
                    trust(server, name)
                yield World(server, project)
        finally:
            elsewhere.end()


Row = Callable[[World], Awaitable[None]]
ROWS: dict[str, Row] = {}


def row(name: str) -> Callable[[Row], Row]:
    def add(shown: Row) -> Row:
        assert name not in ROWS
        ROWS[name] = shown
        return shown

    return add


def text(result: t.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, t.TextContent))


def step(result: t.CallToolResult) -> str:
    """Which one decided; with the error's code where the call did not pass."""
    content: Any = result.structured_content or {}
    if result.is_error:
        return f"{content['decided_by']} {content['error']['code']}"
    return str((result.meta or {}).get(DECIDED_BY))


async def sample(context: object, params: Any) -> t.CreateMessageResult:
    return t.CreateMessageResult(
        role="assistant", content=t.TextContent(text="a borrowed thought"), model="test"
    )


async def fill_in(context: object, params: Any) -> t.ElicitResult:
    return t.ElicitResult(action="decline")


# --- 1.2 primitives, 1.4 capabilities -------------------------------------------------


@row("1.2 tools")
async def _(world: World) -> None:
    path = str(world.shared / "note.txt")
    assert text(await world.call("mcp__filesystem__read_text_file", {"path": path})) == "hello"


@row("1.2 resources")
async def _(world: World) -> None:
    async with connected("http-2026", world.server, dialect="gateway") as client:
        found = [each.uri for each in (await client.list_resources()).resources]
        uri = next(each for each in found if each.startswith("upstream+everything:"))
        assert (await client.read_resource(uri)).contents[0].uri == uri


@row("1.2 prompts")
async def _(world: World) -> None:
    async with connected("http-2026", world.server, dialect="gateway") as client:
        given = {"city": "Ghent"}
        message = (await client.get_prompt("mcp__everything__args-prompt", given)).messages[0]
    assert "Ghent" in message.content.model_dump_json()


@row("1.2 sampling")
async def _(world: World) -> None:
    tool = "mcp__everything__trigger-sampling-request"
    for way in ("http-2025", "http-2026"):
        given = {"prompt": "think", "maxTokens": 10}
        assert "a borrowed thought" in text(
            await world.call(tool, given, way=way, sampling_callback=sample)
        )


@row("1.2 roots")
async def _(world: World) -> None:
    with anyio.fail_after(WAIT_S):
        while world.project.as_uri() not in text(
            await world.call("mcp__everything__get-roots-list")
        ):
            await anyio.sleep(0.2)  # it is told of changes once a second


@row("1.2 elicitation")
async def _(world: World) -> None:
    tool = "mcp__everything__trigger-elicitation-request"
    for way in ("http-2025", "http-2026"):
        found = await world.call(tool, way=way, elicitation_callback=fill_in)
        assert "declined" in text(found)


def _offers_by(tool: str) -> Row:
    """`server-everything` has this tool only for clients that declare what it needs."""

    async def shown(world: World) -> None:
        assert world.tool("everything", tool)["usable"]
        assert tool not in {each["name"] for each in world.info("github")["tools"]}

    return shown


for _capability, _tool in {
    "roots": "get-roots-list",
    "sampling": "trigger-sampling-request",
    "elicitation": "trigger-elicitation-request",
}.items():
    row(f"1.4 client: {_capability}")(_offers_by(_tool))


def _declares(capability: str) -> Row:
    async def shown(world: World) -> None:
        async with connected("http-2025", world.server, dialect="gateway") as client:
            assert getattr(client.server_capabilities, capability) is not None

    return shown


for _capability in ("tools", "resources", "prompts"):
    row(f"1.4 server: {_capability}")(_declares(_capability))


@row("1.4 server: logging")
async def _(world: World) -> None:
    heard: list[Any] = []

    async def hear(params: Any) -> None:
        heard.append(params)

    await _declares("logging")(world)
    async with connected(
        "http-2025", world.server, dialect="gateway", logging_callback=hear
    ) as client:
        level = t.SetLevelRequestParams(level="warning")
        await client.session.send_request(t.SetLevelRequest(params=level), t.EmptyResult)
        message = {"level": "error", "data": "disk full"}
        body = {"tool": "log", "arguments": message}
        await anyio.to_thread.run_sync(
            lambda: world.server.client.post("/upstreams/cloud-api/call", body)
        )
        await until_true(lambda: any("disk full" in str(each.data) for each in heard))


@row("1.4 server: completions")
async def _(world: World) -> None:
    await _declares("completions")(world)
    async with connected("http-2026", world.server, dialect="gateway") as client:
        ref = t.PromptReference(name="mcp__everything__completable-prompt")
        found = await client.complete(ref, {"name": "department", "value": "E"})
    assert found.completion.values == ["Engineering"]


# --- 3 the terminal as a server -------------------------------------------------------


async def _ran(world: World, command: str) -> dict[str, Any]:
    return await world.own("terminal_execute", command=command, pane_id="pane")


@row("3.1 terminal://pane/{pane_id}/content")
async def _(world: World) -> None:
    await _ran(world, "echo in-sight")
    content, kind = await world.read("terminal://pane/pane/content")
    assert ("in-sight" in content, kind) == (True, "text/plain")


@row("3.1 terminal://pane/{pane_id}/scrollback?lines={n}")
async def _(world: World) -> None:
    await _ran(world, "seq 100")
    rows, kind = await world.read("terminal://pane/pane/scrollback?lines=60")
    assert (len(rows.split("\n")), kind) == (60, "text/plain")
    assert "50" in rows.split("\n")  # it has left the screen


@row("3.1 elwood://history/commands?limit={n}")
async def _(world: World) -> None:
    await _ran(world, "echo remembered")
    found, kind = await world.read("elwood://history/commands?limit=1")
    assert ([each["command"] for each in json.loads(found)], kind) == (
        ["echo remembered"],
        "application/json",
    )


@row("3.1 elwood://session/{session_id}/log")
async def _(world: World) -> None:
    await _ran(world, "echo logged; false")
    log, kind = await world.read("elwood://session/pane/log")
    assert kind == "text/markdown"
    assert "echo logged; false" in log
    assert "Exit code: 1" in log


@row("3.1 elwood://cwd")
async def _(world: World) -> None:
    await _ran(world, "true")
    assert await world.read("elwood://cwd") == (str(world.project), "text/plain")


@row("3.1 elwood://git/status")
async def _(world: World) -> None:
    await _ran(world, "true")
    found, kind = await world.read("elwood://git/status")
    state = json.loads(found)
    assert (state["branch"], kind) == ("trunk", "application/json")
    assert "notes.txt" in state["untracked"]


@row("3.1 elwood://block/{block_id}/output")
async def _(world: World) -> None:
    ran = await _ran(world, "echo of-a-block")
    output = await world.read(f"elwood://block/{ran['block_id']}/output")
    assert output == ("of-a-block", "text/plain")


async def _templates(client: Client) -> dict[str, t.ResourceTemplate]:
    found = (await client.list_resource_templates()).resource_templates
    return {each.uri_template: each for each in found}


@row("3.2 terminal://pane/{pane_id}/content, and the others")
async def _(world: World) -> None:
    async with connected("http-2026", world.server, dialect="elwood") as client:
        found = await _templates(client)
    assert {uri: each.mime_type for uri, each in found.items()} == {
        uri: kind for uri, kind in KINDS.items() if "{" in uri
    }
    assert found["terminal://pane/{pane_id}/content"].name == "Terminal Pane Content"


@row("3.2 elwood://file/{path}")
async def _(world: World) -> None:
    await _ran(world, "true")
    async with connected("http-2026", world.server, dialect="elwood") as client:
        template = (await _templates(client))["elwood://file/{path}"]
        assert (await read(client, "elwood://file/notes.txt"))[0] == "of the project\n"
        with pytest.raises(MCPError):
            await client.read_resource("elwood://file/../../config.toml")
    assert template.name == "Project File"
    assert template.description == "Read a file relative to the working directory"


def _hinted(name: str) -> Row:
    async def shown(world: World) -> None:
        async with connected("http-2026", world.server, dialect="elwood") as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        hints = tools[name].annotations
        assert hints is not None
        assert (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint) == HINTS[name]
        await USES[name](world)

    return shown


async def _executes(world: World) -> None:
    ran = await _ran(world, "echo out; (exit 3)")
    assert (ran["output"], ran["exit_code"]) == ("out", 3)


async def _sends_keys(world: World) -> None:
    await world.own(
        "terminal_send_keys", pane_id="pane", text="echo typed-$((1+1))", keys=["Enter"]
    )
    with anyio.fail_after(WAIT_S):
        while "typed-2" not in (await world.read("terminal://pane/pane/content"))[0]:
            await anyio.sleep(0.1)


async def _reads_screen(world: World) -> None:
    await _ran(world, "echo on-screen")
    assert "on-screen" in (await world.own("terminal_read_screen", pane_id="pane"))["content"]


async def _lists_panes(world: World) -> None:
    panes = (await world.own("terminal_get_panes"))["panes"]
    assert str(world.project) in {each["cwd"] for each in panes if each["pane_id"] == "pane"}


async def _resizes(world: World) -> None:
    size = await world.own("terminal_resize_pane", pane_id="pane", cols=90, rows=25)
    assert size == {"pane_id": "pane", "cols": 90, "rows": 25}
    assert world.server.client.get("/sessions/pane")["cols"] == 90


async def _asks_agent(world: World) -> None:
    async with connected("http-2026", world.server, dialect="elwood") as client:
        told = await client.call_tool("agent_send_message", {"message": "hello"})
    assert told.is_error  # none is configured here, and it says how
    assert "set agent.model" in text(told)


async def _agent_status(world: World) -> None:
    assert (await world.own("agent_get_status"))["state"] == "not_configured"


USES: dict[str, Row] = {
    "terminal_execute": _executes,
    "terminal_send_keys": _sends_keys,
    "terminal_read_screen": _reads_screen,
    "terminal_get_panes": _lists_panes,
    "terminal_resize_pane": _resizes,
    "agent_send_message": _asks_agent,
    "agent_get_status": _agent_status,
}
for _name in USES:
    row(f"3.3 {_name}")(_hinted(_name))


@row("3.4 fix_error")
async def _(world: World) -> None:
    await _ran(world, "ls no-such-thing")
    async with connected("http-2026", world.server, dialect="elwood") as client:
        prompts = {each.name: each for each in (await client.list_prompts()).prompts}
        filled = (await client.get_prompt("fix_error")).messages[0].content.model_dump_json()
    (argument,) = prompts["fix_error"].arguments or []
    assert prompts["fix_error"].description == "Analyze and fix the last command error"
    assert (argument.name, argument.description, argument.required) == (
        "command",
        "The command that failed",
        False,
    )
    assert "ls no-such-thing" in filled


# --- 4 the terminal as a client -------------------------------------------------------


@row("4.1 spawn")
async def _(world: World) -> None:
    assert is_alive(world.info("filesystem")["pid"])
    assert (world.info("cloud-api")["transport"], world.info("cloud-api")["pid"]) == ("http", None)


@row("4.1 initialize")
async def _(world: World) -> None:
    info = world.info("filesystem")
    assert info["protocol"] == "2025-11-25"
    assert "filesystem" in info["implementation"]


@row("4.1 discover")
async def _(world: World) -> None:
    assert len(world.info("filesystem")["tools"]) >= 10
    assert world.server.client.get("/upstreams/everything/resources")["resources"]


@row("4.1 register")
async def _(world: World) -> None:
    async with connected("http-2026", world.server, dialect="gateway") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"mcp__filesystem__list_directory", "mcp__everything__echo"} <= names


@row("4.1 operate")
async def _(world: World) -> None:
    given = {"path": str(world.shared / "made.txt"), "content": "by a call"}
    await world.call("mcp__filesystem__write_file", given)
    assert (world.shared / "made.txt").read_text() == "by a call"
    assert records(world.server, "write_file")[0]["dialect"] == "gateway"


@row("4.1 monitor")
async def _(world: World) -> None:
    given = {"tools": [*named("change"), {"name": "echo", "description": "Another."}]}
    await world.call("mcp__changing__change", given)
    await until_true(lambda: world.tool("changing", "echo")["pin"] == "changed")


@row("4.1 shutdown")
async def _(world: World) -> None:
    pid = world.info("ending")["pid"]
    world.server.client.post("/upstreams/ending/turn", {"on": False})
    await until_true(lambda: not is_alive(pid))
    assert world.info("ending")["state"] == "off"


@row("4.2 mcp__{server}__{tool}")
async def _(world: World) -> None:
    async with connected("http-2026", world.server, dialect="gateway") as client:
        tools = (await client.list_tools()).tools
    assert len(tools) > 30
    assert all(re.fullmatch(r"mcp__[a-z0-9-]+__[A-Za-z0-9_.-]+", tool.name) for tool in tools)
    # `echo` is a tool of both, and no call goes to the wrong one.
    assert text(await world.call("mcp__everything__echo", {"message": "hi"})) == "Echo: hi"


@row("4.2 description and schema")
async def _(world: World) -> None:
    async with connected("http-2026", world.server, dialect="gateway") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    tool = tools["mcp__filesystem__read_text_file"]
    assert "path" in tool.input_schema["properties"]
    assert "Server 'filesystem', in its own words" in (tool.description or "")


@row("4.2 risk from annotations")
async def _(world: World) -> None:
    assert world.tool("filesystem", "read_text_file")["risk"] == "read"
    assert world.tool("filesystem", "write_file")["risk"] == "destructive"
    assert world.tool("liar", "echo")["risk"] == "unknown"


@row("4.2 results")
async def _(world: World) -> None:
    found = await world.call("mcp__everything__get-structured-content", {"location": "New York"})
    picture = await world.call("mcp__everything__get-tiny-image")
    outside = await world.call("mcp__filesystem__read_text_file", {"path": "/etc/passwd"})
    assert "temperature" in (found.structured_content or {})
    assert any(isinstance(block, t.ImageContent) for block in picture.content)
    assert outside.is_error


@row("4.3 @mcp:servername/resource-name, browsed and attached")
async def _(world: World) -> None:
    listed = world.server.command("upstreams", "browse", "everything").stdout
    reference = re.findall(r"@mcp:everything/\S+", listed)[0]
    assert world.server.command("upstreams", "read", reference).stdout.strip()


# --- 7 configuration ------------------------------------------------------------------


@row("7.1 command, args")
async def _(world: World) -> None:
    assert world.info("filesystem")["target"] == (
        "npx -y @modelcontextprotocol/server-filesystem /home/user/project"
    )
    assert world.info("filesystem")["state"] == "ready"


@row("7.1 env")
async def _(world: World) -> None:
    child = Path(f"/proc/{_program(world.info('filesystem')['pid'])}/environ").read_bytes()
    assert b"NODE_ENV=production" in child.split(b"\0")


@row("7.1 url, transport, headers")
async def _(world: World) -> None:
    info = world.info("cloud-api")
    assert (info["state"], info["transport"]) == ("ready", "http")  # it wants that header
    assert "open-sesame" not in json.dumps(info)


@row("7.1 permissions.trust_level")
async def _(world: World) -> None:
    levels = {name: world.info(name)["trust"] for name in ("filesystem", "cloud-api", "github")}
    assert levels == {"filesystem": "trusted", "cloud-api": "untrusted", "github": "untrusted"}


@row("7.1 client_enabled, server_enabled, server_address")
async def _(world: World) -> None:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as place:
        text = DOCUMENT.replace("client_enabled = true", "client_enabled = false")
        (Path(place) / "config.toml").write_text(text, encoding="utf-8")
        with running_server(Path(place)) as server:
            shown = server.command("config").stdout
            upstreams = server.client.get("/upstreams")["upstreams"]
            token = {"Authorization": f"Bearer {server.token()}"}
            async with httpx2.AsyncClient() as client:
                answer = await client.post(f"{server.url()}/mcp", headers=token, json={})
                beside = await client.get(f"{world.server.url()}/mcp")
    assert upstreams == []  # though it names four
    assert (answer.status_code, beside.status_code) == (404, 401)
    assert re.search(r"server\.bind\s+127\.0\.0\.1:9316", shown)


def _file(world: World) -> dict[str, Any]:
    offers = world.server.client.get("/upstreams")["offers"]
    return next(each for each in offers if each["file"].startswith(str(world.project)))


@row("7.2 a project adds servers, once a person accepted its file")
async def _(world: World) -> None:
    offer = _file(world)
    names = {each["name"] for each in world.server.client.get("/upstreams")["upstreams"]}
    assert offer["state"] == "offered"
    assert "project-db" not in names
    body = {"file": offer["file"], "fingerprint": offer["fingerprint"]}
    world.server.client.post("/upstreams/offers/accept", body)
    trust(world.server, "project-db")
    found = await world.call(
        "mcp__project-db__search_nodes", {"query": "x"}, elicitation_callback=Person("allow once")
    )
    assert not found.is_error


@row("7.2 a project raises no trust")
async def _(world: World) -> None:
    offered = {each["name"]: each["trust"] for each in _file(world)["servers"]}
    assert offered["eager-to-please"] == "untrusted"
    assert world.info("cloud-api")["trust"] == "untrusted"
    assert (
        world.info("cloud-api")["project"] is None
    )  # a name of the person's settings stays theirs


@row("7.3 ${VAR_NAME}")
async def _(world: World) -> None:
    body: dict[str, Any] = {"tool": "get-env", "arguments": {}}
    shown = world.server.client.post("/upstreams/github/call", body)["content"][0]["text"]
    assert json.loads(shown)["GITHUB_PERSONAL_ACCESS_TOKEN"] == SECRET
    assert SECRET not in json.dumps(world.server.client.get("/upstreams"))


# --- 8 permissions --------------------------------------------------------------------


@row("8.1 trusted: tools run without a question")
async def _(world: World) -> None:
    person = Person("allow once")
    found = await world.call(
        "mcp__filesystem__list_allowed_directories", elicitation_callback=person
    )
    assert (step(found), person.asked) == ("trust:trusted", [])


@row("8.1 untrusted: every call is asked about")
async def _(world: World) -> None:
    person = Person("allow once")
    await world.call("mcp__github__get-env", elicitation_callback=person)
    assert len(person.asked) == 1


@row("8.1 sandbox: confined, or not started")
async def _(world: World) -> None:
    await until_true(lambda: world.info("confined")["state"] != "starting")
    info = world.info("confined")
    if info["state"] == "failed":
        assert (info["error"]["code"], info["pid"]) == ("sandbox_unavailable", None)
    else:
        assert info["sandbox"] in ("landlock", "bubblewrap")


@row("8.2 a rule allows: executed")
async def _(world: World) -> None:
    assert step(await world.call("mcp__postgres__read_graph")).startswith("rule:")


@row("8.2 a person grants: executed")
async def _(world: World) -> None:
    found = await world.call("mcp__liar__echo", elicitation_callback=Person("allow once"))
    assert step(found) == "person"


@row("8.2 a person does not: an error")
async def _(world: World) -> None:
    found = await world.call("mcp__liar__echo", elicitation_callback=Person("reject"))
    assert step(found).endswith("approval_rejected")


@row("8.2 no person: an error")
async def _(world: World) -> None:
    assert step(await world.call("mcp__liar__echo")) == "trust:untrusted policy_denied"


@row("8.3 annotations of an untrusted server are shown, and decide nothing")
async def _(world: World) -> None:
    person = Person("allow once")
    async with connected("http-2026", world.server, dialect="gateway") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    tool = tools["mcp__liar__harmless"]
    await world.call("mcp__liar__harmless", elicitation_callback=person)
    assert len(person.asked) == 1
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is False
    assert (tool.meta or {})[OWN_WORD] == {"readOnlyHint": True}


@row("8.3 annotations of a trusted server are passed on")
async def _(world: World) -> None:
    async with connected("http-2026", world.server, dialect="gateway") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    hints = tools["mcp__filesystem__read_text_file"].annotations
    assert hints is not None
    assert hints.read_only_hint is True


@row("8.4 deny: neither listed nor called, whoever would grant it")
async def _(world: World) -> None:
    person = Person("allow once")
    async with connected("http-2026", world.server, dialect="gateway") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    given = {"entityNames": ["x"]}
    found = await world.call("mcp__postgres__delete_entities", given, elicitation_callback=person)
    assert "mcp__postgres__create_entities" in names
    assert not [name for name in names if "__delete_" in name]
    assert step(found).endswith("policy_denied")
    assert person.asked == []


def _program(guard: int) -> int:
    """The program behind the guard that an upstream's pid is, or that pid itself."""
    for child in Path(f"/proc/{guard}/task/{guard}/children").read_text().split():
        return int(child)
    return guard


@pytest.mark.parametrize("name", ROWS)
async def test_each_row_of_the_design_holds(name: str, world: World) -> None:
    await ROWS[name](world)
