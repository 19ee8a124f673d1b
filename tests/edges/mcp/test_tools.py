"""Dialect `wsh` as a client sees it: each behaviour once, over every way in."""

import json
import secrets
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS, TextContent

from tests.edges.mcp.connect import WAYS, call, connected
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty, pytest.mark.sampled(3)]
# Of the four ways in the first and the last: stdio and HTTP, the old era and the new.

TOOL_NAMES = {
    "wsh_create_session",
    "wsh_list_sessions",
    "wsh_manage_session",
    "wsh_send_input",
    "wsh_get_screen",
    "wsh_get_scrollback",
    "wsh_await_quiesce",
    "wsh_run_command",
    "wsh_overlay",
    "wsh_remove_overlay",
    "wsh_panel",
    "wsh_remove_panel",
    "wsh_input_mode",
    "wsh_screen_mode",
}


PUBLISHED: dict[str, dict[str, object]] = {
    "wsh_create_session": {"name": None, "command": None, "rows": 24, "cols": 80, "cwd": None, "env": None},
    "wsh_list_sessions": {"session": None},
    "wsh_manage_session": {"session": ..., "action": ..., "new_name": None},
    "wsh_send_input": {"session": ..., "input": None, "encoding": "utf8"},
    "wsh_get_screen": {"session": ..., "format": "styled"},
    "wsh_get_scrollback": {"session": ..., "offset": 0, "limit": 100, "format": "styled"},
    "wsh_await_quiesce": {"session": ..., "timeout_ms": 2_000, "max_wait_ms": 30_000},
    "wsh_run_command": {
        "session": ..., "input": ..., "timeout_ms": 2_000, "max_wait_ms": 30_000, "format": "styled"
    },
    "wsh_overlay": {
        "session": ..., "id": None, "x": None, "y": None, "z": None, "width": None, "height": None,
        "background": None, "spans": None, "list": None,
    },
    "wsh_remove_overlay": {"session": ..., "id": None},
    "wsh_panel": {
        "session": ..., "id": None, "position": None, "height": None, "z": None, "background": None,
        "spans": None, "list": None,
    },
    "wsh_remove_panel": {"session": ..., "id": None},
    "wsh_input_mode": {"session": ..., "mode": None, "focus": None, "unfocus": None},
    "wsh_screen_mode": {"session": ..., "action": None},
}  # fmt: skip
"""The seed's parameters: needed (...), with a default, or simply optional. A session may be left out of all."""


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def opened(client: Client, **arguments: object) -> str:
    name = f"s{secrets.token_hex(4)}"
    await call(client, "wsh_create_session", name=name, **arguments)
    return name


async def refused(client: Client, tool: str, **arguments: object) -> MCPError:
    with pytest.raises(MCPError) as caught:
        await client.call_tool(tool, arguments)
    return caught.value


def shown(screen: dict[str, Any]) -> str:
    return "\n".join(screen["lines"])


async def test_the_tools_are_listed_with_titles_schemas_and_hints(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        tools = (await client.list_tools()).tools
        instructions = client.instructions

    assert {tool.name for tool in tools} == TOOL_NAMES
    assert all(tool.title and tool.output_schema and tool.annotations for tool in tools)
    assert "wsh_run_command" in (instructions or "")


async def test_every_tool_has_the_published_parameters_and_says_their_defaults(
    server: ServerProcess,
) -> None:
    async with connected("stdio-2025", server) as client:
        tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}

    for name, published in PUBLISHED.items():
        schema = tools[name]
        assert published.keys() <= schema["properties"].keys(), name
        needed = {each for each, default in published.items() if default is ...} - {"session"}
        assert set(schema["required"]) == needed, name
        for parameter, default in published.items():
            told = schema["properties"][parameter]
            if default is not None and default is not ...:
                assert (
                    told.get("default", told["description"].rpartition("default: ")[2]) == default
                )


async def test_annotations_say_what_only_reads_and_what_may_destroy(server: ServerProcess) -> None:
    async with connected("stdio-2025", server) as client:
        tools = (await client.list_tools()).tools

    hints = {tool.name: tool.annotations for tool in tools if tool.annotations is not None}
    assert {name for name, each in hints.items() if each.read_only_hint} == {
        "wsh_list_sessions", "wsh_get_screen", "wsh_get_scrollback", "wsh_await_quiesce"
    }  # fmt: skip
    assert {name for name, each in hints.items() if each.destructive_hint} == {
        "wsh_manage_session", "wsh_send_input", "wsh_run_command"
    }  # fmt: skip


async def test_the_list_of_tools_fits_a_models_budget(server: ServerProcess) -> None:
    async with connected("stdio-2025", server) as client:
        tools = await client.list_tools()

    text = tools.model_dump_json(by_alias=True, exclude_none=True)
    assert len(text.encode()) / 4 <= 4_500


async def test_a_session_is_created_as_asked_listed_and_killed(
    server: ServerProcess, way: str
) -> None:
    name = f"s{secrets.token_hex(4)}"
    async with connected(way, server) as client:
        created = await call(
            client,
            "wsh_create_session",
            name=name,
            command="bash",
            rows=30,
            cols=100,
            cwd="/usr",
            env={"COLOUR": "blue"},
        )
        ran = await call(client, "wsh_run_command", session=name, input="echo $COLOUR $PWD")
        one = await call(client, "wsh_list_sessions", session=name)
        listed = await call(client, "wsh_list_sessions")
        killed = await call(client, "wsh_manage_session", session=name, action="kill")
        left = await call(client, "wsh_list_sessions")

    assert {key: created[key] for key in ("session", "rows", "cols")} == {
        "session": name,
        "rows": 30,
        "cols": 100,
    }
    assert ran["output"] == "blue /usr"
    assert one.keys() >= {"name", "pid", "command", "rows", "cols", "running"}
    assert (one["name"], one["running"]) == (name, True)
    assert name in {session["name"] for session in listed["sessions"]}
    assert killed == {"success": True}
    assert name not in {session["name"] for session in left["sessions"]}


async def test_the_text_of_a_list_is_the_published_array(server: ServerProcess) -> None:
    async with connected("stdio-2025", server) as client:
        name = await opened(client)
        result = await client.call_tool("wsh_list_sessions", {})

    block = result.content[0]
    assert isinstance(block, TextContent)
    assert name in {session["name"] for session in json.loads(block.text)}


async def test_a_command_returns_its_exit_code_output_and_screen(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        hello = await call(
            client, "wsh_run_command", session=name, input="echo hello", format="plain"
        )
        false = await call(client, "wsh_run_command", session=name, input="false", view="output")

    assert {key: hello[key] for key in ("exit_code", "output", "state", "completed_by")} == {
        "exit_code": 0,
        "output": "hello",
        "state": "prompt",
        "completed_by": "mark",
    }
    assert "hello" in shown(hello["screen"])
    assert hello["screen"].keys() == {"lines", "cursor", "rows", "cols", "mode"}
    assert false["exit_code"] == 1
    assert "screen" not in false
    assert false["generation"] > hello["generation"]


async def test_the_directory_stays_from_call_to_call(server: ServerProcess, way: str) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        await call(client, "wsh_run_command", session=name, input="cd /usr/lib")
        answer = await call(client, "wsh_run_command", session=name, input="pwd")

    assert (answer["output"], answer["cwd"]) == ("/usr/lib", "/usr/lib")


async def test_a_passed_deadline_is_a_result_with_the_screen_and_the_command_goes_on(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        late = await client.call_tool(
            "wsh_run_command",
            {
                "session": name,
                "input": "echo begun; read line; echo $line",
                "until": "never",
                "max_wait_ms": 50,
                "format": "plain",
            },
        )
        answer = await call(client, "wsh_run_command", session=name, input="ended")

    assert late.is_error
    assert late.structured_content["completed_by"] == "deadline"
    assert late.structured_content["exit_code"] is None
    assert "begun" in shown(late.structured_content["screen"])
    assert "ended" in answer["output"]


@pytest.mark.parametrize("until", [{"until": "ready"}, {"until_regex": "re+ady"}])
async def test_a_run_ends_with_the_text_it_waits_for_and_the_command_goes_on(
    server: ServerProcess, way: str, until: dict[str, str]
) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        answer = await call(
            client,
            "wsh_run_command",
            session=name,
            input="printf 're''ady\\n'; sleep 600",
            max_wait_ms=60_000,
            **until,
        )

    assert (answer["completed_by"], answer["exit_code"]) == ("text", None)
    assert answer["output"] == "ready"


@pytest.mark.parametrize(
    ("interrupt", "told"), [(False, "the command goes on"), (True, "Ctrl-C was pressed")]
)
async def test_a_passed_deadline_says_what_became_of_the_command_and_shows_what_the_view_asks_for(
    server: ServerProcess, way: str, interrupt: bool, told: str
) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        await call(client, "wsh_run_command", session=name, input="echo be; echo gun")
        order = {"session": name, "input": "sleep 600", "max_wait_ms": 100, "interrupt": interrupt}
        late = await client.call_tool("wsh_run_command", order | {"format": "plain"})
        await client.call_tool("wsh_send_input", {"session": name, "keys": ["Ctrl-C"]})
        lean = await client.call_tool("wsh_run_command", order | {"view": "output"})

    sentence = late.content[0]
    assert isinstance(sentence, TextContent)
    assert late.is_error
    assert told in sentence.text
    assert "gun" in late.structured_content["screen"]["lines"]
    assert lean.is_error
    assert "screen" not in lean.structured_content
    assert interrupt or lean.structured_content["foreground"]["name"] == "sleep"


async def test_whole_numbers_may_be_written_with_a_point(server: ServerProcess, way: str) -> None:
    async with connected(way, server) as client:
        name = await opened(client, rows=30.0)
        waited = await call(client, "wsh_await_quiesce", session=name, timeout_ms=1.0)
        screen = await call(client, "wsh_get_screen", session=name)

    assert waited["generation"] >= 0
    assert screen["rows"] == 30


async def test_a_wait_that_times_out_is_a_result_with_the_screen(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        name = await opened(client, command="sh -c 'while :; do echo tick; sleep 0.01; done'")
        late = await client.call_tool(
            "wsh_await_quiesce", {"session": name, "timeout_ms": 60_000, "max_wait_ms": 100}
        )

    assert late.is_error
    assert late.structured_content["error"]["code"] == "idle_timeout"
    assert "lines" in late.structured_content["screen"]


async def test_a_process_that_exits_is_a_result_with_its_code(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        exited = await client.call_tool("wsh_run_command", {"session": name, "input": "exit 7"})
        again = await client.call_tool("wsh_run_command", {"session": name, "input": "echo"})
        typed = await client.call_tool("wsh_send_input", {"session": name, "input": "x"})
        ends = await opened(client, command="sh -c 'echo last words; exit 7'")
        waited = await client.call_tool("wsh_await_quiesce", {"session": ends, "timeout_ms": 500})

    assert exited.is_error
    assert (exited.structured_content["completed_by"], exited.structured_content["exit_code"]) == (
        "exit",
        7,
    )
    assert again.is_error
    assert again.structured_content["error"]["code"] == "session_exited"
    assert again.structured_content["exit_code"] == 7
    assert typed.is_error
    assert waited.is_error
    assert (waited.structured_content["state"], waited.structured_content["exit_code"]) == (
        "exited",
        7,
    )
    assert "last words" in shown(waited.structured_content["screen"])


async def test_wrong_calls_are_errors_of_the_protocol_with_the_messages_of_the_http_edge(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        errors = [
            await refused(client, "wsh_run_command", session="absent", input="true"),
            await refused(client, "wsh_create_session", name=name),
            await refused(client, "wsh_create_session", name="a b"),
            await refused(client, "wsh_run_command", session=name),
            await refused(client, "wsh_get_screen", session=name, format="html"),
            await refused(client, "wsh_get_scrollback", session=name, limit="many"),
            await refused(client, "wsh_manage_session", session=name, action="rename"),
            await refused(client, "wsh_send_input", session=name),
            await refused(client, "wsh_nothing"),
        ]

    assert [error.code for error in errors] == [INVALID_PARAMS] * len(errors)
    assert errors[0].message == "no session 'absent'"
    assert errors[0].data["code"] == "session_not_found"


async def test_null_arguments_count_as_left_out(server: ServerProcess) -> None:
    async with connected("http-2025", server) as client:
        created = await call(client, "wsh_create_session", name=None, command=None, rows=None)

    assert created["rows"] == 24


async def test_input_then_waiting_then_reading_is_the_same_as_running(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        await call(client, "wsh_run_command", session=name, input="true")
        await call(client, "wsh_send_input", session=name, input="echo a-$((40+2))", keys=["Enter"])
        await call(
            client, "wsh_await_quiesce", session=name, until_regex="a-\\d+\\s", timeout_ms=50
        )
        screen = await call(client, "wsh_get_screen", session=name, format="plain")
        await call(
            client, "wsh_send_input", session=name, input="ZWNobyBiLTQzCg==", encoding="base64"
        )
        await call(client, "wsh_await_quiesce", session=name, timeout_ms=200)
        later = await call(client, "wsh_get_screen", session=name, format="plain")

    assert "\na-42\n" in shown(screen)
    assert "\nb-43\n" in shown(later)


async def test_a_wait_with_the_last_generation_waits_for_something_new(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        await call(client, "wsh_run_command", session=name, input="echo one")
        first = await call(client, "wsh_await_quiesce", session=name, timeout_ms=100)
        seen = {"session": name, "timeout_ms": 1, "last_generation": first["generation"]}
        nothing = await client.call_tool("wsh_await_quiesce", {**seen, "max_wait_ms": 300})
        await call(client, "wsh_send_input", session=name, input="echo two\n")
        second = await call(client, "wsh_await_quiesce", **seen)

    assert nothing.is_error
    assert nothing.structured_content["error"]["code"] == "idle_timeout"
    assert second["generation"] > first["generation"]


async def test_fresh_silence_is_counted_from_the_question(server: ServerProcess, way: str) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        await call(client, "wsh_run_command", session=name, input="echo one")
        await call(client, "wsh_await_quiesce", session=name, timeout_ms=700)
        quiet = {"session": name, "timeout_ms": 500, "max_wait_ms": 200}
        known = await client.call_tool("wsh_await_quiesce", quiet)
        fresh = await client.call_tool("wsh_await_quiesce", {**quiet, "fresh": True})

    assert not known.is_error
    assert fresh.is_error


async def test_a_screen_is_styled_unless_it_is_asked_for_plain(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        line = "printf '\\033[31mred\\033[0m ü漢\\n'"
        ran = await call(client, "wsh_run_command", session=name, input=line)
        styled = await call(client, "wsh_get_screen", session=name)
        plain = await call(client, "wsh_get_screen", session=name, format="plain")

    assert ran["output"] == "red ü漢"
    assert "red ü漢" in plain["lines"]
    assert all(isinstance(each, str) for each in plain["lines"])
    for screen in (ran["screen"], styled):
        spans = [span for row in screen["lines"] if not isinstance(row, str) for span in row]
        (red,) = [span for span in spans if span["text"] == "red"]
        assert red["fg"]


async def test_concurrent_runs_on_one_session_come_one_after_the_other(
    server: ServerProcess, way: str
) -> None:
    outputs: dict[int, str] = {}
    async with connected(way, server) as client:
        name = await opened(client)

        async def run(n: int) -> None:
            line = f"for i in 1 2 3; do echo {n}-$i; done"
            ran = await call(client, "wsh_run_command", session=name, input=line, view="output")
            outputs[n] = ran["output"]

        async with anyio.create_task_group() as tasks:
            for n in range(5):
                tasks.start_soon(run, n)

    assert outputs == {n: f"{n}-1\n{n}-2\n{n}-3" for n in range(5)}


async def test_scrollback_is_paged_from_either_end(server: ServerProcess, way: str) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        await call(client, "wsh_run_command", session=name, input="seq 1 300", view="output")
        first = await call(client, "wsh_get_scrollback", session=name, limit=3, format="plain")
        last = await call(client, "wsh_get_scrollback", session=name, offset=-40, format="plain")

    assert first["lines"][1:] == ["1", "2"]
    assert first["total"] > 300
    assert "300" in last["lines"]
    assert len(last["lines"]) == 40


async def test_a_renamed_session_answers_to_its_new_name(server: ServerProcess, way: str) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        await call(
            client, "wsh_manage_session", session=name, action="rename", new_name=f"{name}-b"
        )
        found = await call(client, "wsh_list_sessions", session=f"{name}-b")
        detached = await call(client, "wsh_manage_session", session=f"{name}-b", action="detach")
        error = await refused(client, "wsh_get_screen", session=name)

    assert found["name"] == f"{name}-b"
    assert detached == {"success": True}
    assert error.data["code"] == "session_not_found"


async def test_resources_say_what_the_tools_say(server: ServerProcess, way: str) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        await call(client, "wsh_run_command", session=name, input="seq 1 200", view="output")
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        sessions = await read(client, "wsh://sessions")
        screen = await read(client, f"wsh://sessions/{name}/screen")
        scrollback = await read(client, f"wsh://sessions/{name}/scrollback")
        same_screen = await call(client, "wsh_get_screen", session=name)
        same_rows = await call(client, "wsh_get_scrollback", session=name, offset=-100)
        with pytest.raises(MCPError) as absent:
            await client.read_resource("wsh://sessions/absent/screen")
        with pytest.raises(MCPError) as unknown:
            await client.read_resource("wsh://nothing")

    assert {f"wsh://sessions/{name}/screen", f"wsh://sessions/{name}/scrollback"} <= {
        str(resource.uri) for resource in resources
    }
    assert str(resources[0].uri) == "wsh://sessions"
    assert {template.uri_template for template in templates} == {
        "wsh://sessions/{name}/screen",
        "wsh://sessions/{name}/scrollback",
    }
    assert name in {session["name"] for session in sessions}
    assert screen == same_screen
    assert scrollback == same_rows
    assert len(scrollback["lines"]) == 100
    missing = -32002 if way.endswith("2025") else INVALID_PARAMS  # each era has its own
    assert (absent.value.code, unknown.value.code) == (missing, missing)


async def read(client: Client, uri: str) -> Any:
    contents = (await client.read_resource(uri)).contents[0]
    return json.loads(contents.text)  # type: ignore[union-attr]  # resources here are text


@pytest.mark.parametrize("way", ["stdio-2025", "http-2026"])
async def test_a_long_run_tells_its_progress_to_a_caller_who_asks(
    server: ServerProcess, way: str
) -> None:
    told: list[str | None] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with connected(way, server) as client:
        name = await opened(client)
        with anyio.fail_after(60):
            await client.call_tool(
                "wsh_run_command",
                {"session": name, "input": "echo working; sleep 1.3"},
                progress_callback=note,
            )

    assert (told[0] or "").endswith("working")


async def test_concurrent_calls_on_several_sessions_do_not_mix(
    server: ServerProcess, way: str
) -> None:
    outputs: dict[str, str] = {}
    async with connected(way, server) as client:

        async def run(name: str) -> None:
            await call(client, "wsh_create_session", name=name)
            answer = await call(client, "wsh_run_command", session=name, input=f"echo i-am-{name}")
            outputs[name] = answer["output"]

        names = [f"c{secrets.token_hex(4)}" for _ in range(5)]
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(run, name)

    assert outputs == {name: f"i-am-{name}" for name in names}


async def test_a_session_is_resized_and_tagged_and_found_by_its_tag(
    server: ServerProcess, way: str
) -> None:
    tag = f"t{secrets.token_hex(4)}"
    async with connected(way, server) as client:
        name = await opened(client, tags=[tag])
        await call(client, "wsh_manage_session", session=name, action="resize", cols=100, rows=30)
        found = await call(client, "wsh_list_sessions", tag=[tag])
        await call(client, "wsh_manage_session", session=name, action="remove_tags", tags=[tag])
        gone = await call(client, "wsh_list_sessions", tag=[tag])
        await call(client, "wsh_manage_session", session=name, action="detach")
        incomplete = [
            await refused(client, "wsh_manage_session", session=name, action="resize", cols=3),
            await refused(client, "wsh_manage_session", session=name, action="add_tags"),
            await refused(client, "wsh_manage_session", session=name, action="rename"),
        ]

    (listed,) = found["sessions"]
    assert (listed["name"], listed["cols"], listed["rows"]) == (name, 100, 30)
    assert gone["sessions"] == []
    assert {error.error.code for error in incomplete} == {INVALID_PARAMS}


async def test_output_that_was_left_out_is_paged_by_its_block(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        ran = await call(
            client, "wsh_run_command", session=name, input="seq 1 30000", view="output"
        )
        await call(client, "wsh_run_command", session=name, input="echo other", view="output")
        page = await call(
            client, "wsh_get_scrollback", session=name, block=ran["block"], offset=20_000, limit=2
        )
        last = await call(client, "wsh_get_scrollback", session=name, block=ran["block"], offset=-1)

    assert ran["omitted_lines"] > 0
    assert (page["lines"], page["total"]) == (["20001", "20002"], 30_000)
    assert last["lines"] == ["30000"]
