"""uvicorn's WebSocket, which says less: its own log lines carry paths with tickets in them."""

import asyncio  # noqa: TID251 - the signature is uvicorn's
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame
from websockets.http11 import Request, Response
from websockets.protocol import OPEN

from duetty.edges.http.errors import error_body
from duetty.edges.http.fairness import TURN, Turn
from duetty.edges.http.headers import HEADERS
from duetty.edges.http.peer import LEFT
from duetty.edges.http.websocket.socket import ABORT, SEND_NOW, TAKE_NOW
from duetty.errors import BadArguments, Exhausted

log = logging.getLogger("duetty.websocket.uvicorn")
log.setLevel(logging.WARNING)
# What a peer sent that is no text is its own fault, and is answered with 1007: no trace of calls.
log.addFilter(lambda record: not record.getMessage().startswith("Invalid UTF-8"))


PIECE_BYTES = 4 * 1024
"""Parsed in one turn of the loop: at most some six hundred frames."""

HELD_BYTES = 64 * 1024
"""Of a message that is not whole, from which on they count as what its credential holds."""

FRAGMENT_BYTES = 64
"""What each part of a message takes besides its bytes."""

VERSION = "13"
_CODES = {405: "method_not_allowed", 426: "upgrade_required"}


def _enveloped(
    reject: Callable[[int, str], Response], speaks: Callable[[], bool]
) -> Callable[[int, str], Response]:
    """A handshake that cannot be one is refused before any route sees it, and as all else is.

    One of another version (`speaks` knows) gets an answer with this version.
    """

    def rejected(status: int, text: str) -> Response:
        if int(status) == HTTPStatus.BAD_REQUEST and not speaks():
            status = HTTPStatus.UPGRADE_REQUIRED
            text = f"WebSockets of version {VERSION} are spoken here, and no other"
        response = reject(status, text)
        if int(status) == HTTPStatus.UPGRADE_REQUIRED:
            response.headers["Sec-WebSocket-Version"] = VERSION
        body = error_body(_CODES.get(int(status), BadArguments.code), text.strip())
        for name, value in (
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            *HEADERS.items(),
        ):
            if name in response.headers:
                del response.headers[name]
            response.headers[name] = value
        response.body = body
        return response

    return rejected


def _is_text(parts: list[bytes]) -> bool:
    try:
        b"".join(parts).decode()
    except UnicodeDecodeError:
        return False
    return True


class _Inbox:
    """What uvicorn has an `asyncio.Queue` for. It has one reader and few messages: so it takes a tenth of
    the memory, and a hub has thousands of them.
    """

    __slots__ = ("_messages", "_waiting")

    def __init__(self) -> None:
        self._messages: list[Any] = []
        self._waiting: asyncio.Future[None] | None = None

    def put_nowait(self, message: Any) -> None:
        self._messages.append(message)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def get(self) -> Any:
        while not self._messages:
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
        self._waiting = None
        return self._messages.pop(0)

    def empty(self) -> bool:
        return not self._messages


class QuietWebSocket(WebSocketsSansIOProtocol):
    """Of the two on `websockets`, the one without a task of its own for each connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.queue = _Inbox()  # pyright: ignore[reportAttributeAccessIssue] - the same methods
        self.logger = self.conn.logger = log
        self._version = VERSION
        self._take: Callable[[bytes], bool] | None = None
        self._unread: bytes = b""
        self._will_read = False
        self._fragment_bytes = 0
        self._holds = False
        self.conn.reject = _enveloped(self.conn.reject, lambda: self._version == VERSION)  # pyright: ignore[reportAttributeAccessIssue] - called by position

    def handle_connect(self, event: Request) -> None:
        self._version = ", ".join(event.headers.get_all("Sec-WebSocket-Version"))
        super().handle_connect(event)
        event.headers.clear()  # the scope has them, and the parser would keep them with the connection
        if hasattr(self, "scope"):  # else the handshake was refused
            # For peers that take nothing: closing politely would wait for them to read.
            scope = cast("dict[str, Any]", self.scope)
            scope["extensions"][ABORT] = {"call": self.transport.abort}
            scope["extensions"][SEND_NOW] = {"call": self._send_now}
            scope["extensions"][TAKE_NOW] = {"call": self._set_take}

    def data_received(self, data: bytes) -> None:
        self._unread += data
        if not self._will_read:
            self._read()

    def _read(self) -> None:
        """A piece in each turn of the loop, and none while messages wait to be taken: a hundred
        thousand tiny frames at once would hold up all sessions.
        """
        self._will_read = False
        if not self._unread or not self._is_taken():
            return
        piece, self._unread = self._unread[:PIECE_BYTES], self._unread[PIECE_BYTES:]
        super().data_received(piece)
        self._hold()
        self._pace()

    def _hold(self) -> None:
        """A message that is not whole yet takes memory for as long as its sender likes."""
        size = len(self.conn.reader.buffer) + self._fragment_bytes
        if size < HELD_BYTES and not self._holds:
            return
        self._holds = size >= HELD_BYTES
        state = cast("dict[str, Any]", getattr(self, "scope", {})).get("state", {})
        turn = cast("Turn | None", state.get(TURN))
        if turn is not None:
            try:
                turn.hold(size if self._holds else 0)
            except Exhausted:
                self.transport.abort()

    def _pace(self) -> None:
        """Read on from the network when everything that came was taken, and not before."""
        if self._unread:
            if not self.read_paused:
                self.read_paused = True
                self.transport.pause_reading()
            if self._is_taken() and not self._will_read:
                self._will_read = True
                self.loop.call_soon(self._read)
        elif self.read_paused and self._is_taken():
            self.read_paused = False
            self.transport.resume_reading()

    def _is_taken(self) -> bool:
        """After our close no task takes messages, and the peer's own close must still be read: until
        then the connection would stay open.
        """
        return self.close_sent or self.queue.empty()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if self.close_sent:
            # Refused with a body: uvicorn holds the handshake for broken, and would log an error for each.
            self.handshake_complete = True
            self._pace()

    async def receive(self) -> Any:
        message = await super().receive()
        self._pace()
        return message

    def connection_lost(self, exc: Exception | None) -> None:
        self._unread = b""
        super().connection_lost(exc)
        if (left := self.app_state.get(LEFT)) is not None:
            left()

    def _set_take(self, take: Callable[[bytes], bool]) -> None:
        self._take = take

    def handle_text(self, event: Frame) -> None:
        self._count(event)
        super().handle_text(event)

    def handle_cont(self, event: Frame) -> None:
        self._count(event)
        super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        if (
            self.curr_msg_data_type == "text"
            and self.conn.state is not OPEN
            and not _is_text(self.frames)
        ):
            # Its close came in the same piece and is answered already; uvicorn would close again.
            self.frames = []
            return
        super().send_receive_event_to_app()

    def _count(self, event: Frame) -> None:
        self._fragment_bytes = (
            0 if event.fin else self._fragment_bytes + len(event.data) + FRAGMENT_BYTES
        )

    def handle_bytes(self, event: Frame) -> None:
        """Past the queue, and the task that waits at it: a key is not kept waiting for its turn."""
        if (
            self._take is None
            or not event.fin
            or self.close_sent
            or not self.queue.empty()
            or not self._take(bytes(event.data))
        ):
            self._count(event)
            super().handle_bytes(event)

    def _send_now(self, data: bytes | str) -> bool:
        """A message between those of `send`, which are whole when it returns."""
        if (
            self.close_sent
            or self.disconnected
            or self.conn.state is not OPEN
            or not self.writable.is_set()
        ):
            return False
        if isinstance(data, bytes):
            self.conn.send_binary(data)
        else:
            self.conn.send_text(data.encode())
        self.transport.write(b"".join(self.conn.data_to_send()))
        return True
