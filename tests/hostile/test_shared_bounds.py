"""One credential that takes all it can get, and what is left for a person."""

import json
import socket as sockets
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.edges.http.asking import address_of, client_of, new_token, with_token
from tests.server_process import ServerProcess, running_server
from tests.signed_in import PageKey, cookie_of, prove

pytestmark = pytest.mark.pty


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        yield server


@pytest.fixture
def token(server: ServerProcess) -> str:
    with client_of(server) as http:
        return new_token(http, "read")


def opened(server: ServerProcess, path: str, **headers: str) -> ClientConnection:
    return connect(
        f"{server.url().replace('http', 'ws', 1)}{path}",
        additional_headers=headers,
        origin=server.url(),  # type: ignore[arg-type]  # a NewType of str
        open_timeout=60,
        max_queue=None,
    )


def taken(stack: ExitStack, one: Callable[[], ClientConnection], most: int) -> int:
    """How many there are before it is refused."""
    for count in range(most):
        try:
            stack.enter_context(one())
        except InvalidStatus as error:
            assert error.response.status_code == 429  # noqa: PT017 - the loop ends with it
            return count
    return most


def opened_before(server: ServerProcess, path: str, end_s: float) -> ClientConnection:
    """What a revoked token held is given back while its sockets close, some milliseconds after the answer."""
    while True:
        try:
            return opened(server, path, Authorization=f"Bearer {server.token()}")
        except InvalidStatus:
            assert time.monotonic() < end_s


def revoke(server: ServerProcess) -> None:
    newest = [each for each in server.client.get("/tokens") if each["kind"] == "token"][-1]
    server.client.delete(f"/tokens/{newest['id']}")


@pytest.mark.parametrize("path", ["/ws/view", "/ws/json", "/sessions/s/ws/json"])
def test_a_greedy_tokens_websockets_leave_room_for_people_and_end_with_it(
    server: ServerProcess, token: str, path: str
) -> None:
    with ExitStack() as stack:
        count = taken(stack, lambda: opened(server, path, Authorization=f"Bearer {token}"), 300)
        with opened(server, "/ws/view", Cookie=cookie_of(server)) as page:
            assert prove(page, PageKey()) == {"type": "proved"}
            page.send(json.dumps({"type": "open", "stream": 1, "session": "s"}))
            assert json.loads(page.recv(60))["type"] == "opened"
        assert server.command("status").returncode == 0
        before = server.client.get("/server/info")
        revoke(server)
        with opened_before(server, path, time.monotonic() + 10) as other:
            assert other.latency is not None

    assert count < 300
    assert before


def test_a_greedy_tokens_tickets_leave_some_for_others(server: ServerProcess, token: str) -> None:
    with with_token(server, token) as greedy:
        codes = [greedy.post("/auth/ws-ticket").status_code for _ in range(200)]
    with client_of(server) as other:
        mine = other.post("/auth/ws-ticket").status_code

    assert (codes[0], codes[-1], mine) == (200, 429, 200)


def test_a_greedy_tokens_mcp_sessions_leave_some_for_others_and_end_with_it(
    server: ServerProcess, token: str
) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        },
    }
    headers = {"Accept": "application/json, text/event-stream"}
    with with_token(server, token) as greedy:
        answers = [greedy.post("/mcp", json=hello, headers=headers) for _ in range(260)]
        session = answers[0].headers["mcp-session-id"]
    with client_of(server) as other:
        mine = other.post("/mcp", json=hello, headers=headers).status_code
    revoke(server)
    with client_of(server) as http:
        again = new_token(http, "read")
    with with_token(server, again) as next_one:
        # As many again: those of the token that is gone are gone.
        more = [next_one.post("/mcp", json=hello, headers=headers).status_code for _ in range(250)]

    assert (answers[0].status_code, answers[-1].status_code, mine) == (200, 503, 200)
    assert session
    assert set(more) == {200}


def test_a_greedy_tokens_waiting_requests_leave_connections_for_people(
    home: Path,
) -> None:
    with running_server(home) as server, client_of(server) as http:
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        greedy = new_token(http, "read")
        host, port = address_of(server)
        body = json.dumps({"text": "never shown", "max_wait_ms": 30_000}).encode()
        wait = (
            f"POST /sessions/s/wait HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {greedy}\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body
        with ExitStack() as stack:
            for _ in range(700):
                with suppress(OSError):
                    each = stack.enter_context(sockets.create_connection((host, port), timeout=5))
                    each.sendall(wait)
            answered = [
                httpx.get(
                    f"{server.url()}/sessions",
                    headers={"Authorization": f"Bearer {server.token()}"},
                    timeout=60,
                ).status_code
                for _ in range(10)
            ]
            listed = server.command("list")

    assert answered == [200] * 10
    assert listed.returncode == 0


# --- many tiny frames ---------------------------------------------------------


def frame(payload: bytes, *, opcode: int) -> bytes:
    return struct.pack("!BB", 0x80 | opcode, 0x80 | len(payload)) + b"\0\0\0\0" + payload


@pytest.mark.parametrize(
    ("path", "payload", "opcode"),
    [
        ("/ws/view", b"{}", 1),
        ("/ws/view", b"x", 2),
        ("/ws/view", b"", 9),
        ("/ws/json", b"{}", 1),
        ("/sessions/s/ws/json", b"{}", 1),
        ("/sessions/s/ws/json", b"x", 2),
        ("/sessions/s/ws/raw", b"x", 2),
    ],
)
@pytest.mark.sampled(3)
def test_a_websocket_of_tiny_frames_holds_up_nobody(
    server: ServerProcess, token: str, path: str, payload: bytes, opcode: int
) -> None:
    host, port = address_of(server)
    upgrade = (
        f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    )
    many = frame(payload, opcode=opcode) * 50_000
    waited: list[float] = []
    over = threading.Event()

    def send(greedy: sockets.socket) -> None:
        with suppress(OSError):
            while not over.is_set():
                greedy.sendall(many)

    def drain(greedy: sockets.socket) -> None:
        with suppress(OSError):
            while not over.is_set() and greedy.recv(1 << 20):
                pass

    with sockets.create_connection((host, port), timeout=60) as greedy, client_of(server) as other:
        greedy.sendall(upgrade.encode())
        assert b" 101 " in greedy.recv(4096)
        attack = [threading.Thread(target=each, args=(greedy,)) for each in (send, drain)]
        for each in attack:
            each.start()
        try:
            deadline_s = time.monotonic() + 2
            while time.monotonic() < deadline_s:
                began_s = time.monotonic()
                assert other.get("/sessions").status_code == 200
                waited.append(time.monotonic() - began_s)
        finally:
            over.set()
            with suppress(OSError):
                greedy.shutdown(sockets.SHUT_RDWR)
            for each in attack:
                each.join()

    assert max(waited) < 1.5, "it was seconds; a loaded machine gets some room"


def test_messages_within_a_throttled_flood_are_all_answered(
    server: ServerProcess, token: str
) -> None:
    with opened(server, "/ws/json", Authorization=f"Bearer {token}") as page:
        page.recv(60)
        for number in range(3_000):
            page.send(json.dumps({"id": number, "method": "nothing"}))
        seen = {json.loads(page.recv(60))["id"] for _ in range(3_000)}

    assert seen == set(range(3_000))
