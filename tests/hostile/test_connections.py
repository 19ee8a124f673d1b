"""Connections of strangers: what they send, how many they are, and what is left for others."""

import resource
import select
import socket
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from tests.edges.http.asking import address_of, client_of, spoken
from tests.faults.server_facts import MIB, answers, eventually, resident_bytes
from tests.server_process import ServerProcess, running_server

pytestmark = pytest.mark.pty

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def server(home: Path) -> Iterator[ServerProcess]:
    with running_server(home) as server:
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        assert answers(server, "s")
        yield server


def is_running(server: ServerProcess) -> bool:
    assert server.process is not None
    return server.process.poll() is None


def lists(server: ServerProcess) -> bool:
    with client_of(server) as client:
        return client.get("/sessions").status_code == 200


def lists_when_accepted(server: ServerProcess, until_s: float) -> bool:
    """A connection that is accepted in one burst with the strangers is refused with the last of them."""
    while True:
        try:
            return lists(server)
        except (httpx.RemoteProtocolError, httpx.ReadError):
            if time.monotonic() > until_s:
                raise


def log_bytes(server: ServerProcess) -> int:
    log = server.paths.state / "server.log"
    return log.stat().st_size if log.exists() else 0


# --- what one connection sends ------------------------------------------------


def test_a_connection_that_pipelines_without_reading_costs_no_memory(
    server: ServerProcess,
) -> None:
    before = resident_bytes(server)
    requests = f"GET /health HTTP/1.1\r\nHost: {':'.join(map(str, address_of(server)))}\r\n\r\n"
    many = requests.encode() * 2_000

    highest = before
    with socket.create_connection(address_of(server), timeout=5) as greedy:
        greedy.settimeout(1)
        deadline_s = time.monotonic() + 8
        with suppress(TimeoutError, ConnectionError):  # it need not read on
            while time.monotonic() < deadline_s:
                greedy.sendall(many)
                highest = max(highest, resident_bytes(server))
    highest = max(highest, resident_bytes(server))

    assert highest - before < 64 * MIB
    assert answers(server, "s")


def test_a_connection_that_pipelines_and_reads_has_no_more_read_of_it_than_is_answered(
    server: ServerProcess,
) -> None:
    """Each request that looks for its client's leaving has the connection read on, by a thousand times its own size."""
    request = (
        f"POST /sessions/s/wait HTTP/1.1\r\nHost: {':'.join(map(str, address_of(server)))}\r\n"
    )
    request += f"Authorization: Bearer {server.token()}\r\nContent-Type: application/json\r\n"
    body = '{"text": "never shown", "max_wait_ms": 1}'
    request += f"Content-Length: {len(body)}\r\n\r\n{body}"
    many = memoryview(request.encode() * 10_000)
    taken, answered = 0, 0
    with closing(socket.create_connection(address_of(server), timeout=5)) as greedy:
        greedy.setblocking(False)
        deadline_s = time.monotonic() + 30
        while answered < 60 and time.monotonic() < deadline_s:
            select.select([greedy], [greedy], [], 1)
            with suppress(BlockingIOError):
                answered += greedy.recv(1 << 20).count(b"HTTP/1.1 ")
            with suppress(BlockingIOError):
                taken += greedy.send(many[taken % len(many) :])

    assert answered >= 60
    assert taken < 12 * MIB, "what both ends of the network keep is a few"
    assert answers(server, "s")


def test_pipelined_requests_are_all_answered_in_order(server: ServerProcess) -> None:
    host = ":".join(map(str, address_of(server)))
    names = [f"x{number}" for number in range(500)]
    asked = "".join(
        f"GET /{name} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {server.token()}\r\n\r\n"
        for name in names
    )
    last = f"GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"

    heard = spoken(server, (asked + last).encode())

    assert heard.count(b"HTTP/1.1 404 ") == len(names)
    assert heard.count(b"HTTP/1.1 200 ") == 1
    assert heard.rindex(b"HTTP/1.1 404 ") < heard.index(b"HTTP/1.1 200 ")


def test_a_pipelined_body_is_taken_whole(server: ServerProcess) -> None:
    host = ":".join(map(str, address_of(server)))
    told = f"Host: {host}\r\nAuthorization: Bearer {server.token()}\r\n"
    body = b'{"text": "x"' + b" " * 60_000 + b"}"
    post = (
        f"POST /sessions/nobody/wait HTTP/1.1\r\n{told}Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    close = f"GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()

    heard = spoken(server, post * 3 + close)

    assert heard.count(b"session_not_found") == 3
    assert heard.count(b"HTTP/1.1 200 ") == 1


@pytest.mark.parametrize(
    "said",
    [
        b"GET http://[ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET http://a:b@:99999/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET //[::1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"CONNECT / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n\x00\x01",
        b"POST / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        b"GET ws://[ HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        b"GET \xff HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        b"GET / HTTP/1.1\r\nH\xffst: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: \xff\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nA: \x01\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET ? HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET a:// HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nnonsense\r\n\r\n",
        b"POST /sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!!",
    ],
)
@pytest.mark.sampled(3)
def test_a_malformed_request_is_refused_and_leaves_no_trace_of_calls(
    server: ServerProcess, said: bytes
) -> None:
    before = log_bytes(server)

    with socket.create_connection(address_of(server), timeout=30) as odd:
        odd.sendall(said)
        odd.shutdown(socket.SHUT_WR)
        heard = odd.recv(65536)

    assert heard == b"" or heard.split(b" ", 2)[1][:1] in (b"4", b"2", b"3"), heard[:200]
    assert lists(server)
    assert log_bytes(server) - before < 400


# --- how many they are --------------------------------------------------------


@contextmanager
def limited(server: ServerProcess, most: int) -> Generator[None]:
    assert server.process is not None
    before = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("most", [96, 256, 1024])
@pytest.mark.sampled(3)
def test_more_idle_strangers_than_descriptors_keep_nobody_out(
    server: ServerProcess, most: int
) -> None:
    with limited(server, most), ExitStack() as idle:
        for _ in range(2):
            for _ in range(most):
                with suppress(OSError):
                    idle.enter_context(socket.create_connection(address_of(server), timeout=5))
            assert server.client.get("/server/info")["sessions"]
            assert server.command("list").returncode == 0
        # Every turn of the server's own work comes round meanwhile: it looks for orphans each 5 s.
        until_s = time.monotonic() + 6
        while time.monotonic() < until_s:
            assert is_running(server)
            assert lists_when_accepted(server, until_s)
        assert answers(server, "s")
    assert is_running(server)


def test_strangers_that_come_again_and_again_do_not_close_an_admitted_connection(
    server: ServerProcess,
) -> None:
    headers = {"Authorization": f"Bearer {server.token()}"}
    known = HTTPConnection(*address_of(server), timeout=30)

    def status() -> int:
        known.request("GET", "/sessions", headers=headers)
        response = known.getresponse()
        response.read()
        return response.status

    with closing(known), ExitStack() as idle:
        first = status()
        known.auto_open = 0
        for _ in range(600):
            with suppress(OSError):
                idle.enter_context(socket.create_connection(address_of(server), timeout=5))
        second = status()

    assert (first, second) == (200, 200)


# --- what is left for others --------------------------------------------------


def test_with_few_descriptors_sessions_are_refused_before_the_command_line_is(
    server: ServerProcess,
) -> None:
    codes: list[str] = []
    transport = httpx.HTTPTransport(uds=str(server.paths.server_socket))
    with (
        httpx.Client(transport=transport, base_url="http://localhost", timeout=60) as local,
        limited(server, 64),
    ):
        for number in range(40):
            made = local.post("/sessions", json={"name": f"n{number}", "command": "bash"})
            if made.status_code != 201:
                codes.append(made.json()["error"]["code"])
                assert "descriptor" in made.json()["error"]["message"]
                assert "space" not in made.json()["error"].get("hint", "")
                break
        listed = server.command("list")
        eventually(lambda: answers(server, "s"))
        stopped = server.command("stop")

    assert codes == ["fork_failed"]
    assert listed.returncode == 0, listed.stderr
    assert stopped.returncode == 0, stopped.stderr
