"""Dialect `command` as a client sees it."""

import os
import platform
import secrets
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from mcp import MCPError
from mcp.types import INVALID_PARAMS, CallToolResult, TextContent

from duetty.config import Settings
from tests.edges.mcp.connect import WAYS, call, connected
from tests.edges.mcp.host import hosted
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.anyio, pytest.mark.pty, pytest.mark.sampled(3)]
# Of the four ways in the first and the last: stdio and HTTP, the old era and the new.


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


async def test_the_server_says_of_itself_what_the_contract_says(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server, dialect="command") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        about, instructions = client.server_info, client.instructions

    assert about is not None
    assert (about.name, about.version) == ("mcp-server-command", "0.5.0")
    assert (instructions or "").startswith(f"Run commands on this {platform.system()} machine")
    run = tools["run_command"]
    assert run.description == f"Run a command on this {platform.system()} machine"
    assert {"command", "workdir", "stdin"} <= set(run.input_schema["properties"])
    assert run.input_schema["required"] == ["command"]
    assert set(tools) == {"run_command", "poll_command", "stop_command", "list_commands"}


async def test_a_command_answers_with_its_output_as_text(server: ServerProcess, way: str) -> None:
    async with connected(way, server, dialect="command") as client:
        result = await client.call_tool("run_command", {"command": "echo hello && echo again"})

    assert texts(result) == ["hello\nagain\n"]
    assert not result.is_error
    assert result.structured_content is not None
    assert result.structured_content["exit_code"] == 0


async def test_stdout_and_stderr_are_apart_and_a_failure_is_a_result_with_the_exit_code(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server, dialect="command") as client:
        result = await client.call_tool(
            "run_command", {"command": "echo out; echo err >&2; exit 7"}
        )

    assert result.is_error
    assert texts(result) == ["the command ended with exit code 7", "out\n", "STDERR:\nerr\n"]
    content: dict[str, Any] = result.structured_content or {}
    assert (content["stdout"], content["stderr"], content["exit_code"]) == ("out\n", "err\n", 7)


async def test_text_is_piped_and_the_directory_is_as_asked_for(
    server: ServerProcess, way: str, tmp_path: Path
) -> None:
    script = "import os, sys\nprint(os.getcwd(), 'ü')\n"
    async with connected(way, server, dialect="command") as client:
        done = await call(
            client, "run_command", command="python3 -", stdin=script, workdir=str(tmp_path)
        )

    assert done["stdout"] == f"{tmp_path} ü\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "missing: command"),
        ({"command": "  "}, "empty"),
        ({"command": 5}, "command: must be of type string"),
        ({"command": "true", "comand": "x"}, "unknown: comand"),
        ({"command": "true", "workdir": "/nowhere"}, "/nowhere"),
    ],
)
@pytest.mark.sampled(3)
async def test_a_missing_or_wrong_argument_is_a_result_that_says_so(
    server: ServerProcess, way: str, arguments: dict[str, object], told: str
) -> None:
    async with connected(way, server, dialect="command") as client:
        result = await client.call_tool("run_command", arguments)

    assert result.is_error
    assert told in texts(result)[0]


async def test_a_process_that_does_not_exist_is_an_error_of_the_protocol(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server, dialect="command") as client:
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("poll_command", {"process": "nobody"})

    assert unknown.value.error.code == INVALID_PARAMS


async def test_a_command_beyond_its_time_is_ended_and_a_result(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server, dialect="command") as client:
        result = await client.call_tool(
            "run_command", {"command": "echo begun; sleep 60", "timeout_ms": 300}
        )

    assert result.is_error
    late = "the command took longer than 300 ms and was ended: give a longer timeout_ms, or background: true"
    assert texts(result) == [late, "begun\n"]


async def test_a_refusal_names_no_way_that_these_tools_do_not_have(server: ServerProcess) -> None:
    async with connected("stdio-2026", server, dialect="command") as client:
        result = await client.call_tool("run_command", {"command": "git clean -fdx"})

    answer = cast("dict[str, dict[str, str]]", result.structured_content)
    hint = answer["error"]["hint"]
    assert "git stash push -u" in hint
    assert "session" not in hint


async def test_a_background_command_is_polled_and_stopped(server: ServerProcess, way: str) -> None:
    mark = secrets.token_hex(4)
    async with connected(way, server, dialect="command") as client:
        command = f"echo {mark}; while :; do sleep 0.05; done"
        started = await call(client, "run_command", command=command, background=True)
        polled = await call(client, "poll_command", process=started["process"], wait_ms=10_000)
        listed = await call(client, "list_commands")
        stopped = await call(client, "stop_command", process=started["process"])

    assert (polled["stdout"], polled["running"]) == (f"{mark}\n", True)
    assert started["process"] in {each["process"] for each in listed["commands"]}
    assert (stopped["running"], stopped["signal"]) == (False, "TERM")


@pytest.mark.sampled(3)
async def test_output_is_streamed_as_progress(server: ServerProcess, way: str) -> None:
    told: list[str | None] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with connected(way, server, dialect="command") as client:
        await client.call_tool(
            "run_command",
            {"command": "echo step one; sleep 2.2"},
            progress_callback=progress,
        )

    assert told[0] == "step one"


async def test_commands_run_side_by_side(server: ServerProcess, way: str, tmp_path: Path) -> None:
    """Each waits for the next one: none would end if they took turns."""
    outputs: dict[int, str] = {}
    pipes = [tmp_path / f"pipe{n}" for n in range(6)]
    for pipe in pipes:
        os.mkfifo(pipe)
    async with connected(way, server, dialect="command") as client:

        async def one(n: int) -> None:
            passes_on = f" | tee {pipes[n - 1]}" if n else ""
            done = await call(client, "run_command", command=f"cat {pipes[n]}{passes_on}")
            outputs[n] = done["stdout"]

        async with anyio.create_task_group() as tasks:
            for n in range(len(pipes)):
                tasks.start_soon(one, n)
            await call(client, "run_command", command=f"echo through > {pipes[-1]}")

    assert outputs == dict.fromkeys(range(len(pipes)), "through\n")


async def test_both_dialects_can_be_spoken_at_once(server: ServerProcess, way: str) -> None:
    async with connected(way, server, dialect="command,wsh") as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        done = await call(client, "run_command", command="echo hi")

    assert {"run_command", "wsh_run_command"} <= tools
    assert len(tools) == 18
    assert done["stdout"] == "hi\n"


async def test_output_beyond_the_answer_is_read_from_the_disk(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server, dialect="command") as client:
        ran = await call(client, "run_command", command="seq 1 300000")
        page = await call(client, "poll_command", process=ran["process"], stdout_offset=1_000_000)

    whole = "".join(f"{n}\n" for n in range(1, 300_001))
    assert len(ran["stdout"]) < 40_000
    assert ran["stdout"].startswith("1\n2\n")
    assert ran["stdout"].endswith("\n300000\n")
    assert ran["stdout_omitted_bytes"] > 1_900_000
    assert len(page["stdout"]) > 10_000
    assert page["stdout"] == whole[1_000_000 : 1_000_000 + len(page["stdout"])]


async def test_a_command_is_in_the_audit_before_it_runs_and_its_outcome_after(
    server: ServerProcess, way: str
) -> None:
    mark = secrets.token_hex(6)
    async with connected(way, server, dialect="command") as client:
        await client.call_tool("run_command", {"command": f"echo {mark}; exit 3"})
        started = await call(client, "run_command", command=f"echo bg-{mark}", background=True)

    records: list[dict[str, Any]] = server.client.get("/audit?limit=100")
    calls = [
        each
        for each in records
        if each["kind"] == "call" and mark in str(each.get("judged", {}).get("command_line"))
    ]
    assert {each["operation"] for each in calls} == {"process.run", "process.start"}
    assert all((each["dialect"], each["actor"]["kind"]) == ("command", "agent") for each in calls)
    (run,) = [each for each in calls if each["operation"] == "process.run"]
    (ended,) = [
        each for each in records if each["kind"] == "outcome" and each["call"] == run["call"]
    ]
    assert (ended["outcome"], ended["exit_code"]) == ("done", 3)
    assert ended["seq"] > run["seq"]
    assert started["running"]


RULES = """
[[policy.rules]]
name = "no-touch"
decide = "deny"
command = ["touch **"]

[[policy.rules]]
name = "may-make"
decide = "allow"
command = ["mkdir **"]
"""


async def test_a_deny_list_refuses_before_anything_starts_and_an_allow_list_lets_pass(
    home: Path,
) -> None:
    (home / "config.toml").write_text(RULES)
    with running_server(home, DUETTY_POLICY_PROFILE="strict") as server:
        for way in WAYS:
            made, other = home / f"touched-{way}", home / f"made-{way}"
            async with connected(way, server, dialect="command") as client:
                denied = await client.call_tool("run_command", {"command": f"touch {made}"})
                behind = await client.call_tool(
                    "run_command", {"command": f"touch {made}", "background": True}
                )
                unlisted = await client.call_tool("run_command", {"command": f"cp {home} {made}"})
                allowed = await call(client, "run_command", command=f"mkdir {other}")
                listed = await call(client, "list_commands")

            for refused in (denied, behind):
                assert refused.is_error
                assert (refused.structured_content or {})["error"]["code"] == "policy_denied"
                assert (refused.structured_content or {})["rule"] == "rule:no-touch"
            assert unlisted.is_error
            assert (unlisted.structured_content or {})["error"]["code"] == "policy_denied"
            assert allowed["exit_code"] == 0
            assert other.is_dir()
            assert not made.exists()
            assert {each["command"].split()[0] for each in listed["commands"]} == {"mkdir"}


async def test_limits_and_the_time_of_a_command_are_settings(home: Path) -> None:
    settings = {
        "DUETTY_PROCESS_TIMEOUT_MS": "700",
        "DUETTY_PROCESS_CPU_S": "7",
        "DUETTY_PROCESS_MEMORY_MIB": "512",
        "DUETTY_PROCESS_FILE_MIB": "3",
    }
    with running_server(home, **settings) as server:
        async with connected("stdio-2026", server, dialect="command") as client:
            limits = await call(
                client, "run_command", command="ulimit -t; ulimit -v; ulimit -f", shell="bash"
            )
            late = await client.call_tool("run_command", {"command": "sleep 60"})
            asked = await call(client, "run_command", command="sleep 1; echo x", timeout_ms=30_000)

    assert limits["stdout"].split() == ["7", str(512 * 1024), str(3 * 1024)]
    assert texts(late)[0].startswith("the command took longer than 700 ms and was ended")
    assert asked["stdout"] == "x\n"


async def test_a_command_has_a_minute_unless_somebody_says_otherwise() -> None:
    assert Settings().process_timeout_ms == 60_000


def test_a_closed_connection_leaves_its_command_running(server: ServerProcess) -> None:
    mark = f"/tmp/duetty-test-{secrets.token_hex(6)}"
    with hosted(server, "--dialect", "command") as host:
        host.shake_hands()
        arguments = {"command": f"sleep 1; echo done > {mark}"}
        host.begin("tools/call", {"name": "run_command", "arguments": arguments})
        host.ask("ping")
        host.process.kill()

    with hosted(server, "--dialect", "command") as host:
        host.shake_hands()
        mine = next(
            each for each in host.call("list_commands")["commands"] if mark in each["command"]
        )
        host.call("poll_command", process=mine["process"], wait_ms=10_000, wait_for="end")

    assert Path(mark).read_text() == "done\n"
    Path(mark).unlink()


def test_an_unknown_dialect_is_told_to_whoever_asked_for_it(server: ServerProcess) -> None:
    with hosted(server, "--dialect", "klingon") as host:
        assert host.process.wait(60) != 0
        assert host.process.stderr is not None
        said = host.process.stderr.read().decode()

    assert "no dialect 'klingon'" in said
    assert "known: wsh, command" in said
