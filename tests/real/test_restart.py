"""The server is killed, replaced and stopped; programs and their output are not."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from duetty.client import session_path
from tests.server_process import ServerProcess, is_alive, running_server

pytestmark = [pytest.mark.pty]

SESSIONS = 50
LINES = 4_000
PARTS = 4
"""Each waits for its file, so that a kill falls into the middle however fast the machine is."""

PROGRAM = f"""
cd "$(dirname "$0")"
i=0
while [ $i -lt {LINES} ]; do
    while [ ! -e go$((i * {PARTS} / {LINES})) ]; do sleep 0.2; done
    printf '\\033[3%dmline %d\\033[0m caf\\303\\251 \\346\\227\\245\\n' $((i % 8)) $i
    i=$((i + 1))
    [ $((i % 100)) -ne 0 ] || sleep 0.05
done
printf '\\033[5;10Hplaced\\033[K\\033[20;1H'
printf finished
sleep 1000
"""


@pytest.fixture
def server(home: Path) -> Iterator[ServerProcess]:
    (home / "program.sh").write_text(PROGRAM)
    with running_server(home) as server:
        yield server


def eventually(condition: Callable[[], bool], *, within_s: float = 60.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline_s, "it did not come true in time"
        time.sleep(0.05)


def open_all(server: ServerProcess, count: int) -> dict[str, int]:
    command = f"/bin/sh {server.home}/program.sh"
    return {
        name: server.client.post("/sessions", {"name": name, "command": command})["pid"]
        for name in (f"s{number}" for number in range(count))
    }


def screen(server: ServerProcess, name: str) -> dict[str, Any]:
    found = server.client.get(session_path(name, "/screen"))
    return {
        key: found[key]
        for key in ("lines", "cursor", "cols", "rows", "alternate_active", "total_lines")
    }


def is_finished(server: ServerProcess, name: str) -> bool:
    found = server.client.get(session_path(name, "/screen"), format="plain")
    return any("finished" in line for line in found["lines"])


def printed_lines(server: ServerProcess, name: str) -> list[str]:
    found = server.client.get(session_path(name, "/scrollback"), format="plain", limit=10_000)
    return [line for line in found["lines"] if line.startswith("line ")]


def expect_every_line_once(server: ServerProcess, names: list[str]) -> None:
    expected = [f"line {number} café 日" for number in range(LINES)]
    for name in names:
        eventually(lambda name=name: is_finished(server, name))
        lines = printed_lines(server, name)
        # The program drew over the last rows; those are compared with a screen that saw no kill.
        assert lines[: LINES - 24] == expected[: LINES - 24]


def test_a_sigkill_in_the_middle_of_output_loses_and_doubles_nothing(server: ServerProcess) -> None:
    pids = open_all(server, SESSIONS)
    for part in range(PARTS - 1):
        before = len(printed_lines(server, "s7"))
        (server.home / f"go{part}").touch()
        eventually(lambda before=before: len(printed_lines(server, "s7")) > before)
        server.kill()
        assert all(is_alive(pid) for pid in pids.values())
        server.start()
    assert not is_finished(server, "s7")
    (server.home / f"go{PARTS - 1}").touch()

    listed = {each["name"]: each["pid"] for each in server.client.get("/sessions")}
    assert listed == pids
    expect_every_line_once(server, list(pids))

    server.client.post(
        "/sessions", {"name": "control", "command": f"/bin/sh {server.home}/program.sh"}
    )
    eventually(lambda: is_finished(server, "control"))
    control = screen(server, "control")
    assert all(screen(server, name) == control for name in pids)


def test_an_orderly_replacement_takes_every_session_over(server: ServerProcess) -> None:
    pids = open_all(server, SESSIONS)
    old = server.process
    assert old is not None
    (server.home / "go0").touch()
    eventually(lambda: bool(printed_lines(server, "s7")))

    server.start("--replace")
    for part in range(1, PARTS):
        (server.home / f"go{part}").touch()

    assert old.wait(60) == 0
    assert old.stderr is not None
    old.stderr.close()
    assert {each["name"]: each["pid"] for each in server.client.get("/sessions")} == pids
    expect_every_line_once(server, list(pids))


def test_a_shell_goes_on_exactly_after_a_sigkill(server: ServerProcess) -> None:
    server.client.post("/sessions", {"name": "shell", "command": "bash"})
    server.client.post(session_path("shell", "/run"), {"input": "cd /tmp; X=kept"})

    server.kill()
    server.start()
    answer = server.client.post(session_path("shell", "/run"), {"input": "echo $X; false"})

    assert (answer["output"], answer["exit_code"], answer["cwd"]) == ("kept", 1, "/tmp")
    blocks = server.client.get(session_path("shell", "/blocks"))
    assert [block["command_line"] for block in blocks] == ["echo $X; false", "cd /tmp; X=kept"]


@pytest.mark.parametrize("killed", [True, False], ids=["killed", "replaced"])
def test_a_command_that_ran_through_a_restart_keeps_its_block(
    server: ServerProcess, killed: bool
) -> None:
    server.client.post("/sessions", {"name": "shell", "command": "bash"})
    line = "echo begun; while [ ! -e go ]; do sleep 0.1; done; echo ended; (exit 5)"
    started = server.client.post(session_path("shell", "/run"), {"input": line, "max_wait_ms": 300})
    assert started["completed_by"] == "deadline"
    before = server.client.get(session_path("shell", "/blocks"))[0]

    if killed:
        server.kill()
        server.start()
    else:
        old = server.process
        assert old is not None
        server.start("--replace")
        assert old.wait(60) == 0
        assert old.stderr is not None
        old.stderr.close()
    (server.home / "go").touch()
    server.client.post(session_path("shell", "/wait"), {"state": ["prompt"], "max_wait_ms": 30_000})
    block = server.client.get(session_path("shell", "/blocks"))[0]
    output = server.client.get(session_path("shell", f"/blocks/{block['id']}/output"))

    assert (block["exit_code"], output["lines"]) == (5, ["begun", "ended"])
    assert (block["id"], block["command_line"]) == (before["id"], line)
    assert block["started_at"] == before["started_at"]


def test_a_process_that_ended_while_no_server_ran_tells_its_code_afterwards(
    server: ServerProcess,
) -> None:
    pid = server.client.post("/sessions", {"name": "brief", "command": "sh -c 'sleep 1; exit 9'"})[
        "pid"
    ]

    server.kill()
    eventually(lambda: not is_alive(pid))
    server.start()

    eventually(lambda: server.client.get(session_path("brief"))["state"] == "exited")
    assert server.client.get(session_path("brief"))["exit_code"] == 9


def test_a_killed_keeper_costs_exit_codes_and_nothing_else(server: ServerProcess) -> None:
    server.client.post("/sessions", {"name": "shell", "command": "bash"})
    server.client.post(session_path("shell", "/run"), {"input": "X=kept"})
    keeper = server.client.get("/server/info")["keeper_pid"]

    os.kill(keeper, signal.SIGKILL)
    eventually(lambda: server.client.get("/server/info")["keeper_pid"] not in (keeper, None))
    answer = server.client.post(session_path("shell", "/run"), {"input": "echo $X"})
    degraded = server.client.get("/server/info")["degraded"]
    # The new keeper holds the terminal: it outlives the server as before.
    server.kill()
    server.start()
    again = server.client.post(session_path("shell", "/run"), {"input": "echo $X"})

    assert (answer["output"], again["output"]) == ("kept", "kept")
    assert "exit codes" in degraded["keeper"]


def test_a_second_server_for_one_instance_refuses_and_says_why(server: ServerProcess) -> None:
    second = server.command("server", "--bind", "127.0.0.1:0")

    assert second.returncode == 1
    assert "[instance_busy]" in second.stderr
    assert "--replace" in second.stderr


def test_sigterm_leaves_the_sessions_to_the_keeper(server: ServerProcess) -> None:
    pid = server.client.post("/sessions", {"name": "shell", "command": "bash"})["pid"]
    assert server.process is not None

    server.process.terminate()
    code = server.wait_ended()
    alive = is_alive(pid)
    server.start()

    assert (code, alive) == (0, True)
    assert server.client.get(session_path("shell"))["pid"] == pid


def test_stop_ends_server_keeper_and_programs(server: ServerProcess) -> None:
    pid = server.client.post("/sessions", {"name": "shell", "command": "bash"})["pid"]
    keeper = server.client.get("/server/info")["keeper_pid"]

    stopped = server.command("stop")

    assert stopped.returncode == 0
    assert server.wait_ended() == 0
    eventually(lambda: not is_alive(pid) and not is_alive(keeper), within_s=60)


def test_stop_also_ends_what_outlived_a_killed_server(server: ServerProcess) -> None:
    pid = server.client.post("/sessions", {"name": "shell", "command": "bash"})["pid"]

    server.kill()
    stopped = server.command("stop")

    assert stopped.returncode == 0
    eventually(lambda: not is_alive(pid), within_s=60)


def test_a_replacement_that_cannot_listen_leaves_the_running_server_alone(
    server: ServerProcess,
) -> None:
    pid = server.client.get("/server/info")["pid"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = f"127.0.0.1:{taken.getsockname()[1]}"
        refused = server.command("server", "--replace", "--bind", busy)
    unknown = server.command("server", "--replace", "--bind", "192.0.2.1:9")
    certificate = server.command("server", "--replace", "--tls-cert", "/no", "--tls-key", "/no")

    assert "[bad_setting]" in refused.stderr
    assert [each.returncode for each in (refused, unknown, certificate)] == [1, 1, 1]
    assert server.client.get("/server/info")["pid"] == pid


def test_a_replacement_keeps_the_address_and_the_other_flags_of_the_running_server(
    home: Path,
) -> None:
    first, second, third = (ServerProcess(home) for _ in range(3))
    first.start("--hostname", "kept")
    url = first.url()
    second.bind = ()
    try:
        second.start("--replace")

        assert second.url() == url
        assert second.client.get("/servers")[0]["hostname"] == "kept"
        assert first.wait_ended() == 0
        third.start("--replace", "--hostname", "new")
        assert (third.url() != url, second.wait_ended()) == (True, 0)
        assert third.client.get("/servers")[0]["hostname"] == "new"
    finally:
        third.end()
