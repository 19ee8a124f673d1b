"""`duetty mcp`: real pipes, a real server, and what happens when either goes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from duetty.client import session_path
from tests.edges.mcp.connect import call, connected
from tests.edges.mcp.host import INITIALIZE, MODERN, hosted
from tests.server_process import ServerProcess, is_alive, running_server

pytestmark = pytest.mark.pty


def test_closing_stdin_ends_the_bridge_and_not_the_server(server: ServerProcess) -> None:
    with hosted(server) as host:
        host.shake_hands()

        code = host.close()

    assert code == 0
    assert server.client.is_up()


def test_answers_on_their_way_arrive_although_the_host_closed_its_end(
    server: ServerProcess,
) -> None:
    with hosted(server) as host:
        host.begin("initialize", INITIALIZE)
        host.stdin.close()

        answer = host.hear()

    assert answer["result"]["serverInfo"]["name"] == "duetty"


def test_lines_that_are_no_message_get_an_error_and_the_bridge_goes_on(
    server: ServerProcess,
) -> None:
    with hosted(server) as host:
        codes: list[int] = []
        for line in (b"{not json", b"\xff\xfe", b"[]", b'{"jsonrpc":"2.0","id":5}', b"7"):
            host.say(line)
            codes.append(host.hear()["error"]["code"])
        host.say(b"")
        host.shake_hands()
        host.say(b"{again")
        codes.append(host.hear()["error"]["code"])
        unknown = host.ask("no/such/method")
        too_much = host.ask(
            "tools/call", {"name": "wsh_send_input", "arguments": {"session": "x" * 5_000_000}}
        )
        tools = host.ask("tools/list")

    assert codes == [-32700, -32700, -32600, -32600, -32600, -32700]
    assert unknown["error"]["code"] == -32601
    assert too_much["error"]["code"] == -32602
    assert tools["result"]["tools"]


def test_a_message_beyond_the_bound_is_refused_and_the_next_one_served(
    server: ServerProcess,
) -> None:
    with hosted(server) as host:
        host.shake_hands()
        host.say(b" " * (17 * 1024 * 1024))
        refusal = host.hear()
        pong = host.ask("ping")

    assert refusal["error"]["code"] == -32600
    assert pong["result"] == {}


def test_a_host_that_discovers_and_then_initializes_is_served(server: ServerProcess) -> None:
    with hosted(server) as host:
        discovered = host.ask("server/discover", {"_meta": MODERN})
        host.shake_hands()
        tools = host.ask("tools/list")

    assert discovered["result"]["supportedVersions"] == ["2026-07-28"]
    assert tools["result"]["tools"]


def test_sessions_and_commands_start_in_the_directory_of_the_host(
    server: ServerProcess, tmp_path: Path
) -> None:
    with hosted(server, "--dialect", "command,wsh", cwd=tmp_path) as host:
        host.shake_hands()
        created = host.call("wsh_create_session")
        ran = host.call("run_command", command="pwd")

    assert created["cwd"] == str(tmp_path)
    assert ran["stdout"] == f"{tmp_path}\n"


def test_a_killed_host_leaves_its_command_running(server: ServerProcess) -> None:
    with hosted(server) as host:
        host.shake_hands()
        host.call("wsh_create_session", name="orphan")
        line = {"session": "orphan", "input": "read answer; echo got-$answer"}
        host.begin(
            "tools/call", {"name": "wsh_run_command", "arguments": {**line, "until": "got-"}}
        )
        wait(server, "orphan", state=["awaiting_input"])
        host.process.kill()
        host.process.wait(60)

    server.client.post(session_path("orphan", "/keys"), {"keys": ["4", "2", "Enter"]})
    found = wait(server, "orphan", text="got-42")

    assert found["match"] == "got-42"


def wait(server: ServerProcess, session: str, **condition: object) -> dict[str, Any]:
    return server.client.post(session_path(session, "/wait"), {**condition, "max_wait_ms": 30_000})


def test_the_configuration_that_the_server_prints_works_as_it_stands(home: Path) -> None:
    server = ServerProcess(home)
    executable = Path(sys.executable).with_name("duetty")
    started = subprocess.Popen(
        [executable, "server", "--bind", "127.0.0.1:0", "--instance", "other"],
        env=server.env,
        stdout=subprocess.PIPE,
    )
    assert started.stdout is not None
    with started, started.stdout:
        printed = b""
        while b"\n}\n" not in printed:
            printed += os.read(started.stdout.fileno(), 4_096)
        entry = json.loads(printed[printed.index(b"\n{") :])["mcpServers"]["duetty"]
        bridge = subprocess.run(
            [entry["command"], *entry["args"]],
            env={"PATH": os.environ["PATH"], **entry["env"]},
            input=json.dumps(
                {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
            ).encode(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        started.send_signal(signal.SIGTERM)
    server.command("stop", "--instance", "other")

    assert (entry["command"], entry["args"]) == (str(executable), ["mcp", "--instance", "other"])
    assert json.loads(bridge.stdout)["result"]["serverInfo"]["name"] == "duetty"


@pytest.mark.anyio
async def test_the_bridge_starts_a_server_when_none_runs(home: Path) -> None:
    server = ServerProcess(home)
    try:
        async with connected("stdio-2025", server) as client:
            await call(client, "wsh_create_session", name="s")
            answer = await call(client, "wsh_run_command", session="s", input="echo hello")
        assert server.client.is_up()
    finally:
        server.end()

    assert (answer["exit_code"], answer["output"]) == (0, "hello")


def test_a_replaced_server_goes_unnoticed_by_the_host(home: Path) -> None:
    with running_server(home) as server, hosted(server) as host:
        first = server.process
        host.shake_hands()
        host.call("wsh_create_session", name="s")
        host.call("wsh_run_command", session="s", input="cd /usr; colour=blue")

        server.start("--replace")
        answer = host.call("wsh_run_command", session="s", input="echo $colour $PWD")
        newest: dict[str, Any] = server.client.get("/audit?kind=call&session=s")[0]

        assert first is not None
        assert first.wait(60) == 0
        assert first.stderr is not None
        first.stderr.close()
    assert answer["output"] == "blue /usr"
    assert newest["client"] == "test"  # the new server has the handshake


def test_a_call_cut_by_the_death_of_the_server_is_answered_and_not_repeated(home: Path) -> None:
    with running_server(home) as server, hosted(server) as host:
        host.shake_hands()
        host.call("wsh_create_session", name="s")
        line = "echo x >> runs; read answer"
        host.begin(
            "tools/call",
            {
                "name": "wsh_run_command",
                "arguments": {"session": "s", "input": line, "until": "never"},
            },
        )
        wait(server, "s", state=["awaiting_input"])

        server.kill()
        cut = host.hear_answer()
        server.start()
        host.call("wsh_send_input", session="s", keys=["Enter"])
        counted = host.call("wsh_run_command", session="s", input="wc -l < runs")

    assert cut["error"]["code"] == -32603
    assert counted["output"] == "1"


def test_a_bridge_that_is_terminated_ends_at_once(server: ServerProcess) -> None:
    with hosted(server) as host:
        host.shake_hands()
        host.process.send_signal(signal.SIGTERM)
        host.process.wait(60)

    assert not is_alive(host.process.pid)


def test_the_bridge_carries_nothing_that_it_does_not_need(server: ServerProcess) -> None:
    code = (
        "import sys; from duetty.cli.main import main; import duetty.cli.commands.mcp; "
        "heavy = {'asyncio', 'ssl', '_hashlib', 'tomllib', 'anyio', 'pydantic', 'mcp', 'httpx'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=server.env, capture_output=True, text=True
    )

    assert (done.stdout.strip(), done.stderr) == ("[]", "")
