"""No descriptor left, in the keeper or in the server."""

import os
import resource
import signal
import socket
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path

import httpx
import pytest

from duetty.client import session_path
from duetty.client.client import RemoteError
from duetty.errors import ServerUnreachable
from tests.faults.server_facts import (
    answers,
    cpu_s,
    descriptors,
    eventually,
    journal_directories,
    run,
)
from tests.server_process import ServerProcess, is_alive, running_server

pytestmark = [pytest.mark.pty]

CALM_S = 0.6
"""Processor time in a second of a server that has nothing to do; a busy loop takes all of it."""


@pytest.fixture
def server(home: Path) -> Iterator[ServerProcess]:
    with running_server(home) as server:
        for name in ("s", "other"):
            server.client.post("/sessions", {"name": name, "command": "bash"})
        run(server, "true")
        wait_loaded(server)
        yield server


def wait_loaded(server: ServerProcess) -> None:
    """What the server loads in the background takes descriptors, and gives them back."""
    with socket.socket(socket.AF_UNIX) as agent:
        agent.settimeout(30)
        agent.connect(str(server.paths.mcp_socket))
        agent.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        assert agent.recv(1)


@contextmanager
def room_for(pid: int, more: int) -> Generator[None]:
    """Let the process open this many descriptors more."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit_with_room(pid, more), hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


def limit_with_room(pid: int, more: int) -> int:
    """The limit below which this many numbers are free."""
    taken = {int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()}
    free = (number for number in count() if number not in taken)
    return next(islice(free, more, None))


def server_pid(server: ServerProcess) -> int:
    assert server.process is not None
    return server.process.pid


def keeper_pid(server: ServerProcess) -> int:
    return server.client.get("/server/info")["keeper_pid"]


@contextmanager
def connected(server: ServerProcess) -> Generator[httpx.Client]:
    """A connection that the server has already, and keeps."""
    transport = httpx.HTTPTransport(uds=str(server.paths.server_socket))
    with httpx.Client(transport=transport, base_url="http://localhost", timeout=60) as client:
        client.get("/health")
        yield client


def open_or_code(server: ServerProcess, name: str) -> str:
    """ "opened", or the code of the error; a connection that is refused has none."""
    try:
        server.client.post("/sessions", {"name": name, "command": "bash"})
    except RemoteError as error:
        return error.code
    except ServerUnreachable:
        return "server_unreachable"
    return "opened"


def children_of(pid: int) -> set[str]:
    return set(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def test_a_keeper_without_descriptors_refuses_new_sessions_only(server: ServerProcess) -> None:
    keeper = keeper_pid(server)
    children, journals = children_of(keeper), journal_directories(server.paths.state)

    with room_for(keeper, 0):
        codes = [open_or_code(server, "new") for _ in range(3)]
        others = answers(server, "s")
    left = children_of(keeper), journal_directories(server.paths.state)
    after = open_or_code(server, "new")

    assert codes == ["fork_failed"] * 3
    assert others
    assert left == (children, journals)
    assert after == "opened"
    assert answers(server, "new")


def test_a_keeper_with_too_few_descriptors_leaks_none(server: ServerProcess) -> None:
    keeper = keeper_pid(server)
    before = descriptors(keeper)
    seen: set[str] = set()

    for more in range(1, 10):
        with room_for(keeper, more):
            code = open_or_code(server, "new")
        seen.add(code)
        if code == "opened":
            assert answers(server, "new")
            server.client.delete(session_path("new"))
        eventually(lambda: descriptors(keeper) == before)

    assert seen == {"fork_failed", "opened"}
    assert keeper_pid(server) == keeper
    assert answers(server, "s")


@pytest.mark.parametrize(
    "door",
    [
        "server.sock",
        "mcp.sock",
    ],
)
def test_a_server_without_descriptors_survives_and_recovers(
    server: ServerProcess, door: str
) -> None:
    waiting: list[socket.socket] = []

    with connected(server) as already, room_for(server_pid(server), 0):
        for _ in range(5):
            waiting.append(socket.socket(socket.AF_UNIX))
            waiting[-1].connect(str(server.paths.runtime / door))
        before_s = cpu_s(server)
        # A second by the server's own clock: who is connected is served meanwhile.
        waited = already.post(
            session_path("s", "/wait"), json={"text": "never shown", "max_wait_ms": 1000}
        )
        spent_s = cpu_s(server) - before_s
    for each in waiting:
        each.close()
    eventually(lambda: server.client.is_up())

    assert waited.json()["error"]["code"] == "wait_timeout"
    assert spent_s < CALM_S
    assert answers(server, "s")
    assert open_or_code(server, "new") == "opened"
    assert answers(server, "new")


def test_a_keeper_killed_while_the_server_has_no_descriptor_is_replaced_later(
    server: ServerProcess,
) -> None:
    keeper = keeper_pid(server)

    with connected(server) as already, room_for(server_pid(server), 0):
        os.kill(keeper, signal.SIGKILL)
        eventually(lambda: "keeper" in already.get("/server/info").json()["degraded"])
    eventually(lambda: server.client.is_up() and keeper_pid(server) not in (keeper, None))

    assert answers(server, "s")
    assert open_or_code(server, "new") == "opened"
    assert answers(server, "new")


def test_a_server_with_too_few_descriptors_opens_whole_sessions_or_none(
    server: ServerProcess,
) -> None:
    pid, keeper = server_pid(server), keeper_pid(server)
    eventually(lambda: len(children_of(keeper)) == 2)  # the shells of both sessions, and no more
    shells = children_of(keeper)
    journals = journal_directories(server.paths.state)
    seen: set[str] = set()

    # Sessions leave some for people: up to there, none is opened.
    for more in (*range(8), *range(30, 40)):
        with room_for(pid, more):
            code = open_or_code(server, "new")
        assert code != "internal_error"
        seen.add(code)
        eventually(lambda: server.client.is_up())
        assert answers(server, "s")
        assert answers(server, "other")
        if code == "opened":
            assert answers(server, "new")
            server.client.delete(session_path("new"))
        eventually(lambda: children_of(keeper) == shells)
        eventually(lambda: journal_directories(server.paths.state) == journals)

    assert "opened" in seen
    assert is_alive(keeper)
    assert keeper_pid(server) == keeper
    assert server_pid(server) == server.client.get("/server/info")["pid"]
