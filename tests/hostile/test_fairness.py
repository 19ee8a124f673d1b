"""A greedy credential is slowed down, then refused and its connection closed with a reason; what it sends takes bounded memory."""

import json
import select
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from websockets.sync.client import connect

from duetty.edges.mcp.line_reader import TOO_GREEDY
from tests.edges.http.asking import address_of, client_of
from tests.faults.server_facts import MIB, resident_bytes
from tests.hostile.greedy import HELLO, READY, line, rpc
from tests.server_process import ServerProcess, running_server

pytestmark = pytest.mark.pty

BODY_BYTES = 1000 * 1024


@pytest.fixture(scope="module")
def strict() -> Iterator[ServerProcess]:
    """A server on which one credential has next to nothing of the loop beside others."""
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home:
        server = ServerProcess(Path(home))
        fairness, socket = "duetty.ops.fairness", "duetty.edges.http.websocket.socket"
        change = f"import {fairness}, {socket}; {fairness}.LOOP_SHARE = 0.0000001; "
        change += f"{fairness}.LOOP_AT_ONCE_S = 0.001; {socket}.GREEDY_S = 0.1; "
        change += "import duetty.edges.mcp.line_reader as lines; lines.GREEDY_S = 0.1; "
        change += "lines.LOOP_SHARE = 0.0001; lines.LOOP_AT_ONCE_S = 0.0"
        server.start(change=change)
        yield server
        server.end()


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        yield server


def reading(server: ServerProcess) -> str:
    """A token that reads, by the unix socket: the person there waits for nobody."""
    return server.client.post("/tokens", {"name": "greedy", "scopes": ["read"]})["token"]


def answered(many: list[socket.socket], enough: int) -> dict[socket.socket, bytes]:
    """What came back on those that were answered or closed, when there are enough of them."""
    heard: dict[socket.socket, bytes] = {}
    deadline_s = time.monotonic() + 30
    while len(heard) < enough and time.monotonic() < deadline_s:
        for each in select.select([each for each in many if each not in heard], [], [], 1)[0]:
            try:
                said = each.recv(65536)
            except OSError:
                said = b""
            if not said or b"HTTP/1.1 4" in said:
                heard[each] = said
    return heard


def test_a_greedy_credential_is_refused_beside_others_and_its_connection_closed(
    strict: ServerProcess,
) -> None:
    greedy = reading(strict)
    host, port = address_of(strict)
    request = (
        f"GET /sessions HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {greedy}\r\n\r\n"
    )
    with ExitStack() as stack:
        many: list[socket.socket] = []
        for _ in range(20):
            strict.client.get("/sessions")  # somebody else who is there
            many.append(stack.enter_context(socket.create_connection((host, port), timeout=30)))
            many[-1].sendall(request.encode())
        said = next(iter(answered(many, 1).values()))

    assert b"429 Too Many Requests" in said
    assert b'"code":"rate_limited"' in said
    assert b"retry-after: " in said.lower()
    assert b"connection: close" in said.lower()
    assert strict.client.get("/sessions") == []


def test_a_greedy_websocket_is_closed_with_the_reason(strict: ServerProcess) -> None:
    greedy = reading(strict)
    url = f"{strict.url().replace('http', 'ws', 1)}/ws/json"
    headers = {"Authorization": f"Bearer {greedy}"}
    with connect(url, additional_headers=headers, max_queue=None) as websocket:
        for number in range(100):
            websocket.send(json.dumps({"id": number, "method": "list_sessions"}))
        deadline_s = time.monotonic() + 30
        while websocket.close_code is None and time.monotonic() < deadline_s:
            strict.client.get("/sessions")  # somebody else who is there

    assert (websocket.close_code, websocket.close_reason) == (1008, "more than its share")


def test_a_greedy_line_of_mcp_is_closed_with_the_reason(strict: ServerProcess) -> None:
    heard = b""
    with socket.socket(socket.AF_UNIX) as host:
        host.settimeout(0.05)
        host.connect(str(strict.paths.mcp_socket))
        host.sendall(line(HELLO, READY) + line(rpc("ping")) * 300)
        deadline_s = time.monotonic() + 30
        is_open = True
        while is_open and time.monotonic() < deadline_s:
            strict.client.get("/sessions")  # somebody else who is there
            with suppress(TimeoutError):
                part = host.recv(1 << 20)
                heard += part
                is_open = bool(part)

    assert not is_open
    assert json.loads(heard.splitlines()[-1])["error"]["message"] == TOO_GREEDY
    assert strict.client.get("/sessions") == []


def test_bodies_that_never_end_take_no_more_than_their_credentials_share(
    server: ServerProcess,
) -> None:
    host, port = address_of(server)
    greedy = reading(server)
    head = (
        f"POST /sessions/s/wait HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {greedy}\r\nContent-Length: {BODY_BYTES + 1}\r\n\r\n"
    ).encode()
    before = resident_bytes(server)
    with ExitStack() as stack:
        many: list[socket.socket] = []
        for _ in range(24):
            many.append(stack.enter_context(socket.create_connection((host, port), timeout=30)))
            with suppress(OSError):
                many[-1].sendall(head + b" " * BODY_BYTES)
        heard = answered(many, 7)
        grown = resident_bytes(server) - before
        with client_of(server) as other:
            body = {"text": "x" * 500_000, "max_wait_ms": 1}
            of_another = other.post("/sessions/s/wait", json=body).status_code

    assert len(heard) >= 7
    assert all(b" 429 " in said for said in heard.values())
    assert grown < 64 * MIB
    assert of_another != 429


@pytest.mark.parametrize("is_fragmented", [False, True])
def test_messages_that_never_end_take_no_more_than_their_credentials_share(
    server: ServerProcess, is_fragmented: bool
) -> None:
    host, port = address_of(server)
    greedy = reading(server)
    upgrade = (
        f"GET /ws/json HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        f"Authorization: Bearer {greedy}\r\n\r\n"
    )
    if is_fragmented:
        part = struct.pack("!BB", 0x00, 0x82) + bytes(4) + b"xx"
        message = struct.pack("!BB", 0x01, 0x82) + bytes(4) + b"xx" + part * 30_000
    else:
        message = struct.pack("!BBQ", 0x81, 0xFF, BODY_BYTES + 1) + bytes(4) + b" " * BODY_BYTES
    before = resident_bytes(server)
    with ExitStack() as stack:
        many: list[socket.socket] = []
        for _ in range(24):
            each = stack.enter_context(socket.create_connection((host, port), timeout=30))
            each.sendall(upgrade.encode())
            assert b" 101 " in each.recv(4096)
            with suppress(OSError):
                each.sendall(message)
            many.append(each)
        gone = answered(many, 7)
        grown = resident_bytes(server) - before

    assert len(gone) >= 7
    assert grown < 64 * MIB
