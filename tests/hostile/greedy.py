"""Clients that take all they can get: `python -m tests.hostile.greedy NAME URL TOKEN RUNTIME SECONDS`.

Each attack is one edge and one bound, tried with each credential. It stops by itself and prints as JSON
what became of it: how often it tried, what it was given and what it was refused. So a test can see
that it did what it claims. What a server refuses is what these clients are there for.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from duetty.hub.identity import new_key

PIECE = 1 << 16
HELD = 600
"""Connections that one client keeps; then the oldest go."""

Credential = Literal["none", "read", "session", "node", "user"]
"""`user`: whoever can open the unix socket, which asks for no other."""

OF_THE_NETWORK: tuple[Credential, ...] = ("none", "read", "session", "node")


class Wire(Protocol):
    """Bytes there and back."""

    def sendall(self, data: bytes, /) -> None: ...
    def recv(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


@dataclass
class Target:
    url: str
    token: str
    runtime: str
    """The directory of the unix sockets."""

    seconds: float
    until_s: float = field(init=False)
    seen: Counter[str] = field(default_factory=Counter[str])
    """`tried`, `taken`, `refused`."""

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
        told = {"Host": urlsplit(self.url).netloc}
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            told["Authorization"] = f"Bearer {self.token}"
        if body and "Content-Length" not in told:
            told |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        lines = [f"{request} HTTP/1.1", *(f"{name}: {value}" for name, value in told.items())]
        return "\r\n".join([*lines, "", ""]).encode() + body

    def post(self, path: str, body: object, **headers: str) -> bytes:
        return self.head(f"POST {path}", json.dumps(body).encode(), **headers)

    def mcp(self, body: object, **headers: str) -> bytes:
        accept = "application/json, text/event-stream"
        return self.post("/mcp", body, Accept=accept, **headers)

    def upgrade(self, path: str) -> bytes:
        return self.head(
            f"GET {path}",
            Upgrade="websocket",
            Connection="Upgrade",
            Sec_WebSocket_Version="13",
            Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
        )

    def connected(self) -> socket.socket:
        made = socket.create_connection(self.place, timeout=5)
        made.settimeout(1)
        return made

    def judge(self, heard: bytes) -> None:
        """Count the answers of HTTP in these bytes. A wait that ended in vain (408) was one."""
        waited = heard.count(b"HTTP/1.1 408")
        self.seen["taken"] += heard.count(b"HTTP/1.1 2") + heard.count(b"HTTP/1.1 101") + waited
        self.seen["refused"] += heard.count(b"HTTP/1.1 4") + heard.count(b"HTTP/1.1 503") - waited

    def judge_lines(self, heard: bytes) -> None:
        self.seen["taken"] += heard.count(b'"result"')
        self.seen["refused"] += heard.count(b'"error"')


@dataclass(frozen=True, kw_only=True)
class Attack:
    edge: Literal["http", "websocket", "mcp", "lines", "stdio", "node"]
    bound: str
    run: Callable[[Target], None]
    admits: frozenset[Credential]
    """With these it is given something; with others it is refused everything."""

    @property
    def name(self) -> str:
        return f"{self.edge}-{self.bound}"


ATTACKS: dict[str, Attack] = {}


def attack(
    edge: Literal["http", "websocket", "mcp", "lines", "stdio", "node"],
    bound: str,
    *admits: Credential,
) -> Callable[[Callable[[Target], None]], Callable[[Target], None]]:
    def added(run: Callable[[Target], None]) -> Callable[[Target], None]:
        made = Attack(edge=edge, bound=bound, run=run, admits=frozenset(admits))
        assert made.name not in ATTACKS
        ATTACKS[made.name] = made
        return run

    return added


def cases() -> Iterator[tuple[str, Credential]]:
    """Each edge, each bound, each credential."""
    for each in ATTACKS.values():
        if each.edge in ("lines", "stdio"):
            yield each.name, "user"
        else:
            for credential in OF_THE_NETWORK:
                yield each.name, credential


# --- how they go about it -----------------------------------------------------


def held_open(target: Target, first: bytes, judge: Callable[[bytes], None] | None = None) -> None:
    """As many connections as there can be, each of which says this and stays.

    Without `judge`, a connection that takes what it says counts as taken: nothing is answered yet.
    """
    held: list[socket.socket] = []
    while target.is_on:
        target.seen["tried"] += 1
        try:
            held.append(target.connected())
            if first:
                held[-1].sendall(first)
            if judge is None:
                target.seen["taken"] += 1
            else:
                judge(held[-1].recv(PIECE))
        except OSError:
            target.seen["refused"] += 1
            time.sleep(0.02)
        if len(held) > HELD:
            held.pop(0).close()


def said_for_ever(
    target: Target,
    connect: Callable[[], Wire],
    said: bytes,
    judge: Callable[[bytes], None],
    *,
    first: bytes = b"",
    reads: bool = True,
) -> None:
    """The same again and again on one connection; on another when that is closed."""
    while target.is_on:
        target.seen["tried"] += 1
        try:
            connection = connect()
        except OSError:
            target.seen["refused"] += 1
            time.sleep(0.02)
            continue
        over = threading.Event()
        reading = threading.Thread(target=_drain, args=(connection, over, judge))
        with suppress(OSError):
            if first:
                connection.sendall(first)
                judge(connection.recv(PIECE))
        if reads:
            reading.start()
        try:
            while target.is_on:
                connection.sendall(said)
                target.seen["tried"] += 1
        except OSError:
            time.sleep(0.01)
        finally:
            over.set()
            connection.close()
            if reads:
                reading.join(5)


def _drain(connection: Wire, over: threading.Event, judge: Callable[[bytes], None]) -> None:
    while not over.is_set():
        try:
            if not (heard := connection.recv(PIECE)):
                return
            judge(heard)
        except TimeoutError:
            continue
        except (OSError, ValueError):
            return


def asked_for_ever(target: Target, said: bytes, *, reads: bool = True) -> None:
    said_for_ever(target, target.connected, said, target.judge, reads=reads)


# --- HTTP -----------------------------------------------------------------------

READING: tuple[Credential, ...] = ("read", "session")
LISTS = "[[[[[]]]]],"


def many_values(size: int = 1_000_000) -> str:
    """Text of JSON that is a million bytes of empty lists."""
    return "[" + LISTS * (size // len(LISTS)) + "1]"


@attack("http", "idle connections", *OF_THE_NETWORK)
def _idle(target: Target) -> None:
    held_open(target, b"")


@attack("http", "slow heads", *OF_THE_NETWORK)
def _slow_heads(target: Target) -> None:
    held_open(target, b"GET / HTTP/1.1\r\nHost: ")


@attack("http", "pipelined", *OF_THE_NETWORK)
def _pipelined(target: Target) -> None:
    """Sends without reading, so that what it is given is not counted."""
    target.seen["taken"] += 1
    asked_for_ever(target, target.head("GET /health") * 500, reads=False)


@attack("http", "malformed")
def _malformed(target: Target) -> None:
    while target.is_on:
        target.seen["tried"] += 1
        with suppress(OSError), target.connected() as odd:
            odd.sendall(b"GET \xff\xfe HTTP/1.1\r\n" + b"\x00" * 100)
            target.judge(odd.recv(PIECE))


@attack("http", "requests", *READING)
def _requests(target: Target) -> None:
    asked_for_ever(target, target.head("GET /sessions/large") * 50)


@attack("http", "screens", *READING)
def _screens(target: Target) -> None:
    asked_for_ever(target, target.head("GET /sessions/large/screen?format=styled"))


@attack("http", "snapshots", *READING)
def _snapshots(target: Target) -> None:
    asked_for_ever(target, target.head("GET /sessions/large/snapshot?format=vt"))


@attack("http", "expressions", *READING)
def _expressions(target: Target) -> None:
    patterns = ["(?:" * 24 + "a" + ")+" * 24, "(?:x?){1000}y", "(x+x+)+y", r"\pL{1,100}"]
    bodies: list[object] = [{"regex": each, "max_wait_ms": 20} for each in patterns]
    asked_for_ever(target, b"".join(target.post("/sessions/large/wait", body) for body in bodies))


@attack("http", "tickets", *READING, "node")  # any credential may have its share
def _tickets(target: Target) -> None:
    asked_for_ever(target, target.head("POST /auth/ws-ticket") * 50)


@attack("http", "waits", *OF_THE_NETWORK)
def _waits(target: Target) -> None:
    never = {"text": "never shown", "max_wait_ms": 30_000}
    held_open(target, target.post("/sessions/large/wait", never))


@attack("http", "uploads", *OF_THE_NETWORK)
def _uploads(target: Target) -> None:
    body = b" " * 1_000_000
    head = target.head("POST /sessions/large/wait", Content_Length=str(len(body) + 1))
    held_open(target, head + body)


@attack("http", "values")
def _values(target: Target) -> None:
    body = b'{"text": ' + many_values().encode() + b"}"
    asked_for_ever(target, target.head("POST /sessions/large/wait", body))


@attack("http", "event streams", *READING)
def _event_streams(target: Target) -> None:
    held_open(target, target.head("GET /sessions/large/events"), target.judge)


# --- WebSocket --------------------------------------------------------------------


def frame(payload: bytes, opcode: int = 1) -> bytes:
    size = len(payload)
    head = struct.pack("!B", 0x80 | opcode)
    if size < 126:
        head += struct.pack("!B", 0x80 | size)
    elif size < 65536:
        head += struct.pack("!BH", 0x80 | 126, size)
    else:
        head += struct.pack("!BQ", 0x80 | 127, size)
    return head + bytes(4) + payload


def framed_for_ever(target: Target, path: str, said: bytes) -> None:
    said_for_ever(target, target.connected, said, target.judge, first=target.upgrade(path))


@attack("websocket", "sockets", *READING, "node")
def _sockets(target: Target) -> None:
    held_open(target, target.upgrade("/ws/view"), target.judge)


@attack("websocket", "viewers", *READING, "node")
def _viewers(target: Target) -> None:
    """Each of them is sent a large screen and never says that it took it."""
    opened = frame(json.dumps({"type": "open", "stream": 1, "session": "large"}).encode())
    held_open(target, target.upgrade("/ws/view") + opened, target.judge)


@attack("websocket", "tiny frames", *READING, "node")
def _tiny_frames(target: Target) -> None:
    framed_for_ever(target, "/ws/view", frame(b"{}") * 10_000)


@attack("websocket", "tiny pings", *READING, "node")
def _tiny_pings(target: Target) -> None:
    framed_for_ever(target, "/ws/json", frame(b"", 9) * 10_000)


@attack("websocket", "waits", *READING, "node")
def _websocket_waits(target: Target) -> None:
    params = {"session": "large", "text": "never shown", "max_wait_ms": 30_000}
    asked = frame(json.dumps({"id": 1, "method": "session.wait", "params": params}).encode())
    framed_for_ever(target, "/ws/json", asked * 100)


@attack("websocket", "uploads", *READING, "node")
def _websocket_uploads(target: Target) -> None:
    begun = struct.pack("!BBQ", 0x81, 0xFF, 1_000_001) + bytes(4) + b" " * 1_000_000
    held_open(target, target.upgrade("/ws/json") + begun, target.judge)


@attack("websocket", "values", *READING, "node")
def _websocket_values(target: Target) -> None:
    framed_for_ever(
        target, "/ws/json", frame(b'{"id": 1, "params": ' + many_values().encode() + b"}")
    )


# --- MCP --------------------------------------------------------------------------

HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-03-26",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}
READY: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def rpc(method: str, params: object = None, id_: int = 2) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}


def tool(name: str, **arguments: object) -> dict[str, Any]:
    return rpc("tools/call", {"name": name, "arguments": arguments})


SUBSCRIBED = rpc("resources/subscribe", {"uri": "wsh://sessions/large/screen"})
WAITS = tool("wsh_await_quiesce", session="large", until="never shown", max_wait_ms=30_000)


@contextmanager
def mcp_session(target: Target) -> Generator[dict[str, str]]:
    """The header of one; none where there is none to be had."""
    found = ""
    with suppress(OSError), target.connected() as opening:
        opening.sendall(target.mcp(HELLO))
        heard = opening.recv(PIECE)
        target.judge(heard)
        for line in heard.split(b"\r\n"):
            if line.lower().startswith(b"mcp-session-id: "):
                found = line.split(b": ", 1)[1].decode()
        opening.sendall(target.mcp(READY, Mcp_Session_Id=found))
        opening.recv(PIECE)
    yield {"Mcp_Session_Id": found} if found else {}


@attack("mcp", "sessions", *READING, "node")
def _mcp_sessions(target: Target) -> None:
    asked_for_ever(target, target.mcp(HELLO))


@attack("mcp", "listings", *READING, "node")
def _mcp_listings(target: Target) -> None:
    with mcp_session(target) as header:
        asked_for_ever(target, target.mcp(rpc("tools/list"), **header) * 20)


@attack("mcp", "subscriptions", *READING, "node")
def _mcp_subscriptions(target: Target) -> None:
    while target.is_on:
        with mcp_session(target) as header, suppress(OSError), target.connected() as asking:
            for _ in range(20):
                target.seen["tried"] += 1
                asking.sendall(target.mcp(SUBSCRIBED, **header))
                target.judge(asking.recv(PIECE))


@attack("mcp", "waits", *OF_THE_NETWORK)
def _mcp_waits(target: Target) -> None:
    with mcp_session(target) as header:
        held_open(target, target.mcp(WAITS, **header))


@attack("mcp", "batches", *READING, "node")
def _mcp_batches(target: Target) -> None:
    with mcp_session(target) as header:
        batch = [rpc("tools/list", id_=number) for number in range(100)]
        asked_for_ever(target, target.mcp(batch, **header))


@attack("mcp", "uploads", *OF_THE_NETWORK)
def _mcp_uploads(target: Target) -> None:
    body = b" " * 1_000_000
    accept = "application/json, text/event-stream"
    head = target.head(
        "POST /mcp", Accept=accept, Content_Type="application/json", Content_Length="1000001"
    )
    held_open(target, head + body)


@attack("mcp", "values", *READING, "node")
def _mcp_values(target: Target) -> None:
    accept = "application/json, text/event-stream"
    with mcp_session(target) as header:
        for size in (1_000_000, 4_000_000):
            body = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"a":'
            body += many_values(size).encode() + b"}}"
            said = target.head("POST /mcp", body, Accept=accept, **header)
            half = Target(target.url, target.token, target.runtime, target.seconds / 2)
            asked_for_ever(half, said)
            target.seen += half.seen


# --- MCP over the unix socket, and over standard streams --------------------------


class Bridge:
    """`duetty mcp`, as a host starts it."""

    def __init__(self, home: str) -> None:
        env = {**os.environ, "DUETTY_HOME": home}
        command = [sys.executable, "-m", "duetty", "mcp"]
        self._process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, bufsize=0,
        )  # fmt: skip

    def sendall(self, data: bytes, /) -> None:
        assert self._process.stdin is not None
        left = memoryview(data)
        while left:
            left = left[self._process.stdin.write(left) :]

    def recv(self, size: int, /) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.read(size) or b""

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def unix(target: Target) -> Wire:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(1)
    made.connect(str(Path(target.runtime) / "mcp.sock"))
    return made


def bridge(target: Target) -> Wire:
    return Bridge(os.environ["DUETTY_HOME"])


def line(*messages: object) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in messages)


def lines_for_ever(
    target: Target, said: bytes, way: Callable[[Target], Wire] = unix, *, reads: bool = True
) -> None:
    said_for_ever(
        target,
        partial(way, target),
        said,
        target.judge_lines,
        first=line(HELLO, READY),
        reads=reads,
    )


@attack("lines", "connections", "user")
def _line_connections(target: Target) -> None:
    held: list[Wire] = []
    while target.is_on:
        target.seen["tried"] += 1
        try:
            held.append(unix(target))
            held[-1].sendall(line(HELLO))
            target.judge_lines(held[-1].recv(PIECE))
        except OSError:
            target.seen["refused"] += 1
            time.sleep(0.02)
        if len(held) > HELD:
            held.pop(0).close()


@attack("lines", "listings", "user")
def _line_listings(target: Target) -> None:
    lines_for_ever(target, line(rpc("tools/list")) * 200)


@attack("lines", "plain calls", "user")
def _line_calls(target: Target) -> None:
    lines_for_ever(target, line(tool("wsh_get_screen", session="large")) * 200)


@attack("lines", "unread answers", "user")
def _line_unread(target: Target) -> None:
    lines_for_ever(target, line(tool("wsh_get_screen", session="large")) * 200, reads=False)


@attack("lines", "no messages", "user")
def _line_garbage(target: Target) -> None:
    lines_for_ever(target, b"[]\n" * 10_000)


@attack("lines", "waits", "user")
def _line_waits(target: Target) -> None:
    lines_for_ever(target, line(WAITS) * 100)


@attack("lines", "subscriptions", "user")
def _line_subscriptions(target: Target) -> None:
    lines_for_ever(target, line(SUBSCRIBED) * 100)


@attack("lines", "uploads", "user")
def _line_uploads(target: Target) -> None:
    """Lines that do not end, on many connections."""
    held: list[Wire] = []
    while target.is_on:
        target.seen["tried"] += 1
        try:
            held.append(unix(target))
            held[-1].sendall(line(HELLO))
            target.judge_lines(held[-1].recv(PIECE))
            for _ in range(15):
                held[-1].sendall(b" " * 1_000_000)
        except OSError:
            target.seen["refused"] += 1
            time.sleep(0.02)


@attack("lines", "values", "user")
def _line_values(target: Target) -> None:
    head = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"a":'
    lines_for_ever(target, head + many_values(15_000_000).encode() + b"}}\n")


@attack("stdio", "listings", "user")
def _bridge_listings(target: Target) -> None:
    lines_for_ever(target, line(rpc("tools/list")) * 200, bridge)


@attack("stdio", "values", "user")
def _bridge_values(target: Target) -> None:
    head = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"a":'
    lines_for_ever(target, head + many_values(15_000_000).encode() + b"}}\n", bridge)


# --- the hub's doors --------------------------------------------------------------


def joined(target: Target) -> socket.socket:
    """A machine that the hub took; or what a refused one has left."""
    made = target.connected()
    made.sendall(target.upgrade("/ws/node"))
    heard = made.recv(PIECE)
    target.judge(heard)
    if b" 101 " not in heard:
        return made
    told = heard.partition(b"\r\n\r\n")[2] or made.recv(PIECE)
    challenge = json.loads(told[told.index(b"{") :])["challenge"]
    key = new_key()
    hello = {
        "node": key.public,
        "signature": key.sign(challenge),
        "protocols": [1],
        "hostname": "x",
        "sessions": [],
    }
    made.sendall(frame(json.dumps(hello).encode()))
    target.seen["joined"] += b"welcome" in made.recv(PIECE)
    return made


def noise(target: Target, said: bytes) -> None:
    """What a machine says that has joined."""
    said_for_ever(target, partial(joined, target), said, lambda _heard: None)


@attack("node", "sockets", "node")
def _node_sockets(target: Target) -> None:
    held_open(target, target.upgrade("/ws/node"), target.judge)


@attack("node", "frames", "node")
def _node_frames(target: Target) -> None:
    """Credit for streams that nobody opened."""
    noise(target, frame(struct.pack("!BBII", 7, 0, 12345, 1), 2) * 5_000)


@attack("node", "lists", "node")
def _node_lists(target: Target) -> None:
    """Sessions that it says it has, thousands of them, again and again."""
    sessions = [[f"s{number}", f"name{number}"] for number in range(10_000)]
    noise(target, frame(json.dumps({"sessions": sessions}).encode()) * 5)


@attack("node", "values", "node")
def _node_values(target: Target) -> None:
    noise(target, frame(b'{"sessions": ' + many_values().encode() + b"}"))


@attack("node", "rooms", "node")
def _rooms(target: Target) -> None:
    tools = [
        {"name": f"t{number}", "description": "x", "inputSchema": {"type": "object"}}
        for number in range(50)
    ]
    said = {"type": "announce", "protocol": 1, "tools": tools, "title": "x"}
    held_open(target, target.upgrade("/ws/room") + frame(json.dumps(said).encode()), target.judge)


@attack("node", "messages of a room", "node")
def _room_messages(target: Target) -> None:
    said: dict[str, Any] = {"type": "announce", "protocol": 1, "tools": [], "title": "x"}
    first = target.upgrade("/ws/room") + frame(json.dumps(said).encode())
    said_for_ever(
        target, target.connected, frame(b'{"type":"x"}') * 5_000, target.judge, first=first
    )


if __name__ == "__main__":
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    aimed = Target(sys.argv[2], sys.argv[3], sys.argv[4], float(sys.argv[5]))
    ATTACKS[sys.argv[1]].run(aimed)
    sys.stdout.write(json.dumps(aimed.seen))
    sys.stdout.flush()
    os._exit(0)  # whatever thread is still reading
