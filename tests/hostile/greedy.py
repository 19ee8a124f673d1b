"""Clients that take all they can get: `python -m tests.hostile.greedy ATTACK URL TOKEN SECONDS`.

Each is one edge, one bound and one credential; without a token it is a stranger. They stop by
themselves. What a server refuses them is what they are there for.
"""

import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PIECE = 1 << 16


@dataclass
class Target:
    url: str
    token: str
    seconds: float
    until_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.until_s = time.monotonic() + self.seconds

    @property
    def place(self) -> tuple[str, int]:
        address = urlsplit(self.url)
        assert address.hostname is not None
        return address.hostname, address.port or 80

    @property
    def is_on(self) -> bool:
        return time.monotonic() < self.until_s

    def head(self, request: str, body: bytes = b"", **headers: str) -> bytes:
        told = {"Host": urlsplit(self.url).netloc, **headers}
        if self.token:
            told["Authorization"] = f"Bearer {self.token}"
        if body:
            told |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        lines = [f"{request} HTTP/1.1", *(f"{name}: {value}" for name, value in told.items())]
        return "\r\n".join([*lines, "", ""]).encode() + body

    def connected(self) -> socket.socket:
        made = socket.create_connection(self.place, timeout=5)
        made.settimeout(1)
        return made


def idle_connections(target: Target) -> None:
    held: list[socket.socket] = []
    while target.is_on:
        try:
            held.append(target.connected())
        except OSError:
            time.sleep(0.05)
            held[:500] = []


def slow_heads(target: Target) -> None:
    held: list[socket.socket] = []
    while target.is_on:
        try:
            held.append(target.connected())
            held[-1].sendall(b"GET / HTTP/1.1\r\nHost: ")
        except OSError:
            time.sleep(0.05)
            held[:500] = []


def pipelined(target: Target) -> None:
    """Sends without reading."""
    _sent_for_ever(target, target.head("GET /health") * 500, reads=False)


def requests(target: Target) -> None:
    """Sends and reads, as fast as it goes."""
    _sent_for_ever(target, target.head("GET /sessions") * 50, reads=True)


def malformed(target: Target) -> None:
    while target.is_on:
        with suppress(OSError), target.connected() as odd:
            odd.sendall(b"GET \xff\xfe HTTP/1.1\r\n" + b"\x00" * 100)
            odd.recv(PIECE)


def screens(target: Target) -> None:
    request = target.head("GET /sessions/large/screen?format=styled")
    _sent_for_ever(target, request, reads=True)


def snapshots(target: Target) -> None:
    _sent_for_ever(target, target.head("GET /sessions/large/snapshot?format=vt"), reads=True)


def expressions(target: Target) -> None:
    patterns = ["(?:" * 24 + "a" + ")+" * 24, "(?:x?){1000}y", "(x+x+)+y", r"\pL{1,100}"]
    bodies = [json.dumps({"regex": each, "max_wait_ms": 500}).encode() for each in patterns]
    many = b"".join(target.head("POST /sessions/large/wait", body) for body in bodies)
    _sent_for_ever(target, many, reads=True)


def tickets(target: Target) -> None:
    _sent_for_ever(target, target.head("POST /auth/ws-ticket") * 50, reads=True)


def mcp_sessions(target: Target) -> None:
    params: dict[str, object] = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    accept = "application/json, text/event-stream"
    _sent_for_ever(target, target.head("POST /mcp", body.encode(), Accept=accept), reads=True)


def websockets(target: Target) -> None:
    held: list[socket.socket] = []
    while target.is_on:
        try:
            held.append(target.connected())
            held[-1].sendall(_upgrade(target, "/ws/view"))
            held[-1].recv(PIECE)
        except OSError:
            time.sleep(0.05)
            held[:100] = []


def tiny_frames(target: Target) -> None:
    frame = struct.pack("!BB", 0x81, 0x82) + bytes(4) + b"{}"
    _sent_for_ever(target, frame * 10_000, reads=True, first=_upgrade(target, "/ws/view"))


def tiny_pings(target: Target) -> None:
    frame = struct.pack("!BB", 0x89, 0x80) + bytes(4)
    _sent_for_ever(target, frame * 10_000, reads=True, first=_upgrade(target, "/ws/json"))


ATTACKS: dict[str, Callable[[Target], None]] = {
    each.__name__: each
    for each in (
        idle_connections,
        slow_heads,
        pipelined,
        malformed,
        requests,
        screens,
        snapshots,
        expressions,
        tickets,
        mcp_sessions,
        websockets,
        tiny_frames,
        tiny_pings,
    )
}
STRANGERS = ("idle_connections", "slow_heads", "pipelined", "malformed")
"""Those that need no credential."""


def _upgrade(target: Target, path: str) -> bytes:
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    headers["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    return target.head(f"GET {path}", b"", **headers)


def _sent_for_ever(target: Target, said: bytes, *, reads: bool, first: bytes = b"") -> None:
    while target.is_on:
        with suppress(OSError), target.connected() as connection:
            if first:
                connection.sendall(first)
                connection.recv(PIECE)
            over = threading.Event()
            reading = threading.Thread(target=_drain, args=(connection, over))
            if reads:
                reading.start()
            try:
                while target.is_on:
                    connection.sendall(said)
            finally:
                over.set()
                if reads:
                    reading.join()


def _drain(connection: socket.socket, over: threading.Event) -> None:
    while not over.is_set():
        try:
            if not connection.recv(PIECE):
                return
        except TimeoutError:
            continue
        except OSError:
            return


if __name__ == "__main__":
    ATTACKS[sys.argv[1]](Target(sys.argv[2], sys.argv[3], float(sys.argv[4])))
