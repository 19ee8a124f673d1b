"""Frames over a unix stream socket: a length, JSON, and descriptors beside them.

Knows nothing of operations. Neither side ever blocks here: what cannot be sent
now waits in a bounded queue, what has not arrived in full waits in a buffer.
A fault of the peer is a field (`lost`), not an exception: frames that arrived
before it still count.
"""

import json
import os
import socket
import struct
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, cast

from duetty.errors import BadArguments, KeeperUnavailable

PROTOCOL = 1
"""Version of operations and frames. A keeper outlives upgrades of the server."""

MAX_FRAME_BYTES = 8 * 1024 * 1024
"""Room for the largest environment Linux would exec (stack limit / 4, usually 2 MiB), quoted."""

MAX_BACKLOG_BYTES = 4 * MAX_FRAME_BYTES
"""What may wait for a peer that does not read, before the peer is given up."""

MAX_FDS = 16
"""Descriptors in flight that no frame has claimed yet. A frame carries one."""

_CHUNK_BYTES = 256 * 1024
_CHUNKS_PER_TURN = 16
"""A turn reads this much at most, so a flooding peer cannot hold the loop."""

_HEAD_BYTES = 4
_FD = struct.Struct("i")
_UNRECEIVED = -1
"""In place of a descriptor that the kernel dropped, because this process can have no more."""

_ANCILLARY_BYTES = socket.CMSG_SPACE(MAX_FDS * _FD.size)

Message = dict[str, object]


class Frame(NamedTuple):
    message: Message
    fds: tuple[int, ...]
    """Owned by the taker of the frame. Fewer than were sent if this process has no room."""


class Channel:
    """One end of a connection, never blocking."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._incoming = bytearray()
        self._unclaimed: deque[int] = deque()
        self._outgoing: deque[tuple[memoryview, tuple[int, ...]]] = deque()
        self._backlog_bytes = 0
        self.lost: str | None = None
        """Why the connection is over, once it is."""

    def fileno(self) -> int:
        return self._sock.fileno()

    @property
    def has_backlog(self) -> bool:
        """Whether something waits until the socket is writable."""
        return bool(self._outgoing) and self.lost is None

    def send(self, message: Message, fds: Sequence[int] = ()) -> None:
        """Send now or, if the peer is slow, later; `fds` stay the caller's.

        Raises:
            BadArguments: if the message is larger than a frame may be.
            KeeperUnavailable: if the peer has not read for too long.
        """
        body = json.dumps({**message, "fds": len(fds)}, separators=(",", ":")).encode()
        if len(body) > MAX_FRAME_BYTES:
            raise BadArguments(
                f"the message has {len(body)} bytes, a frame at most {MAX_FRAME_BYTES}"
            )
        if self._backlog_bytes + len(body) > MAX_BACKLOG_BYTES:
            raise KeeperUnavailable(f"the peer has not read {self._backlog_bytes} bytes")
        frame = memoryview(len(body).to_bytes(_HEAD_BYTES, "big") + body)
        sent = 0 if self._outgoing else self._push(frame, fds)
        if sent < len(frame) and self.lost is None:
            # The descriptors went with the first byte, or wait as duplicates of our own.
            waiting = () if sent else tuple(os.dup(fd) for fd in fds)
            self._outgoing.append((frame[sent:], waiting))
            self._backlog_bytes += len(frame) - sent

    def flush(self) -> None:
        """Send what the socket takes."""
        while self._outgoing and (sent := self._push(*self._outgoing[0])):
            rest, fds = self._outgoing.popleft()
            _close(fds)
            self._backlog_bytes -= sent
            if sent < len(rest):
                self._outgoing.appendleft((rest[sent:], ()))

    def receive(self) -> list[Frame]:
        """The frames that are complete by now; then look at `lost`."""
        frames: list[Frame] = []
        for _ in range(_CHUNKS_PER_TURN):
            if self.lost is not None or not self._read_chunk():
                break
            while self.lost is None and (frame := self._next_frame()) is not None:
                frames.append(frame)
        return frames

    def close(self) -> None:
        """Close the socket and every descriptor that was not taken."""
        self.lost = self.lost or "closed"
        _close(self._unclaimed)
        self._unclaimed.clear()
        for _, fds in self._outgoing:
            _close(fds)
        self._outgoing.clear()
        self._sock.close()

    def _push(self, rest: memoryview, fds: Sequence[int]) -> int:
        """How many bytes the socket took; the descriptors go with the first."""
        if self.lost is not None:
            return 0
        try:
            return socket.send_fds(self._sock, [rest], fds) if fds else self._sock.send(rest)
        except BlockingIOError:
            return 0
        except OSError as error:
            self._lose(f"cannot send: {error.strerror}")
            return 0

    def _read_chunk(self) -> bool:
        try:
            # Not socket.recv_fds: CPython 3.11 drops its flags, and with them CLOEXEC.
            chunk, ancillary, flags, _ = self._sock.recvmsg(
                _CHUNK_BYTES, _ANCILLARY_BYTES, socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            return False
        except OSError as error:
            self._lose(f"cannot receive: {error.strerror}")
            return False
        for level, kind, packed in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._unclaimed.extend(each for (each,) in _FD.iter_unpack(packed))
        if flags & socket.MSG_CTRUNC:
            self._unclaimed.append(_UNRECEIVED)
        self._incoming += chunk
        if not chunk:
            self._lose("closed by the peer")
        elif len(self._unclaimed) > MAX_FDS:
            self._lose("too many descriptors")
        return bool(chunk)

    def _next_frame(self) -> Frame | None:
        if len(self._incoming) < _HEAD_BYTES:
            return None
        length = int.from_bytes(self._incoming[:_HEAD_BYTES], "big")
        if length > MAX_FRAME_BYTES:
            self._lose(f"a frame of {length} bytes, the bound is {MAX_FRAME_BYTES}")
            return None
        if len(self._incoming) < _HEAD_BYTES + length:
            return None
        body = bytes(self._incoming[_HEAD_BYTES : _HEAD_BYTES + length])
        del self._incoming[: _HEAD_BYTES + length]
        message = parse_message(body)
        if message is None:
            self._lose("a frame that is not a JSON object")
            return None
        # Descriptors never arrive later than the first byte of their frame, but may
        # arrive with an earlier one: the kernel joins segments. Hence the count.
        claimed = message.pop("fds", 0)
        if not isinstance(claimed, int) or not 0 <= claimed <= len(self._unclaimed):
            self._lose("a frame that claims descriptors it did not bring")
            return None
        fds = [self._unclaimed.popleft() for _ in range(claimed)]
        return Frame(message, tuple(fd for fd in fds if fd != _UNRECEIVED))

    def _lose(self, reason: str) -> None:
        if self.lost is None:
            self.lost = reason
            # So that a loop waiting for the socket wakes up and finds `lost`.
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)


def parse_message(body: bytes) -> Message | None:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast("Message", value) if isinstance(value, dict) else None


def _close(fds: Sequence[int] | deque[int]) -> None:
    for fd in fds:
        if fd != _UNRECEIVED:
            os.close(fd)
