"""A WebSocket to the server, over its unix socket (RFC 6455, client side, no extensions).

Standard library only: the usual packages take longer to import than `duetty attach`
may take to its first picture. Blocking at the handshake, never afterwards.
"""

import base64
import hashlib
import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from duetty.client.client import CONNECT_S, connect_socket, raise_refusal, unreachable
from duetty.client.hub_address import HubAddress
from duetty.errors import ServerUnreachable

Message = str | bytes

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""A snapshot of ten thousand wide rows stays below; more is no server of ours."""

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_READ_BYTES = 256 * 1024
_MAX_HEAD_BYTES = 65_536
_CLOSE_NORMAL = struct.pack(">H", 1000)


class ConnectionLost(ServerUnreachable):
    """The server went in the middle of a conversation."""


class WebSocket:
    """One connection. `receive` takes what is there; `send` keeps what does not fit for `flush`."""

    def __init__(self, connection: socket.socket, rest: bytes) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._frames = _Frames()
        self._early = rest
        self._unsent = bytearray()
        # Room for each read anew would be asked of the kernel, and given back, for every key.
        self._room = memoryview(bytearray(_READ_BYTES))

    @classmethod
    def connect(cls, socket_path: Path | HubAddress, resource: str) -> "WebSocket":
        """Raises:
        ServerUnreachable: if no server answers, or not with a WebSocket.
        RemoteError: if the server refuses with a code.
        """
        try:
            is_hub = isinstance(socket_path, HubAddress)
            connection = socket_path.connect() if is_hub else connect_socket(str(socket_path))
        except OSError as error:
            raise unreachable(socket_path, error) from error
        try:
            connection.settimeout(CONNECT_S)
            rest = _shake_hands(connection, resource, socket_path)
        except OSError as error:
            connection.close()
            raise ServerUnreachable(
                f"the server at {socket_path} did not answer: {error}",
                hint="is it of an older version?",
            ) from error
        except BaseException:
            connection.close()
            raise
        return cls(connection, rest)

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    @property
    def unsent_bytes(self) -> int:
        return len(self._unsent)

    def receive(self) -> list[Message]:
        """The messages that have come; an empty list is no end.

        Raises:
            ConnectionLost: if the server closed, or speaks nonsense.
        """
        received = self._read()
        messages: list[Message] = []
        for opcode, payload in self._frames.feed(received):
            if opcode == _TEXT:
                messages.append(payload.decode("utf-8", "replace"))
            elif opcode == _BINARY:
                messages.append(payload)
            elif opcode == _PING:
                self._send(_PONG, payload)
            elif opcode == _CLOSE:
                if messages:
                    # Messages from before the end are returned first; the next read finds the end.
                    self._frames.is_closed = True
                    return messages
                raise ConnectionLost("the server closed the connection")
        return messages

    def _read(self) -> bytes:
        early, self._early = self._early, b""
        if self._frames.is_closed:
            raise ConnectionLost("the server closed the connection")
        try:
            received = bytes(self._room[: self._socket.recv_into(self._room)])
        except BlockingIOError:
            return early
        except OSError as error:
            raise ConnectionLost(f"the server is gone: {error}") from error
        if not received and not early:
            raise ConnectionLost("the server is gone")
        return early + received

    def send(self, message: Message) -> None:
        """Raises:
        ConnectionLost: if the server is gone.
        """
        if isinstance(message, str):
            self._send(_TEXT, message.encode())
        else:
            self._send(_BINARY, message)

    def _send(self, opcode: int, payload: bytes) -> None:
        self._unsent += _frame(opcode, payload, mask=os.urandom(4))
        self.flush()

    def flush(self) -> None:
        """Raises:
        ConnectionLost: if the server is gone.
        """
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError as error:
            raise ConnectionLost(f"the server is gone: {error}") from error

    def close(self) -> None:
        """Say goodbye, without waiting for an answer."""
        try:
            self._socket.setblocking(True)
            self._socket.settimeout(1)
            self._send(_CLOSE, _CLOSE_NORMAL)
        except (OSError, ConnectionLost):
            pass  # it is gone already
        self._socket.close()


def _shake_hands(connection: socket.socket, resource: str, place: Path | HubAddress) -> bytes:
    """Upgrade; what came behind the answer's head already belongs to the frames."""
    key = base64.b64encode(os.urandom(16))
    host, more = "localhost", ""
    if isinstance(place, HubAddress):
        host, resource = place.host, f"{place.prefix}{resource}"
        more = "".join(f"{name}: {value}\r\n" for name, value in place.headers.items())
    connection.sendall(
        b"GET %b HTTP/1.1\r\nHost: %b\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n%b"
        b"Sec-WebSocket-Key: %b\r\nSec-WebSocket-Version: 13\r\n\r\n"
        % (resource.encode(), host.encode(), more.encode(), key)
    )
    head, _, rest = _read_head(connection).partition(b"\r\n\r\n")
    status_line, *lines = head.split(b"\r\n")
    status = status_line.split(b" ", 2)[1:2]
    if status != [b"101"]:
        raise_refusal(status, rest, lines, connection, place)
    expected = base64.b64encode(hashlib.sha1(key + _GUID).digest())  # noqa: S324 - the protocol's own check, no secret
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(b":") for line in lines)
    }
    if headers.get(b"sec-websocket-accept") != expected:
        raise OSError("the answer is no WebSocket's")
    return rest


def _read_head(connection: socket.socket) -> bytes:
    received = b""
    until_s = time.monotonic() + CONNECT_S
    while b"\r\n\r\n" not in received:
        chunk = connection.recv(65_536)
        if not chunk or len(received) > _MAX_HEAD_BYTES or time.monotonic() > until_s:
            raise OSError("the connection ended within the handshake")
        received += chunk
    return received


def _frame(opcode: int, payload: bytes, *, mask: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        head = struct.pack(">BB", 0x80 | opcode, 0x80 | size)
    elif size < 65_536:
        head = struct.pack(">BBH", 0x80 | opcode, 0x80 | 126, size)
    else:
        head = struct.pack(">BBQ", 0x80 | opcode, 0x80 | 127, size)
    return head + mask + _masked(payload, mask)


def _masked(payload: bytes, mask: bytes) -> bytes:
    size = len(payload)
    pattern = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(pattern, "big")).to_bytes(size, "big")


class _Frames:
    """Bytes in, whole messages out; fragments are put together."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._parts: list[bytes] = []
        self._opcode = 0
        self.is_closed = False

    def feed(self, received: bytes) -> Iterator[tuple[int, bytes]]:
        self._buffer += received
        while (frame := self._take()) is not None:
            is_last, opcode, payload = frame
            if opcode >= _CLOSE:
                yield opcode, payload
                continue
            if opcode != _CONTINUATION:
                self._opcode, self._parts = opcode, []
            self._parts.append(payload)
            if sum(map(len, self._parts)) > MAX_MESSAGE_BYTES:
                raise ConnectionLost("the server sent more than a message may have")
            if is_last:
                whole, self._parts = b"".join(self._parts), []
                yield self._opcode, whole

    def _take(self) -> tuple[bool, int, bytes] | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        size, at = buffer[1] & 0x7F, 2
        if size == 126:
            if len(buffer) < 4:
                return None
            (size,), at = struct.unpack_from(">H", buffer, 2), 4
        elif size == 127:
            if len(buffer) < 10:
                return None
            (size,), at = struct.unpack_from(">Q", buffer, 2), 10
        if buffer[1] & 0x80 or size > MAX_MESSAGE_BYTES:
            raise ConnectionLost("the server's frames are not a WebSocket's")
        if len(buffer) < at + size:
            return None
        first = buffer[0]
        payload = bytes(memoryview(buffer)[at : at + size])
        del buffer[: at + size]
        return bool(first & 0x80), first & 0x0F, payload
