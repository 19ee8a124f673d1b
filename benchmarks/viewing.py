"""What it costs to look: echo through the WebSocket, floods before slow viewers, many viewers, screens."""

import base64
import json
import os
import pty
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import anyio.to_thread

from benchmarks.files import plain_log
from benchmarks.measure import Effort, median, memory_of, percentile, temporary_home
from benchmarks.report import Line, Table, mb, mb_s, ms
from duetty.vt import Terminal
from tests.server_process import ServerProcess, running_server
from tests.signed_in import PageKey, cookie_of

HEAD = struct.Struct(">BIQ")
OUTPUT, SNAPSHOT, INPUT = 1, 2, 3

KEYS = 400
KEY_PAUSE_S = 0.005
FLOOD_BYTES = 100_000_000
VIEWERS = 64
SCREENS_S = 4.0

ADDED_MEDIAN_S, ADDED_P99_S = 0.002, 0.010
MEMORY_BYTES = 64 << 20
SPEED_RATIO = 0.5
SCREENS_PER_S = 1_000


async def run(effort: Effort) -> list[Table]:
    """Everything is a thread's work: the clients block, as little as they do."""
    return await anyio.to_thread.run_sync(_run, effort)


def _run(effort: Effort) -> list[Table]:
    with temporary_home() as home, running_server(home) as server:
        lines = [
            *_echo(effort, server),
            *_flood(effort, server, home),
            *_many(effort, server),
            _screens(effort, server),
        ]
    return [
        Table(
            name="viewing",
            title="Viewers",
            lines=lines,
            notes=[
                "A real server in a process of its own; viewers speak `/ws/view` over TCP with blocking sockets.",
                "Echo: one character typed to `cat` by a person signed in as at the page, until it comes back; beside it the same on a bare PTY, in "
                "turns. “Added” is the difference of the two figures.",
                "Slow viewer: reads one message every 20 ms and acknowledges it; memory is the server's own pages "
                "at their most, above those before; speed is the program's, beside the same without a viewer.",
                "Screens: `GET /sessions/{name}/screen` on two kept connections, one after the other on each.",
            ],
        )
    ]


# --- a small WebSocket client -------------------------------------------------


class View:
    """One viewer with a blocking socket; what it is told in JSON is skipped."""

    def __init__(self, server: ServerProcess, session: str, *, is_person: bool = False) -> None:
        """`is_person`: signed in, as the page is."""
        key_of_page = PageKey() if is_person else None
        credential = f"Authorization: Bearer {server.token()}"
        if is_person:
            credential = f"Cookie: {cookie_of(server)}"
        address = urlsplit(server.url())
        assert address.hostname is not None
        self._socket = socket.create_connection((address.hostname, address.port or 80), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET /ws/view HTTP/1.1\r\nHost: {address.netloc}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
            f"Origin: http://{address.netloc}\r\n{credential}\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self._read:
            self._fill()
        head, _, self._read = self._read.partition(b"\r\n\r\n")
        if b" 101 " not in head:
            raise RuntimeError(f"no upgrade: {head[:200]!r}")
        self.offset = 0
        _, hello = self._message()
        if key_of_page is not None:
            self._send(1, key_of_page.answer(hello).encode())
            self._message()
        self.say("open", session=session)
        while self.take()[0] != SNAPSHOT:
            pass
        self.acknowledge()

    def close(self) -> None:
        self._socket.close()

    def _fill(self) -> None:
        received = self._socket.recv(1 << 20)
        if not received:
            raise RuntimeError("the server closed the connection")
        self._read += received

    def _exactly(self, size: int) -> bytes:
        while len(self._read) < size:
            self._fill()
        taken, self._read = self._read[:size], self._read[size:]
        return taken

    def _message(self) -> tuple[int, bytes]:
        first, length = self._exactly(2)
        if length == 126:
            (length,) = struct.unpack(">H", self._exactly(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self._exactly(8))
        return first & 15, self._exactly(length)

    def _send(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        length = bytes((0x80 | size,)) if size < 126 else b"\xfe" + struct.pack(">H", size)
        # A mask of zeros is a mask too, and costs nothing.
        self._socket.sendall(bytes((0x80 | opcode,)) + length + bytes(4) + payload)

    def say(self, type_: str, **fields: object) -> None:
        self._send(1, json.dumps({"type": type_, "stream": 1, **fields}).encode())

    def type(self, data: bytes) -> None:
        self._send(2, HEAD.pack(INPUT, 1, 0) + data)

    def acknowledge(self) -> None:
        self.say("ack", offset=self.offset)

    def take(self) -> tuple[int, bytes]:
        """The next output or snapshot."""
        while True:
            opcode, payload = self._message()
            if opcode == 9:
                self._send(10, payload)
            elif opcode == 2:
                kind, _, offset = HEAD.unpack_from(payload)
                data = payload[HEAD.size :]
                self.offset = offset if kind == SNAPSHOT else offset + len(data)
                return kind, data

    def until(self, wanted: bytes) -> None:
        seen = b""
        while wanted not in seen:
            seen += self.take()[1]
            self.acknowledge()


# --- echo ---------------------------------------------------------------------


@contextmanager
def _bare_cat() -> Generator[Callable[[bytes], float]]:
    """`cat` on a bare PTY: types a character, gives the seconds until its echo."""
    pid, master = pty.fork()
    if pid == 0:
        os.execvp("cat", ["cat"])

    def echo(key: bytes) -> float:
        started_s = time.perf_counter()
        os.write(master, key)
        seen = b""
        while key not in seen:
            select.select([master], [], [], 5)
            seen += os.read(master, 4096)
        return time.perf_counter() - started_s

    try:
        yield echo
    finally:
        os.kill(pid, signal.SIGKILL)
        os.close(master)
        os.waitpid(pid, 0)


def _echo(effort: Effort, server: ServerProcess) -> list[Line]:
    server.client.post("/sessions", {"name": "echo", "command": "cat"})
    server.client.post("/sessions/echo/wait", {"state": ["awaiting_input"]})
    person = View(server, "echo", is_person=True)
    lines: list[Line] = []
    with _bare_cat() as bare:
        effort.say("echo")
        lines += _echo_lines(effort, "echo", person, bare)
        server.client.post("/sessions", {"name": "flood", "command": "yes"})
        time.sleep(1)
        effort.say("echo beside a flood")
        lines += _echo_lines(effort, "echo while another session floods", person, bare)
        person.close()
        agent = View(server, "echo")
        lines += _echo_lines(effort, "the same for an agent, each key judged", agent, bare)
        agent.close()
    for name in ("flood", "echo"):
        server.client.delete(f"/sessions/{name}?signal=KILL")
    return lines


def _echo_lines(
    effort: Effort, what: str, view: View, bare: Callable[[bytes], float]
) -> list[Line]:
    ours: list[float] = []
    beside: list[float] = []
    keys = effort.times(KEYS, quick=60)
    for number in range(keys + 20):
        key = b"abcdefghij"[number % 10 : number % 10 + 1]
        time.sleep(KEY_PAUSE_S)
        bare_s = bare(key)
        started_s = time.perf_counter()
        view.type(key)
        view.until(key)
        taken_s = time.perf_counter() - started_s
        if number >= 20:
            ours.append(taken_s)
            beside.append(bare_s)
        if number % 60 == 59:  # a line of the terminal is not for ever
            view.type(b"\r")
            view.until(b"\n")
            bare(b"\n")
    return [
        _added(f"{what}, median added", median(ours), median(beside), ADDED_MEDIAN_S),
        _added(
            f"{what}, 99 of 100 added", percentile(ours, 99), percentile(beside, 99), ADDED_P99_S
        ),
    ]


def _added(what: str, ours_s: float, bare_s: float, most_s: float) -> Line:
    added_s = ours_s - bare_s
    return Line(
        what=what,
        measured=ms(added_s),
        beside=f"{ms(bare_s)} bare",
        target=f"≤ {ms(most_s)}",
        met=added_s <= most_s,
    )


# --- a flood before a slow viewer ---------------------------------------------


def _flood(effort: Effort, server: ServerProcess, home: Path) -> list[Line]:
    size = effort.times(FLOOD_BYTES, quick=20_000_000)
    file = plain_log(home / "plain.log", size_bytes=size)
    server.client.post("/sessions", {"name": "big", "command": "bash"})
    server.client.post("/sessions/big/wait", {"state": ["prompt"]})
    _printed(server, file)  # warms up, and fills the journal's first segments
    alone: list[float] = []
    watched: list[float] = []
    most = 0
    equal = True
    before = _own_bytes(server)
    for _ in range(effort.times(3, quick=1)):
        effort.say("a flood nobody looks at")
        alone.append(_printed(server, file))
        effort.say("a flood before a slow viewer")
        slow = _SlowViewer(server)
        watched.append(_printed(server, file, meanwhile=slow.look))
        most = max(most, slow.most_bytes)
        equal = slow.ends_up_right() and equal
    server.client.delete("/sessions/big?signal=KILL")
    with_viewer, without = size / median(watched), size / median(alone)
    return [
        Line(
            what=f"{size / 1e6:.0f} MB before a slow viewer: memory above idle",
            measured=mb(most - before),
            target=f"≤ {mb(MEMORY_BYTES)}",
            met=most - before <= MEMORY_BYTES,
        ),
        Line(
            what="… speed of the program",
            measured=mb_s(with_viewer),
            beside=f"{mb_s(without)} without a viewer",
            ratio=with_viewer / without,
            target=f"ratio ≥ {SPEED_RATIO}",
            met=with_viewer / without >= SPEED_RATIO,
        ),
        Line(
            what="… the viewer's screen after catching up",
            measured="the session's" if equal else "another",
            target="the session's",
            met=equal,
        ),
    ]


def _own_bytes(server: ServerProcess) -> int:
    assert server.process is not None
    return memory_of(server.process.pid, Path("/nowhere")).own


def _printed(
    server: ServerProcess, file: Path, *, meanwhile: Callable[[], None] | None = None
) -> float:
    """Seconds that the program took, by the shell's own count."""
    done = threading.Event()

    def run() -> None:
        server.client.post(
            "/sessions/big/run",
            {"input": f"cat {file}", "max_wait_ms": 120_000, "screen": False},
            wait_s=130,
        )
        done.set()

    started_s = time.perf_counter()
    running = threading.Thread(target=run)
    running.start()
    while meanwhile is not None and not done.is_set():
        meanwhile()
    running.join()
    return time.perf_counter() - started_s


class _SlowViewer:
    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._view = View(server, "big")
        self._terminal = Terminal(cols=80, rows=24)
        self.most_bytes = 0

    def look(self) -> None:
        self.most_bytes = max(self.most_bytes, _own_bytes(self._server))
        self._take()
        time.sleep(0.02)

    def _take(self) -> None:
        kind, data = self._view.take()
        self._terminal.feed(b"\x1bc" + data if kind == SNAPSHOT else data)
        self._view.acknowledge()

    def ends_up_right(self) -> bool:
        """Whether, within ten seconds, its screen is the session's."""
        deadline_s = time.monotonic() + 10
        self._view.type(b"\r")  # so that something comes
        while time.monotonic() < deadline_s:
            self._take()
            shown = self._server.client.get("/sessions/big/screen?format=plain")
            if list(self._terminal.screen(styled=False).text_lines) == shown["lines"]:
                self._view.close()
                return True
        return False


# --- many viewers, many screens -----------------------------------------------


def _many(effort: Effort, server: ServerProcess) -> list[Line]:
    effort.say(f"{VIEWERS} viewers")
    server.client.post("/sessions", {"name": "many", "command": "cat"})
    server.client.post("/sessions/many/wait", {"state": ["awaiting_input"]})
    taken: list[float] = []
    with ExitStack() as stack:
        before = _own_bytes(server)
        views = [View(server, "many") for _ in range(VIEWERS)]
        for view in views:
            stack.callback(view.close)
        each = (_own_bytes(server) - before) / VIEWERS
        for number in range(effort.times(100, quick=10)):
            key = b"abcdefghij"[number % 10 : number % 10 + 1]
            started_s = time.perf_counter()
            views[0].type(key)
            for view in views:
                view.until(key)
            taken.append(time.perf_counter() - started_s)
            time.sleep(KEY_PAUSE_S)
    server.client.delete("/sessions/many?signal=KILL")
    return [
        Line(
            what=f"{VIEWERS} viewers of one session: a key until the last has its echo, median",
            measured=ms(median(taken)),
            beside=f"{ms(percentile(taken, 95))} 95 of 100",
        ),
        Line(what="… memory of each", measured=f"{each / 1024:.0f} KB"),
    ]


def _screens(effort: Effort, server: ServerProcess) -> Line:
    effort.say("screens")
    server.client.post("/sessions", {"name": "screens", "command": "bash"})
    server.client.post(
        "/sessions/screens/run", {"input": "ls -l --color=always /usr/bin | head -100"}
    )
    address = urlsplit(server.url())
    request = (
        f"GET /sessions/screens/screen HTTP/1.1\r\nHost: {address.netloc}\r\n"
        f"Authorization: Bearer {server.token()}\r\n\r\n"
    ).encode()
    seconds = SCREENS_S if not effort.quick else 1.0
    counts = [0, 0]

    def ask(place: int) -> None:
        assert address.hostname is not None
        with socket.create_connection((address.hostname, address.port or 80), 30) as connection:
            until_s = time.perf_counter() + seconds
            while time.perf_counter() < until_s:
                connection.sendall(request)
                _read_answer(connection)
                counts[place] += 1

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(counts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = sum(counts) / seconds
    return Line(
        what="`GET screen`, styled, 80 by 24",
        measured=f"{rate:.0f} a second",
        target=f"≥ {SCREENS_PER_S} a second",
        met=rate >= SCREENS_PER_S,
    )


def _read_answer(connection: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65_536)
    head, _, body = received.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"no screen: {head[:100]!r}")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65_536)
