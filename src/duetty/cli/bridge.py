"""The stdio bridge: a pump between an MCP host's pipes and the server's socket.

It knows lines, ids and which requests wait for an answer, and nothing of what MCP
means, so it imports neither the SDK nor the server and stays small. When the
server goes and another comes, the bridge says the handshake and the subscriptions
again and the host does not notice; a tool call that was on its way is answered with an error, since
sending it again could run a command twice. While a server starts, the first questions of a
host are answered from a file (`first_answers.py`), and what else it says is held until the server is there.
"""

import json
import os
import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from duetty.cli.rpc import BATCHING, Batch, Lines, MessageFacts, error_line, look_at, parts_of
from duetty.cli.server_start import SPAWN_S, SpawnedServer
from duetty.errors import BadSetting, DuettyError

CHUNK_BYTES = 256 * 1024
MAX_LINE_BYTES = 16 * 1024 * 1024 - 1
"""What the server takes as one message; a longer one is refused here."""

RETURN_S = 5.0
"""How long a server that is being replaced gets to come back before the bridge starts one."""

RETRY_S = 0.02
ANSWER_S = 60.0
"""For a server to take the connection and to answer the handshake; it loads the SDK first."""

LAST_ANSWERS_S = 1.0
"""For answers that are on their way when the host closes its end; hosts wait two seconds."""

MAX_SUBSCRIBED = 100
"""What a server takes from one connection."""

CutOff = Callable[[bytes, str], bytes | None]
"""The whole answer to a tool call that no server answers any more; None, if an error says it all."""

FirstAnswer = Callable[[bytes], bytes | None]
"""The whole answer to a message of a host that has no server yet; None, if only that can give it."""

ENDED = "the server ended during this call; what it had started may go on"
HELLO = "duetty/hello"
NO_MESSAGE = "Invalid request: not a JSON-RPC message"
INTERNAL_ERROR, INVALID_REQUEST = -32603, -32600


class Bridge:
    """One host and, over time, one or more servers."""

    def __init__(
        self,
        socket_path: Path,
        *,
        start_server: Callable[[], SpawnedServer],
        stdin: int,
        stdout: int,
        dialect: str | None = None,
        sandbox: str | None = None,
        workspaces: Sequence[str] = (),
        first_answer: FirstAnswer = lambda line: None,
        cut_off: CutOff = lambda line, message: None,
    ) -> None:
        self._path = str(socket_path)
        self._start_server = start_server
        self._stdin = stdin
        self._stdout = stdout
        self._about = {"cwd": _cwd(), "dialect": dialect, "connection": os.urandom(8).hex()}
        if sandbox is not None:
            self._about |= {"sandbox": sandbox, "workspaces": list(workspaces)}
        self._first_answer = first_answer
        self._cut_off = cut_off
        self._has_host = True
        self._server: socket.socket | None = None
        self._poll: select.poll | None = None
        self._polled: socket.socket | None = None
        # Room for each read anew would be asked of the kernel, and given back, for every message.
        self._room = memoryview(bytearray(CHUNK_BYTES))
        self._from_host = Lines(MAX_LINE_BYTES)
        self._from_server = Lines(None)
        self._pending: dict[str, tuple[str, bytes]] = {}
        self._batches: dict[str, Batch] = {}
        """Where the answer to a request goes that came in an array."""
        self._version: str | None = None
        self._initialize: bytes | None = None
        self._initialized: bytes | None = None
        self._subscribed: dict[str, bytes] = {}

    def run(self) -> None:
        """Until the host closes its end.

        Raises:
            ServerUnreachable: if there is no server at first and none can be started.
            BadSetting: if the server does not know the dialect, or the sandbox.
        """
        if not self._reach(0):
            self._start(listens=True)
        while self._has_host:
            ready = self._wait_ready(None)
            if self._server is not None and self._server.fileno() in ready:
                self._pump_server()
            if self._stdin in ready:
                for line in self._messages_of_host():
                    self._forward(line)
        self._wait_last_answers()

    def _wait_ready(self, wait_s: float | None) -> set[int]:
        if self._poll is None or self._polled is not self._server:
            self._poll, self._polled = select.poll(), self._server
            self._poll.register(self._stdin, select.POLLIN)
            if self._server is not None:
                self._poll.register(self._server, select.POLLIN)
        return {fd for fd, _ in self._poll.poll(None if wait_s is None else wait_s * 1000)}

    # --- host → server --------------------------------------------------------

    def _messages_of_host(self) -> Iterator[bytes]:
        """The host's messages."""
        chunk = bytes(self._room[: os.readv(self._stdin, [self._room])])
        self._has_host = bool(chunk)
        for line in self._from_host.feed(chunk or b"\n"):
            if line is None:
                self._answer(None, INVALID_REQUEST, f"a message has at most {MAX_LINE_BYTES} bytes")
            elif line.strip():
                yield line

    def _forward(self, line: bytes) -> None:
        parts = parts_of(line) if self._version in BATCHING else []
        if not parts:
            self._forward_one(line)
            return
        batch = Batch()
        for part in parts:
            seen = look_at(part)
            if seen.key is not None and seen.method is not None:
                batch.waiting.add(seen.key)
                self._batches[seen.key] = batch
        for part in parts:
            if look_at(part) == MessageFacts():
                batch.answers.append(error_line(None, INVALID_REQUEST, NO_MESSAGE))
            else:
                self._forward_one(part)
        self._write_if_whole(batch)

    def _forward_one(self, line: bytes) -> None:
        seen = look_at(line)
        if self._server is None:
            try:
                self._connect()
            except DuettyError as error:
                self._refuse(line, error)
                return
        self._remember(seen, line)
        if seen.cancels is not None:
            self._pending.pop(seen.cancels, None)
            self._settle(seen.cancels, None)
        if seen.key is not None and seen.method is not None:
            self._pending[seen.key] = (seen.method, line)
        self._send(line)

    def _remember(self, seen: MessageFacts, line: bytes) -> None:
        """Keep the messages that the next server has to get as well."""
        if seen.method == "initialize":
            self._initialize, self._initialized = line, None
            self._subscribed.clear()
        elif seen.method == "notifications/initialized":
            self._initialized = line
        elif seen.method == "resources/unsubscribe" and seen.uri is not None:
            self._subscribed.pop(seen.uri, None)
        elif seen.uri is not None and len(self._subscribed) < MAX_SUBSCRIBED:
            self._subscribed[seen.uri] = line

    def _send(self, line: bytes) -> None:
        """Both ends may be full: a server that waits for us to read would wait for ever if we only wrote."""
        server, rest = self._server, memoryview(line + b"\n")
        while server is not None and rest:
            try:
                rest = rest[server.send(rest, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                self._wait_writable(server)
            except OSError:
                self._lose_server()
            if self._server is not server:
                return  # the next server got the waiting requests

    def _wait_writable(self, server: socket.socket) -> None:
        poll = select.poll()
        poll.register(server, select.POLLIN | select.POLLOUT)
        if any(events & ~select.POLLOUT for _, events in poll.poll()):
            self._pump_server()

    # --- server → host --------------------------------------------------------

    def _pump_server(self) -> None:
        assert self._server is not None
        try:
            chunk = bytes(self._room[: self._server.recv_into(self._room)])
        except OSError:
            chunk = b""
        if not chunk:
            self._lose_server()
            return
        for line in self._from_server.feed(chunk):
            if line is not None:
                self._deliver(line)

    def _deliver(self, line: bytes) -> None:
        seen = look_at(line)
        if seen.method is None and seen.key is not None:
            self._pending.pop(seen.key, None)
            self._version = seen.version or self._version
            self._settle(seen.key, line)
        else:
            self._write(line)

    def _answer(self, key: str | None, code: int, message: str) -> None:
        error = error_line(key, code, message)
        if key is None:
            self._write(error)
        else:
            self._settle(key, error)

    def _settle(self, key: str, answer: bytes | None) -> None:
        """The request has its answer, or will never have one; those of an array go out together."""
        batch = self._batches.pop(key, None)
        if batch is not None:
            batch.waiting.discard(key)
            if answer is not None:
                batch.answers.append(answer)
            self._write_if_whole(batch)
        elif answer is not None:
            self._write(answer)

    def _write_if_whole(self, batch: Batch) -> None:
        if batch.answers and not batch.waiting:
            self._write(b"[%s]" % b",".join(batch.answers))
            batch.answers.clear()

    def _refuse(self, line: bytes, error: DuettyError) -> None:
        seen = look_at(line)
        if seen.key is not None and seen.method is not None:
            self._give_up(seen.key, seen.method, line, error.message)

    def _give_up(self, key: str, method: str, line: bytes, message: str) -> None:
        """A request that no server answers any more."""
        answer = self._cut_off(line, message) if method == "tools/call" else None
        if answer is None:
            self._answer(key, INTERNAL_ERROR, message)
        else:
            self._settle(key, answer)

    def _write(self, line: bytes) -> None:
        rest = memoryview(line + b"\n")
        while rest:
            rest = rest[os.write(self._stdout, rest) :]

    def _wait_last_answers(self) -> None:
        until_s = time.monotonic() + LAST_ANSWERS_S
        while self._pending and self._server is not None and time.monotonic() < until_s:
            poll = select.poll()
            poll.register(self._server, select.POLLIN)
            if poll.poll(max(0.0, until_s - time.monotonic()) * 1000):
                self._pump_server()

    # --- the connection -------------------------------------------------------

    def _lose_server(self) -> None:
        """The server went. Wait for the next one; only a request that waits makes us start it."""
        if self._server is not None:
            self._server.close()
        self._server = None
        for key, (method, line) in list(self._pending.items()):
            if method == "tools/call":
                del self._pending[key]
                self._give_up(key, method, line, ENDED)
        try:
            if not self._reach(RETURN_S) and self._pending:
                self._connect()
        except DuettyError as error:
            for key, (method, line) in list(self._pending.items()):
                del self._pending[key]
                self._give_up(key, method, line, error.message)

    def _connect(self) -> None:
        """A connection to the server, which is started if there is none."""
        if not self._reach(0):
            self._start(listens=False)

    def _start(self, *, listens: bool) -> None:
        """Start a server and wait for it; what the host says meanwhile is answered, or held."""
        server = self._start_server()
        until_s = time.monotonic() + SPAWN_S
        held: list[bytes] = []
        try:
            while not self._try():
                server.check()
                if time.monotonic() >= until_s:
                    raise server.give_up()
                if not self._has_host and not held:
                    return
                if not listens or not self._has_host or sum(map(len, held)) > MAX_LINE_BYTES:
                    time.sleep(RETRY_S)
                elif self._stdin in self._wait_ready(RETRY_S):
                    held += self._unanswered()
        except DuettyError as error:
            for line in held:
                self._refuse(line, error)
            raise
        server.came_up()
        for line in held:
            self._forward(line)

    def _unanswered(self) -> list[bytes]:
        """Answer the requests that need no server; the others wait for it."""
        left: list[bytes] = []
        for line in self._messages_of_host():
            answer, seen = self._first_answer(line), look_at(line)
            if answer is not None:
                self._remember(seen, line)
                self._version = look_at(answer).version or self._version
                self._write(answer)
            elif seen.method == "notifications/initialized" and self._initialize is not None:
                self._initialized = line
            else:
                left.append(line)
        return left

    def _reach(self, wait_s: float) -> bool:
        until_s = time.monotonic() + wait_s
        while not self._try():
            if time.monotonic() >= until_s or self._is_host_gone():
                return False
            time.sleep(RETRY_S)
        return True

    def _try(self) -> bool:
        """Connect and greet. A server on its way out may take the connection and say nothing."""
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.settimeout(ANSWER_S)
        self._from_server = Lines(None)
        try:
            server.connect(self._path)
            self._greet(server)
        except OSError:
            server.close()
            return False
        server.settimeout(None)
        self._server = server
        return True

    def _is_host_gone(self) -> bool:
        poll = select.poll()
        poll.register(self._stdin, 0)
        return any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll(0))

    def _greet(self, server: socket.socket) -> None:
        """Tell a new server who we are, and bring it to where the old one was."""
        refusal = self._ask(server, {"jsonrpc": "2.0", "method": HELLO, "params": self._about})
        if refusal is not None:
            raise BadSetting(refusal)
        waiting = {method for method, _ in self._pending.values()}
        if self._initialize is not None and "initialize" not in waiting:
            self._ask(server, json.loads(self._initialize))
            if self._initialized is not None:
                server.sendall(self._initialized + b"\n")
                for line in self._subscribed.values():
                    self._ask(server, json.loads(line))
        for _, line in self._pending.values():
            server.sendall(line + b"\n")

    def _ask(self, server: socket.socket, request: dict[str, object]) -> str | None:
        """A request of our own, whose answer is not for the host; says why it was refused, if so."""
        own_id = f"duetty-{time.monotonic_ns()}"
        server.sendall(json.dumps({**request, "id": own_id}).encode() + b"\n")
        while True:
            chunk = server.recv(CHUNK_BYTES)
            if not chunk:
                raise ConnectionResetError("the server closed the connection")
            answer = None
            for line in self._from_server.feed(chunk):
                if line is not None and look_at(line).key == json.dumps(own_id):
                    answer = json.loads(line)
                elif line is not None:
                    self._deliver(line)
            if answer is not None:
                return answer["error"]["message"] if "error" in answer else None


def _cwd() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:
        return None  # it was removed under us
