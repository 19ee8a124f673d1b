"""Several servers of one user, and when one of them ends."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from duetty.client import Client
from duetty.config import find_paths
from duetty.server import LINGER_S as USUAL_LINGER_S
from tests.server_process import ServerProcess, is_alive

pytestmark = [pytest.mark.pty]


def test_two_instances_run_side_by_side_with_sessions_of_their_own(home: Path) -> None:
    caller = ServerProcess(home)
    try:
        for instance in ("one", "two"):
            opened = caller.command("new", "-L", instance, "-d", "--name", f"in-{instance}", "cat")
            assert opened.stdout == f"in-{instance}\n", opened.stderr

        assert caller.command("list", "-L", "one", "--names").stdout == "in-one\n"
        assert caller.command("list", "-L", "two", "--names").stdout == "in-two\n"
        assert caller.command("list").returncode == 3
    finally:
        for instance in ("one", "two"):
            caller.command("stop", "-L", instance)


def test_an_instance_runs_once_and_again_after_it_was_killed(home: Path) -> None:
    first, second = ServerProcess(home), ServerProcess(home)
    first.start()
    try:
        first.client.post("/sessions", {"name": "kept", "command": "cat"})
        refused = second.command("server", "--bind", "127.0.0.1:0")
        first.kill()
        second.start()

        assert refused.returncode != 0
        assert "Traceback" not in refused.stderr
        assert second.command("list", "--names").stdout == "kept\n"
    finally:
        second.end()


LINGER_S = 0.5
"""How long such a server stays after its last session, in these tests."""

FIRST_S = 4 * LINGER_S
"""How long it waits for its first session: longer than `stay` looks at it."""


def ephemeral(home: Path) -> ServerProcess:
    """A server that nobody asked to stay."""
    server = ServerProcess(home)
    change = f"duetty.server.LINGER_S = {LINGER_S}; duetty.server.EPHEMERAL_S = {FIRST_S}"
    server.start_with(change, "--ephemeral")
    return server


def stay(server: ServerProcess) -> None:
    """Three times as long as it would take to end: that it did not is what is shown."""
    assert server.process is not None
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(3 * LINGER_S)


def test_an_ephemeral_server_ends_with_its_last_session_and_its_keeper_with_it(home: Path) -> None:
    server = ephemeral(home)
    try:
        keeper = json.loads(server.command("status", "--json").stdout)["keeper_pid"]
        for name in ("one", "two"):
            server.client.post("/sessions", {"name": name, "command": "cat"})
        server.command("kill", "one")
        stay(server)
        stays = server.command("list", "--names").stdout
        server.command("kill", "two")
        ended = server.wait_ended()
        deadline_s = time.monotonic() + 60
        while is_alive(keeper) and time.monotonic() < deadline_s:
            time.sleep(0.01)

        assert stays == "two\n"
        assert ended == 0
        assert not is_alive(keeper)
        assert not server.paths.server_socket.exists()
        assert server.command("list").returncode == 3
    finally:
        server.end()


def test_an_ephemeral_server_waits_for_its_first_session(home: Path) -> None:
    server = ephemeral(home)
    try:
        stay(server)
        assert server.command("new", "-d", "--name", "first", "cat").stdout == "first\n"
        server.command("kill", "first")

        assert server.wait_ended() == 0
    finally:
        server.end()


def test_a_client_that_comes_while_a_server_ends_gets_a_server(home: Path) -> None:
    caller = ServerProcess(home)
    try:
        for _ in range(3):  # each is about to end, or has just ended, when the next one comes
            ran = caller.command("run", "--", "echo", "served")
            assert (ran.returncode, ran.stdout) == (0, "served\n"), ran.stderr
            time.sleep(USUAL_LINGER_S)
    finally:
        caller.command("stop")


def test_an_ephemeral_server_that_is_told_to_stay_outlives_its_last_session(home: Path) -> None:
    server = ephemeral(home)
    try:
        server.client.post("/sessions", {"name": "last", "command": "cat"})
        server.command("persist", "on")
        server.command("kill", "last")
        stay(server)
        stays = server.command("list").returncode
        server.command("persist", "off")

        assert stays == 0
        assert server.wait_ended() == 0
    finally:
        server.end()


def test_the_environment_names_an_instance_too(home: Path) -> None:
    caller = ServerProcess(home, DUETTY_INSTANCE="other")
    try:
        caller.command("new", "-d", "--name", "there", "cat")

        assert caller.command("list", "-L", "other", "--names").stdout == "there\n"
    finally:
        caller.command("stop")


def test_what_a_server_started_finds_it_again(home: Path) -> None:
    caller = ServerProcess(home, HOME=str(home / "elsewhere"))
    ours = f"{sys.executable} -m duetty list --names"
    try:
        caller.command("new", "-L", "work", "-d", "--name", "s", "bash")
        inside = caller.command("run", "-L", "work", "-s", "s", "--", ours)
        client = Client(find_paths(caller.env, instance="work").server_socket)
        besides = client.post("/processes/run", {"command": ours})

        assert inside.stdout == "s\n"
        assert besides["stdout"] == "s\n"
    finally:
        caller.command("stop", "-L", "work")


@pytest.mark.parametrize("line", [("run", "true"), ("new", "-d", "cat"), ("mcp",)])
def test_inside_a_session_no_server_is_started(home: Path, line: tuple[str, ...]) -> None:
    caller = ServerProcess(home, DUETTY_SESSION="s")
    try:
        said = caller.command(*line, input='{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}\n')

        assert "inside session 's' none is started" in said.stderr
        assert (said.returncode, caller.paths.server_socket.exists()) == (3, False)
    finally:
        caller.command("stop")


@pytest.mark.parametrize(
    "option", [["-L", "one"], ["-Lone"], ["--instance", "one"], ["--instance=one"]]
)
def test_the_instance_may_stand_before_the_command(home: Path, option: list[str]) -> None:
    caller = ServerProcess(home)

    said = caller.command(*option, "list", "--names")
    named = caller.command("--server", "far", *option, "list")
    unmeant = caller.command("--server", "far", "stop")

    assert (said.returncode, "instance 'one'" in said.stderr) == (3, True), said.stderr
    assert (named.returncode, "instance 'one'" in named.stderr) == (3, True), named.stderr
    assert (unmeant.returncode, "duetty stop" in unmeant.stderr) == (2, True), unmeant.stderr


def test_a_server_that_was_told_to_stay_stays(home: Path) -> None:
    caller = ServerProcess(home)
    try:
        caller.command("new", "-d", "--name", "last", "cat")
        caller.command("persist", "on")
        caller.command("kill", "last")

        assert caller.command("list").returncode == 0
        assert "stays" in caller.command("persist").stdout
    finally:
        caller.command("stop")


@pytest.mark.parametrize("name", ["../elsewhere", "..", ".", "a/b", ""])
def test_an_instance_whose_name_is_a_path_is_refused(home: Path, name: str) -> None:
    said = ServerProcess(home).command("list", "-L", name)

    assert (said.returncode, "[bad_setting]" in said.stderr) == (1, True)
