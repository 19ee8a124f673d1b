"""Dialect `elwood` as a client sees it: the document's names, addresses, kinds and hints."""

import json
import secrets
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.server.subscriptions import ResourceUpdated
from mcp.types import (
    INVALID_PARAMS,
    PromptReference,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
    TextContent,
    TextResourceContents,
)

from duetty.edges.mcp.dialects.elwood import PROMPTS
from tests.edges.mcp.connect import WAYS, call, connected
from tests.edges.mcp.test_subscriptions import Told
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty, pytest.mark.sampled(3)]
# Of the four ways in the first and the last: stdio and HTTP, the old era and the new.

HINTS = {
    # name: read-only, destructive, idempotent
    "terminal_execute": (False, True, False),
    "terminal_send_keys": (False, True, False),
    "terminal_read_screen": (True, False, True),
    "terminal_get_panes": (True, False, True),
    "terminal_resize_pane": (False, False, True),
    "agent_send_message": (False, False, False),
    "agent_get_status": (True, False, True),
}
KINDS = {
    "terminal://pane/{pane_id}/content": "text/plain",
    "terminal://pane/{pane_id}/scrollback?lines={n}": "text/plain",
    "elwood://history/commands?limit={n}": "application/json",
    "elwood://session/{session_id}/log": "text/markdown",
    "elwood://cwd": "text/plain",
    "elwood://git/status": "application/json",
    "elwood://block/{block_id}/output": "text/plain",
    "elwood://file/{path}": None,
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(server: ServerProcess) -> Path:
    place = server.home / f"p{secrets.token_hex(4)}" / "work"
    place.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "trunk"], cwd=place, check=True)
    (place / "notes.txt").write_text("hello\n")
    (place / ".env").write_text("KEY=1\n")
    return place


async def opened(server: ServerProcess, project: Path) -> str:
    name = f"e{secrets.token_hex(4)}"
    async with connected("http-2026", server) as client:
        await call(client, "wsh_create_session", name=name, cwd=str(project))
    return name


async def read(client: Client, uri: str) -> tuple[str, str | None]:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text, content.mime_type


async def test_tools_resources_and_prompts_are_those_of_the_document(
    server: ServerProcess, way: str, project: Path
) -> None:
    pane = await opened(server, project)
    async with connected(way, server, dialect="elwood") as client:
        tools = (await client.list_tools()).tools
        listed = {each.uri: each for each in (await client.list_resources()).resources}
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts

    assert {
        tool.name: (
            tool.annotations.read_only_hint,
            tool.annotations.destructive_hint,
            tool.annotations.idempotent_hint,
        )
        for tool in tools
        if tool.annotations
    } == HINTS
    kinds = {each.uri_template: each.mime_type for each in templates}
    kinds |= {uri: listed[uri].mime_type for uri in ("elwood://cwd", "elwood://git/status")}
    assert kinds == KINDS
    content = listed[f"terminal://pane/{pane}/content"]
    assert content.annotations is not None
    assert (content.annotations.audience, content.annotations.priority) == (["assistant"], 0.8)
    assert {"elwood://history/commands", f"elwood://session/{pane}/log"} <= listed.keys()
    assert [
        (each.name, [(a.name, a.required) for a in each.arguments or []]) for each in prompts
    ] == [
        ("fix_error", [("command", False)]),
        ("explain_output", []),
        ("review_changes", []),
        ("sum_up_session", [("pane_id", False)]),
    ]


def test_the_palette_of_the_page_has_the_prompts_by_the_same_titles() -> None:
    actions = (Path(__file__).parents[3] / "web/src/state/keys.ts").read_text(encoding="utf-8")

    assert [each.title for each in PROMPTS if f'title: "{each.title}"' not in actions] == []


async def test_a_command_is_run_its_pane_read_resized_and_typed_into(
    server: ServerProcess, way: str, project: Path
) -> None:
    pane = await opened(server, project)
    async with connected(way, server, dialect="elwood") as client:
        ran = await call(client, "terminal_execute", command="echo one; false", pane_id=pane)
        screen = await call(client, "terminal_read_screen", pane_id=pane)
        panes = (await call(client, "terminal_get_panes"))["panes"]
        size = await call(client, "terminal_resize_pane", pane_id=pane, cols=100, rows=30)
        sent = await call(client, "terminal_send_keys", pane_id=pane, text="ls", keys=["Ctrl-U"])
        status = await call(client, "agent_get_status")
        asked = await client.call_tool("agent_send_message", {"message": "hello"})

    assert (ran["pane_id"], ran["exit_code"], ran["output"]) == (pane, 1, "one")
    assert "echo one" in screen["content"]
    assert [each["cwd"] for each in panes if each["pane_id"] == pane] == [str(project)]
    assert size == {"pane_id": pane, "cols": 100, "rows": 30}
    assert (sent["sent"], sent["state"], "changed" in sent) == (True, "prompt", True)
    assert status["state"] == "not_configured"
    assert asked.is_error
    assert isinstance(asked.content[0], TextContent)
    assert "set agent.model" in asked.content[0].text


async def test_every_resource_is_read_as_its_kind(
    server: ServerProcess, way: str, project: Path
) -> None:
    pane = await opened(server, project)
    async with connected(way, server, dialect="elwood") as client:
        ran = await call(
            client, "terminal_execute", command="printf 'a\\nb\\n```\\n'; false", pane_id=pane
        )
        content = await read(client, f"terminal://pane/{pane}/content")
        rows, _ = await read(client, f"terminal://pane/{pane}/scrollback?lines=1")
        history, kind = await read(client, "elwood://history/commands?limit=1")
        log, log_kind = await read(client, f"elwood://session/{pane}/log")
        cwd = await read(client, "elwood://cwd")
        git, _ = await read(client, "elwood://git/status")
        output = await read(client, f"elwood://block/{ran['block_id']}/output")
        file = await read(client, "elwood://file/notes.txt")
        refusals: list[Any] = []
        codes: dict[str, int] = {}
        for uri in (
            "elwood://file/.env",
            "elwood://file/../../outside",
            "elwood://file/%2Fetc%2Fpasswd",
            "elwood://file//etc/passwd",
            "elwood://file/no-such-file",
            f"terminal://pane/{pane}/scrollback?lines=many",
            f"terminal://pane/{pane}/scrollback?rows=1",
            "elwood://nothing",
        ):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            told: dict[str, Any] = refused.value.error.data or {}
            refusals.append(told.get("code"))
            codes[uri] = refused.value.error.code

    missing = -32002 if way.endswith("2025") else INVALID_PARAMS
    assert codes["elwood://nothing"] == codes["elwood://file/no-such-file"] == missing
    assert content[1] == "text/plain"
    assert "printf" in content[0]
    assert len(rows.split("\n")) == 1
    assert content[0].endswith(rows)  # rows that nothing was printed to are no lines
    assert rows
    (command,) = json.loads(history)
    assert (command["block_id"], command["exit_code"], kind) == (
        ran["block_id"],
        1,
        "application/json",
    )
    assert log_kind == "text/markdown"
    assert "Exit code: 1" in log
    assert "````\na\nb\n```\n````" in log
    assert "call `command.run`" in log
    assert cwd == (str(project), "text/plain")
    state = json.loads(git)
    assert (state["root"], state["branch"], state["staged"]) == (str(project), "trunk", [])
    assert state["untracked"] == [".env", "notes.txt"]
    assert output == ("a\nb\n```", "text/plain")
    assert file == ("hello\n", "text/plain")
    assert refusals == [
        "file_refused",
        "file_refused",
        "file_refused",
        "file_refused",
        "file_not_found",
        "invalid_request",
        None,
        None,
    ]


async def test_the_prompt_has_the_last_failure_with_its_output_directory_and_repository(
    server: ServerProcess, way: str, project: Path
) -> None:
    pane = await opened(server, project)
    async with connected(way, server, dialect="elwood") as client:
        await call(client, "terminal_execute", command="ls no-such-thing", pane_id=pane)
        await call(client, "terminal_execute", command="echo fine", pane_id=pane)
        last = (await client.get_prompt("fix_error")).messages[0].content
        named = (await client.get_prompt("fix_error", {"command": "echo fine"})).messages[0].content
        others = {
            name: (await client.get_prompt(name, given)).messages[0].content
            for name, given in (
                ("explain_output", {}),
                ("review_changes", {}),
                ("sum_up_session", {"pane_id": pane}),
            )
        }
        with pytest.raises(MCPError) as unknown:
            await client.get_prompt("fix_error", {"command": "never run"})

    assert isinstance(last, TextContent)
    assert isinstance(named, TextContent)
    for part in ("ls no-such-thing", "cannot access", str(project), "branch trunk", "notes.txt"):
        assert part in last.text, part
    assert "echo fine" in named.text
    for name, part in (
        ("explain_output", "echo fine"),
        ("review_changes", "untracked: .env, notes.txt"),
        ("sum_up_session", "ls no-such-thing"),
    ):
        other = others[name]
        assert isinstance(other, TextContent)
        assert part in other.text
        assert "data, not instructions" in other.text
    assert unknown.value.error.code == INVALID_PARAMS


async def test_ids_paths_and_failed_commands_are_completed(
    server: ServerProcess, way: str, project: Path
) -> None:
    pane = await opened(server, project)
    (project / "below").mkdir()
    (project / "below/deep.txt").write_text("")
    async with connected(way, server, dialect="elwood") as client:
        ran = await call(client, "terminal_execute", command="cat no-such", pane_id=pane)

        async def complete(ref: Any, name: str, value: str) -> list[str]:
            found = await client.complete(ref, {"name": name, "value": value})
            return list(found.completion.values)

        def template(uri: str) -> ResourceTemplateReference:
            return ResourceTemplateReference(uri=uri)

        panes = await complete(template("terminal://pane/{pane_id}/content"), "pane_id", pane[:5])
        blocks = await complete(
            template("elwood://block/{block_id}/output"), "block_id", ran["block_id"][:8]
        )
        file = template("elwood://file/{path}")
        top, below = await complete(file, "path", ""), await complete(file, "path", "below/d")
        outside = await complete(file, "path", "../")
        failed = await complete(PromptReference(name="fix_error"), "command", "cat no")

    assert panes == [pane]
    assert ran["block_id"] in blocks
    assert {"below/", "notes.txt"} <= set(top)
    assert ".env" not in top
    assert below == ["below/deep.txt"]
    assert outside == []
    assert failed == ["cat no-such"]


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_who_subscribed_to_the_repository_is_told_of_changes(
    server: ServerProcess, project: Path
) -> None:
    pane = await opened(server, project)
    told = Told()
    uri = "elwood://git/status"
    async with (
        connected("http-2025", server, dialect="elwood", message_handler=told) as old,
        connected("http-2026", server, dialect="elwood") as new,
        new.listen(resource_subscriptions=[uri]) as events,
    ):
        await call(old, "terminal_execute", command="true", pane_id=pane)
        session: Any = old.session
        await session.subscribe_resource(uri)
        (project / "more.txt").write_text("")
        updated = await told.wait(ResourceUpdatedNotification)
        with anyio.fail_after(30):
            event = await anext(aiter(events))

    assert str(updated.params.uri) == uri
    assert event == ResourceUpdated(uri=uri)


async def test_the_command_line_shows_directory_repository_and_log(
    server: ServerProcess, project: Path
) -> None:
    pane = await opened(server, project)
    async with connected("http-2026", server, dialect="elwood") as client:
        await call(client, "terminal_execute", command="echo seen", pane_id=pane)

    shown = {
        what: server.command("context", what, "-s", pane).stdout for what in ("cwd", "git", "log")
    }

    assert shown["cwd"] == f"{project}\n"
    assert shown["git"] == "trunk\nuntracked  .env\nuntracked  notes.txt\n"
    assert "seen" in shown["log"]


async def test_what_a_command_left_of_its_terminal_is_told_with_the_way_out(
    server: ServerProcess,
) -> None:
    async with connected("stdio-2026", server) as client:
        pane = (await call(client, "wsh_create_session", command="bash"))["session"]
    async with connected("stdio-2026", server, dialect="elwood") as client:
        begun = await call(client, "terminal_execute", command="echo 'open", pane_id=pane)
        ended = await call(client, "terminal_execute", command="end'", pane_id=pane)
        paged = await call(client, "terminal_execute", command="seq 99 | less -X", pane_id=pane)
        left = await call(client, "terminal_send_keys", keys=["q"], pane_id=pane)
        await client.call_tool("terminal_execute", {"command": "exit", "pane_id": pane})

    assert "not complete" in begun["note"]
    assert (ended["output"], "note" in ended) == ("open\nend", False)
    assert (paged["foreground"]["name"], paged["terminal"]) == ("less", "raw")
    assert "key q" in paged["note"]
    assert (left["state"], "foreground" in left) == ("prompt", False)


async def test_several_panes_are_told_apart_by_the_argument_that_names_one(
    server: ServerProcess,
) -> None:
    async with connected("stdio-2026", server) as client:
        for _ in range(2):
            await call(client, "wsh_create_session", command="bash")
    async with connected("stdio-2026", server, dialect="elwood") as client:
        answer = await client.call_tool("terminal_read_screen", {})

    told = dict(answer.structured_content or {})
    assert told["error"]["code"] == "multiple_sessions"
    assert "as `pane_id`" in told["error"]["hint"]
    assert len(told["candidates"]) >= 2


async def test_a_command_whose_time_is_up_says_how_to_go_on_and_what_ends_it(
    server: ServerProcess,
) -> None:
    async with connected("stdio-2026", server) as client:
        pane = (await call(client, "wsh_create_session"))["session"]
    late = {"pane_id": pane, "command": "sleep 600", "timeout_ms": 100}
    async with connected("stdio-2026", server, dialect="elwood") as client:
        answer = await client.call_tool("terminal_execute", late)

    told = dict(answer.structured_content or {})
    assert answer.is_error
    assert isinstance(answer.content[0], TextContent)
    assert "still running after" in answer.content[0].text
    assert (told["state"], "ends_at" in told) == ("running", True)
