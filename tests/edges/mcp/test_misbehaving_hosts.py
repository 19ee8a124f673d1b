"""Hosts that misbehave or vanish: an error answer, no crash, nothing left behind."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from duetty.sandbox import support
from tests.edges.mcp.host import INITIALIZE, hosted
from tests.sandbox.inside import settled_sockets
from tests.server_process import ServerProcess, is_alive

pytestmark = pytest.mark.pty

HELLO = b'{"jsonrpc":"2.0","id":0,"method":"duetty/hello","params":{}}\n'
FIRST = (
    json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}) + "\n"
).encode()
DONE = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
ABANDONED = 10_000
FLOOD = 10_000
AT_ONCE = 200
GROWN_BYTES = 6 * 1024 * 1024
"""What is left of each connection must be less than 600 bytes."""


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\xff\xfe"}}', -32700),
        (b"[]", -32600),
        (b'"text"', -32600),
        (b'{"jsonrpc":"2.0","id":7}', -32600),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc":"2.0","id":7,"method":"no/such"}', -32601),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}', -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":3}}', -32602),
    ],
)
def test_a_line_that_makes_no_sense_is_answered_and_the_next_one_served(
    server: ServerProcess, line: bytes, code: int
) -> None:
    with hosted(server) as host:
        host.shake_hands()
        host.say(line)
        answer = host.hear()
        after = host.ask("ping")

    assert answer["error"]["code"] == code
    assert after["result"] == {}


def test_a_flood_of_lines_is_answered_whole(server: ServerProcess) -> None:
    """More than fits into the pipes and sockets on the way back, said before anything is read."""
    with hosted(server) as host:
        host.shake_hands()
        speaker = threading.Thread(target=host.say, args=(b"[]\n" * FLOOD,), daemon=True)
        speaker.start()
        codes = {host.hear()["error"]["code"] for _ in range(FLOOD)}
        speaker.join(60)

    assert codes == {-32600}


def test_arguments_of_five_megabytes_are_answered(server: ServerProcess) -> None:
    with hosted(server) as host:
        host.shake_hands()
        arguments = {"session": "nobody", "input": "x" * 5_000_000}
        answer = host.ask("tools/call", {"name": "wsh_send_input", "arguments": arguments})
        after = host.ask("ping")

    assert answer["error"]["code"] == -32602
    assert after["result"] == {}


def test_two_requests_with_one_id_are_both_answered(server: ServerProcess) -> None:
    with hosted(server) as host:
        host.shake_hands()
        for _ in range(2):
            host.say(b'{"jsonrpc":"2.0","id":77,"method":"ping"}')
        answers = [host.hear(), host.hear()]

    assert [answer["id"] for answer in answers] == [77, 77]


def test_a_body_beyond_the_bound_is_refused_over_http(server: ServerProcess) -> None:
    headers = {
        "Authorization": f"Bearer {server.token()}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }

    answer = httpx.post(f"{server.url()}/mcp", content=b"x" * 17_000_000, headers=headers)

    assert answer.status_code == 413


def test_connections_that_are_opened_and_abandoned_leave_nothing(server: ServerProcess) -> None:
    assert server.process is not None
    process = psutil.Process(server.process.pid)
    _abandon(server, 500)  # what is allocated once is allocated
    _wait_few_descriptors(process, 60)
    before = process.memory_info().rss

    _abandon(server, ABANDONED)

    _wait_few_descriptors(process, 60)
    grown = process.memory_info().rss - before
    with hosted(server) as host:
        host.shake_hands()
        subscribed = host.ask("resources/subscribe", {"uri": "wsh://sessions"})
    assert grown < GROWN_BYTES, f"{grown} bytes"
    assert "result" in subscribed  # there is a bound on how many are


def _abandon(server: ServerProcess, count: int) -> None:
    """Some say nothing, some begin, some shake hands and subscribe; none says goodbye."""
    subscribe = b'{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"wsh://sessions"}}\n'
    said = [b"", HELLO, HELLO + FIRST, HELLO + FIRST + DONE + subscribe, b'{"jsonrpc']
    open_: list[socket.socket] = []
    for number in range(count):
        connection = _connected(server.paths.mcp_socket)
        with contextlib.suppress(OSError):
            connection.sendall(said[number % len(said)])
        open_.append(connection)
        if len(open_) >= AT_ONCE:
            for each in open_:
                each.close()
            open_.clear()
    for each in open_:
        each.close()


def _connected(path: Path) -> socket.socket:
    """A connection, as soon as the server's queue has room for one."""
    deadline_s = time.monotonic() + 20
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(10)
        try:
            connection.connect(str(path))
        except BlockingIOError:
            connection.close()
            assert time.monotonic() < deadline_s
            time.sleep(0.005)
        else:
            return connection


def _wait_few_descriptors(process: psutil.Process, most: int) -> None:
    deadline_s = time.monotonic() + 20
    while process.num_fds() > most:
        assert time.monotonic() < deadline_s, f"{process.num_fds()} descriptors are open"
        time.sleep(0.05)


LEFT_S = 1.0
"""How long a server stays for shells that a host left, in these tests."""


@contextlib.contextmanager
def left_alone(home: Path, **env: str) -> Generator[ServerProcess]:
    """A server that nobody asked to stay."""
    server = ServerProcess(home, **env)
    server.start_with(f"duetty.server.LEFT_S = {LEFT_S}", "--ephemeral")
    try:
        yield server
    finally:
        server.end()


@pytest.mark.slow  # the bridge's own server stays thirty seconds; the tests below shorten that
def test_a_host_killed_with_its_bridge_leaves_no_server_shell_or_socket(home: Path) -> None:
    """The bridge's own server, with the time that it really takes."""
    server = ServerProcess(home)
    try:
        with hosted(server) as host:
            host.shake_hands()
            host.call("wsh_create_session", name="s", command="bash")
            host.call("wsh_run_command", session="s", input="cd /usr")
            about: dict[str, Any] = server.client.get("/server/info")
            shell = int(server.client.get("/sessions/s")["pid"])
            os.kill(host.process.pid, signal.SIGKILL)

        _wait_gone(int(about["pid"]), int(about["keeper_pid"]), shell)
        assert not server.paths.mcp_socket.exists()
        assert not server.paths.server_socket.exists()
    finally:
        server.end()


@pytest.mark.parametrize(
    "line", ["cat", "sleep 1000 & echo begun"], ids=["in front", "in the background"]
)
def test_what_a_killed_host_left_running_goes_on_and_the_server_with_it(
    home: Path, line: str
) -> None:
    with left_alone(home) as server:
        with hosted(server) as host:
            host.shake_hands()
            host.call("wsh_create_session", name="s", command="bash")
            host.call("wsh_run_command", session="s", input=line, until="begun", max_wait_ms=500)
            os.kill(host.process.pid, signal.SIGKILL)
        assert server.process is not None
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(3 * LEFT_S)

        about: dict[str, Any] = server.client.get("/server/info")
        shell = int(server.client.get("/sessions/s")["pid"])
        (program,) = psutil.Process(shell).children()
        program.kill()

        assert server.wait_ended() == 0
    _wait_gone(int(about["keeper_pid"]), shell)


@pytest.mark.skipif(support().bubblewrap is None, reason="bubblewrap may make no namespaces here")
def test_an_idle_shell_in_a_sandbox_does_not_hold_the_server_of_a_killed_host(
    home: Path,
) -> None:
    with left_alone(home, DUETTY_SESSION_SANDBOX="bubblewrap") as server:
        with settled_sockets(), hosted(server) as host:
            host.shake_hands()
            host.call("wsh_create_session", name="s", command="bash")
            host.call("wsh_run_command", session="s", input="true")
            confined = server.client.get("/sessions/s")
            os.kill(host.process.pid, signal.SIGKILL)

        assert confined["sandbox"] == "bubblewrap"
        assert server.wait_ended() == 0
    _wait_gone(int(confined["pid"]))


def test_a_session_that_a_person_opened_holds_the_server_of_a_killed_host(home: Path) -> None:
    with left_alone(home) as server:
        with hosted(server) as host:
            host.shake_hands()
            server.client.post("/sessions", {"name": "mine", "command": "bash"})
            os.kill(host.process.pid, signal.SIGKILL)
        assert server.process is not None
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(3 * LEFT_S)

        assert server.command("list", "--names").stdout == "mine\n"


def _wait_gone(*pids: int) -> None:
    deadline_s = time.monotonic() + 90
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline_s, [pid for pid in pids if is_alive(pid)]
        time.sleep(0.1)
