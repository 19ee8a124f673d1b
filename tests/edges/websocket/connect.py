"""Clients of the WebSockets, as others would write them."""

import json
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from websockets.asyncio.client import ClientConnection, connect

from duetty.edges.http.websocket.server_messages import SERVER_MESSAGES
from duetty.vt import Terminal
from tests.server_process import ServerProcess

HEAD = struct.Struct(">BIQ")
OUTPUT, SNAPSHOT, INPUT = 1, 2, 3

WAIT_S = 60
"""For each wait itself. Never around a `yield`: in a fixture such a bound ends the whole run."""


@asynccontextmanager
async def connected(
    server: ServerProcess, path: str, *, token: str | None = None, **options: Any
) -> AsyncGenerator[ClientConnection]:
    url = server.url().replace("http://", "ws://") + path
    headers = {"Authorization": f"Bearer {token or server.token()}"}
    async with connect(
        url, additional_headers=headers, compression=None, max_size=None, **options
    ) as socket:
        yield socket


async def drain(receive: Callable[[], Awaitable[object]]) -> None:
    """Take everything until the connection is closed.

    Raises:
        ConnectionClosed: in the end.
    """
    with anyio.fail_after(60):
        while True:
            await receive()


class Viewer:
    """What the page does: a terminal of its own for each stream, and acknowledgements."""

    def __init__(self, socket: ClientConnection, *, acks: bool = True) -> None:
        self.socket = socket
        self.acks = acks
        self.messages: list[dict[str, Any]] = []
        self.terminals: dict[int, Terminal] = {}
        self.offsets: dict[int, int] = {}
        self.output: dict[int, bytearray] = {}
        self.snapshots = 0

    async def say(self, type_: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type_, **fields}))

    async def type(self, data: bytes, stream: int = 1) -> None:
        await self.socket.send(HEAD.pack(INPUT, stream, 0) + data)

    async def take(self) -> dict[str, Any] | int:
        """The next message; bytes are fed to the stream's terminal."""
        with anyio.fail_after(WAIT_S):
            message = await self.socket.recv()
        if isinstance(message, bytes):
            return await self._take_bytes(message)
        told = json.loads(message)
        fields = {name: value for name, value in told.items() if name != "type"}
        SERVER_MESSAGES[told["type"]].model_validate(fields)  # as the page's types say it
        self.messages.append(told)
        if told["type"] == "size":
            terminal = self.terminals.get(told["stream"])
            if terminal is None:
                self.terminals[told["stream"]] = Terminal(
                    cols=told["cols"], rows=told["program_rows"]
                )
            else:
                terminal.resize(cols=told["cols"], rows=told["program_rows"])
        return told

    async def _take_bytes(self, message: bytes) -> int:
        kind, stream, offset = HEAD.unpack_from(message)
        data = message[HEAD.size :]
        terminal = self.terminals[stream]
        if kind == SNAPSHOT:
            self.snapshots += 1
            terminal.feed(b"\x1bc" + data)
            self.offsets[stream] = offset
        else:
            assert kind == OUTPUT
            assert offset == self.offsets.get(stream, offset), "a byte was lost or doubled"
            terminal.feed(data)
            self.output.setdefault(stream, bytearray()).extend(data)
            self.offsets[stream] = offset + len(data)
        if self.acks:
            await self.say("ack", stream=stream, offset=self.offsets[stream])
        return stream

    async def until(self, wanted: str | Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message of a type, or that passes a test."""
        with anyio.fail_after(WAIT_S):
            while True:
                told = await self.take()
                if isinstance(told, int):
                    continue
                if told["type"] == wanted if isinstance(wanted, str) else wanted(told):
                    return told

    async def find(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message that passes a test, of those that came or will come."""
        found = next((told for told in self.messages if wanted(told)), None)
        return found or await self.until(wanted)

    async def until_shown(self, text: str, stream: int = 1) -> None:
        with anyio.fail_after(WAIT_S):
            while stream not in self.terminals or text not in self.text(stream):
                await self.take()

    async def open(self, session: str, stream: int = 1, **fields: Any) -> None:
        """Open a stream and take its snapshot."""
        await self.say("open", stream=stream, session=session, **fields)
        while stream not in self.offsets:
            await self.take()

    async def until_offset(self, offset: int, stream: int = 1) -> None:
        while self.offsets.get(stream, -1) < offset:
            await self.take()

    def text(self, stream: int = 1) -> str:
        return "\n".join(self.terminals[stream].screen(styled=False).text_lines)

    def lines(self, stream: int = 1) -> list[str]:
        return list(self.terminals[stream].screen(styled=False).text_lines)


class JsonClient:
    """Requests by id, events in the order in which they come."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.events: list[dict[str, Any]] = []
        self._next = 0

    async def take(self) -> dict[str, Any]:
        with anyio.fail_after(WAIT_S):
            message = json.loads(await self.socket.recv())
        self.events.append(message)
        return message

    async def ask(self, method: str, session: str | None = None, **params: Any) -> int:
        """Send a request and do not wait for its answer."""
        self._next += 1
        request: dict[str, Any] = {"id": self._next, "method": method, "params": params}
        if session is not None:
            request["session"] = session
        await self.socket.send(json.dumps(request))
        return self._next

    async def answer(self, id_: int) -> dict[str, Any]:
        return await self.until(lambda told: told.get("id") == id_)

    async def call(self, method: str, session: str | None = None, **params: Any) -> Any:
        """The result, or the error's code."""
        answer = await self.answer(await self.ask(method, session, **params))
        return answer["result"] if "result" in answer else answer["error"]["code"]

    async def until(self, wanted: str | Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next event of a name, or message that passes a test."""
        with anyio.fail_after(WAIT_S):
            while True:
                told = await self.take()
                if told.get("event") == wanted if isinstance(wanted, str) else wanted(told):
                    return told

    async def find(self, wanted: str | Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first of those that came or will come."""
        for told in self.events:
            if told.get("event") == wanted if isinstance(wanted, str) else wanted(told):
                return told
        return await self.until(wanted)


@asynccontextmanager
async def speaking(server: ServerProcess, path: str, **options: Any) -> AsyncGenerator[JsonClient]:
    """A JSON WebSocket that has said hello."""
    async with connected(server, path, **options) as socket:
        client = JsonClient(socket)
        assert await client.take() == {"connected": True}
        yield client


@asynccontextmanager
async def viewing(
    server: ServerProcess, *, acks: bool = True, **options: Any
) -> AsyncGenerator[Viewer]:
    async with connected(server, "/ws/view", **options) as socket:
        viewer = Viewer(socket, acks=acks)
        assert isinstance(hello := await viewer.take(), dict)
        assert hello["type"] == "hello"
        yield viewer
