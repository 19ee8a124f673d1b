"""Many streams over one WebSocket: requests, WebSockets and their answers, each with a window.

A message is `kind, flags, stream, payload`. A sender may have `WINDOW_BYTES` on the way that
the other side has not taken yet, so no side ever holds more than that for one stream. Knows no
sockets: whole messages go out through `send` and come in through `take`.
"""

import json
import struct
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, cast

import anyio

from duetty.errors import ServerUnavailable

PROTOCOLS = (1,)
"""Versions of what crosses the link that this one speaks. The newest that both sides speak is used, so hub and
nodes are updated in either order, as long as each still speaks a version of the other."""

WINDOW_BYTES = 256 * 1024
ASIDE_BYTES = 4 * WINDOW_BYTES
"""What has no window, and is not taken yet. Past it the stream ends, not the link, which others use."""

PART_BYTES = 32 * 1024
"""Of one message: many streams take turns."""

MAX_STREAMS = 512
"""Of one link at once; one more is refused before anything ran."""

RESET_S = 2.0
_HEAD = struct.Struct("!BBI")
_MORE, _END = 1, 2


def common_protocol(own: Sequence[int], other: object) -> int | None:
    """The newest version that both speak."""
    listed = cast("list[object]", other if isinstance(other, list) else [])
    return max((each for each in own if each in listed), default=None)


class Kind(IntEnum):
    OPEN = 1
    HEAD = 2
    DATA = 3
    """A part of a body; of a WebSocket, of a binary message."""

    TEXT = 4
    """Of a WebSocket: a part of a text message."""

    CLOSE = 5
    """Of a WebSocket: code and reason."""

    RESET = 6
    """The sender wants no more of this stream."""

    CREDIT = 7
    """So many bytes were taken."""

    ASIDE = 8
    """JSON beside the body: progress, a question, its answer."""


_COUNTED = (Kind.DATA, Kind.TEXT)


class Frame(NamedTuple):
    kind: Kind
    payload: bytes
    more: bool = False
    """A part of a message, and not its last."""

    end: bool = False
    """Nothing follows on this stream from that side."""

    def json(self) -> dict[str, Any]:
        """Raises:
        LinkBroken: if the payload is no JSON object.
        """
        try:
            parsed = json.loads(self.payload)
        except (ValueError, RecursionError) as error:
            raise LinkBroken("a message is not JSON") from error
        if not isinstance(parsed, dict):
            raise LinkBroken("a message is not a JSON object")
        return cast("dict[str, Any]", parsed)


class LinkBroken(Exception):
    """The other side does not keep to the protocol, or is gone."""


Send = Callable[[bytes], Awaitable[None]]


class Stream:
    """One conversation. Each side has one task that receives."""

    def __init__(self, streams: "Streams", number: int) -> None:
        self._streams = streams
        self.number = number
        self._frames: deque[Frame] = deque()
        self._held_bytes = 0
        self._aside_bytes = 0
        self._taken_bytes = 0
        self._credit = WINDOW_BYTES
        self._came = anyio.Event()
        self._may_send = anyio.Event()
        self._broken: str | None = None
        self.has_sent_end = False
        self.has_got_end = False
        self.was_reset = False
        """The other side refused the rest; it did not just go away."""
        self._on_reset: Callable[[], None] | None = None

    def when_reset(self, call: Callable[[], None]) -> None:
        """Call this when the other side wants no more, or is gone."""
        self._on_reset = call

    # --- sending ------------------------------------------------------------------

    async def send(self, kind: Kind, payload: bytes = b"", *, end: bool = False) -> None:
        """In parts, as the other side takes them.

        Raises:
            ServerUnavailable: if the other side ended it.
        """
        place = 0
        while True:
            part = payload[place : place + PART_BYTES]
            place += len(part)
            more = place < len(payload)
            if kind in _COUNTED:
                await self._wait_credit(len(part))
            self._check()
            is_end = end and not more
            self.has_sent_end = self.has_sent_end or is_end
            await self._streams.put(self.number, kind, part, more=more, end=is_end)
            if not more:
                return

    async def forward(self, frame: Frame) -> None:
        """A frame of another stream, as it is.

        Raises:
            ServerUnavailable: if the other side ended it.
        """
        if frame.kind in _COUNTED:
            await self._wait_credit(len(frame.payload))
        self._check()
        self.has_sent_end = self.has_sent_end or frame.end
        await self._streams.put(
            self.number, frame.kind, frame.payload, more=frame.more, end=frame.end
        )

    async def _wait_credit(self, count: int) -> None:
        while self._credit < count and self._broken is None:
            self._may_send = anyio.Event()
            await self._may_send.wait()
        self._credit -= count

    async def send_json(self, kind: Kind, value: object, *, end: bool = False) -> None:
        await self.send(kind, json.dumps(value).encode(), end=end)

    def _check(self) -> None:
        if self._broken is not None:
            raise ServerUnavailable(self._broken)

    # --- receiving ----------------------------------------------------------------

    async def receive(self) -> Frame:
        """Raises:
        ServerUnavailable: if the other side ended it.
        """
        while not self._frames:
            self._check()
            self._came = anyio.Event()
            await self._came.wait()
        frame = self._frames.popleft()
        if frame.kind in _COUNTED:
            self._held_bytes -= len(frame.payload)
            self._taken_bytes += len(frame.payload)
            if self._taken_bytes >= WINDOW_BYTES // 2:
                taken, self._taken_bytes = self._taken_bytes, 0
                await self._streams.put(self.number, Kind.CREDIT, taken.to_bytes(4, "big"))
        else:
            self._aside_bytes -= len(frame.payload)
        return frame

    def take(self, frame: Frame) -> None:
        """From the link's reader."""
        match frame.kind:
            case Kind.CREDIT:
                self._credit += int.from_bytes(frame.payload[:4], "big")
                self._may_send.set()
                return
            case Kind.RESET:
                self.was_reset = True
                self.end("the other side ended it")
                return
            case _:
                pass
        if frame.kind in _COUNTED:
            self._held_bytes += len(frame.payload)
        else:
            self._aside_bytes += len(frame.payload)
            if self._aside_bytes > ASIDE_BYTES:
                self.end("the other side sent too much beside its answer")
                return
        if self._held_bytes > WINDOW_BYTES or len(self._frames) > WINDOW_BYTES // 16:
            raise LinkBroken("more was sent than was asked for")
        self.has_got_end = self.has_got_end or frame.end
        self._frames.append(frame)
        self._came.set()

    def end(self, why: str) -> None:
        if self._broken is None:
            self._broken = why
            self._came.set()
            self._may_send.set()
            if self._on_reset is not None:
                self._on_reset()

    async def close(self) -> None:
        """Leave; a conversation that is not over is cut off there too."""
        self._streams.forget(self.number)
        if self._broken is None and not (self.has_sent_end and self.has_got_end):
            with anyio.move_on_after(RESET_S, shield=True):
                await self._streams.put(self.number, Kind.RESET, b"")


class Streams:
    """All streams of one link. One side opens them; the other side's `opened` is called."""

    def __init__(self, send: Send, *, opened: Callable[[Stream, Frame], None] | None) -> None:
        self._send = send
        self._opened = opened
        self._streams: dict[int, Stream] = {}
        self._next = 0
        self._ended: str | None = None

    def __len__(self) -> int:
        return len(self._streams)

    def open(self) -> Stream:
        """Raises:
        ServerUnavailable: if the link is gone.
        """
        if self._ended is not None:
            raise ServerUnavailable(self._ended)
        self._next += 1
        stream = self._streams[self._next] = Stream(self, self._next)
        return stream

    def take(self, message: bytes) -> None:
        """Raises:
        LinkBroken: if it is none of this protocol's, or too much.
        """
        if len(message) < _HEAD.size or len(message) > _HEAD.size + PART_BYTES:
            raise LinkBroken("a message has no head, or is too long")
        number, flags, id_ = _HEAD.unpack_from(message)
        try:
            kind = Kind(number)
        except ValueError:
            return  # of a newer version, which knows that we do not know it
        frame = Frame(kind, message[_HEAD.size :], bool(flags & _MORE), bool(flags & _END))
        stream = self._streams.get(id_)
        if stream is not None:
            stream.take(frame)
        elif kind is Kind.OPEN and self._opened is not None:
            if len(self._streams) >= 2 * MAX_STREAMS:
                raise LinkBroken("it opens too many streams")
            stream = self._streams[id_] = Stream(self, id_)
            self._opened(stream, frame)

    async def put(
        self, number: int, kind: Kind, payload: bytes, *, more: bool = False, end: bool = False
    ) -> None:
        flags = (_MORE if more else 0) | (_END if end else 0)
        await self._send(_HEAD.pack(kind, flags, number) + payload)

    def forget(self, number: int) -> None:
        self._streams.pop(number, None)

    def end(self, why: str) -> None:
        """The link is gone."""
        self._ended = why
        for stream in list(self._streams.values()):
            stream.end(why)
        self._streams.clear()
