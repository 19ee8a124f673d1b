"""A node that dialled us: who it is, and its one WebSocket as the way to it."""

import json
import logging
import re
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, cast

import anyio

from duetty.clock import Clock
from duetty.errors import NodeBusy, ServerUnavailable
from duetty.hub.exchange import gathered
from duetty.hub.identity import is_signed, new_challenge, node_id
from duetty.hub.links import MAX_MESSAGE_BYTES, Answer, Asking, NodeSocket, SocketRefused
from duetty.hub.nodes import Closing
from duetty.hub.streams import (
    MAX_STREAMS,
    PART_BYTES,
    PROTOCOLS,
    Frame,
    Kind,
    LinkBroken,
    Stream,
    Streams,
    common_protocol,
)
from duetty.wire.json_values import has_few_values

log = logging.getLogger("duetty.hub")

HELLO_S = 10.0
MAX_SESSIONS = 2_000
MAX_CHARS = 200
_LENGTH = struct.Struct("!I")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,253}")


class Channel(Protocol):
    """Whole messages to and from the other side."""

    async def send(self, message: str | bytes) -> None: ...

    async def receive(self) -> str | bytes | None:
        """None when the other side is gone."""
        ...


NOT_OURS = Closing(4400, "what was sent is not the protocol of nodes")


class JoinRefused(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """Who a node proved to be, and what it says of itself."""

    node_id: str
    hostname: str
    version: str
    protocol: int
    sessions: tuple[tuple[str, str], ...] = ()
    epoch: int = 0
    """Of its last connection to this hub, as far as it knows."""


async def greet(channel: Channel, *, hub: Mapping[str, object]) -> Hello:
    """Have a node prove who it is.

    Raises:
        JoinRefused: if it does not.
    """
    challenge = new_challenge()
    await channel.send(json.dumps({"challenge": challenge, "protocols": PROTOCOLS, "hub": hub}))
    message: str | bytes | None = None
    with anyio.move_on_after(HELLO_S):
        message = await channel.receive()
    try:
        if not has_few_values(message or ""):
            raise ValueError("too many values")
        fields = cast("dict[str, Any]", json.loads(message or ""))
        public, signature = str(fields["node"]), str(fields["signature"])
        protocol = common_protocol(PROTOCOLS, fields["protocols"])
        hostname, version = str(fields["hostname"]), str(fields.get("version", ""))[:100]
        epoch = max(0, int(fields.get("epoch", 0)))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise JoinRefused("invalid_request", "the first message is no hello of a node") from error
    if protocol is None:
        raise JoinRefused("protocol_unsupported", no_common(PROTOCOLS, fields["protocols"]))
    if not is_signed(public, challenge, signature):
        raise JoinRefused("auth_invalid", "the signature is not of the key that was shown")
    if not _NAME.fullmatch(hostname) or hostname.lower() == "local":
        raise JoinRefused("invalid_request", "its hostname cannot be used as a name")
    return Hello(
        node_id=node_id(public),
        hostname=hostname,
        version=version,
        protocol=protocol,
        sessions=listed(fields.get("sessions")),
        epoch=epoch,
    )


def no_common(hub: object, machine: object) -> str:
    """Why they cannot speak, for either side's person."""
    return (
        f"hub and machine speak no version of the protocol in common (hub {_versions(hub)}, "
        f"machine {_versions(machine)}); update the older of the two"
    )


def _versions(value: object) -> str:
    listed = list(cast("list[object]", value)) if isinstance(value, list | tuple) else []
    return ", ".join(str(each) for each in listed[:10] if isinstance(each, int)) or "none"


def listed(value: object) -> tuple[tuple[str, str], ...]:
    """Ids and names of sessions, as far as they are any."""
    found: list[tuple[str, str]] = []
    for each in cast("list[object]", value)[:MAX_SESSIONS] if isinstance(value, list) else []:
        match each:
            case [str(id_), str(name)] if 0 < len(id_) <= MAX_CHARS and 0 < len(name) <= MAX_CHARS:
                found.append((id_, name))
            case _:
                continue
    return tuple(found)


class JoinedLink:
    """Requests and WebSockets over the one WebSocket that the node opened."""

    def __init__(self, channel: Channel, clock: Clock) -> None:
        self.streams = Streams(channel.send, opened=None)
        self._clock = clock

    def _opened(self, head: dict[str, object], asking: Asking) -> tuple[Stream, dict[str, object]]:
        if len(self.streams) >= MAX_STREAMS:
            raise NodeBusy("this machine", MAX_STREAMS)
        fields = {
            **head,
            "caller": asking.caller,
            "command_id": asking.command_id,
            "left_ms": int(asking.deadline_s * 1000),
            "sent_ms": int(self._clock.monotonic_s() * 1000),
            "dialect": asking.dialect,
            "mode": asking.mode,
            "hears": asking.aside is not None,
        }
        return self.streams.open(), fields

    @asynccontextmanager
    async def request(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None,
        asking: Asking,
    ) -> AsyncGenerator[Answer]:
        head: dict[str, object] = {
            "type": "http",
            "method": method,
            "target": target,
            "headers": dict(headers),
        }
        stream, opening = self._opened(head, asking)
        try:
            whole = packed(opening, body or b"")
            if len(whole) <= PART_BYTES:
                await stream.send(Kind.OPEN, whole, end=True)
            else:
                begin = packed(opening, b"")
                if len(begin) > PART_BYTES:
                    raise ServerUnavailable("the head of the request is too long for it")
                await stream.send(Kind.OPEN, begin)
                await stream.send(Kind.DATA, body or b"", end=True)
            frame = await _head_of(stream, asking)
            fields, first = unpacked(frame.payload)
            yield _JoinedAnswer(stream, fields, first, is_whole=frame.end)
        finally:
            await stream.close()

    @asynccontextmanager
    async def socket(self, target: str, *, asking: Asking) -> AsyncGenerator[NodeSocket]:
        head: dict[str, object] = {"type": "websocket", "target": target, "headers": {}}
        stream, opening = self._opened(head, asking)
        try:
            await stream.send(Kind.OPEN, packed(opening, b""))
            frame = await _head_of(stream, asking)
            fields, first = unpacked(frame.payload)
            status = _status(fields)
            if status != 101:
                answer = _JoinedAnswer(stream, fields, first, is_whole=frame.end)
                raise SocketRefused(status, await answer.body())
            yield JoinedSocket(stream)
        finally:
            await stream.close()


def packed(head: Mapping[str, object], body: bytes) -> bytes:
    encoded = json.dumps(head).encode()
    return _LENGTH.pack(len(encoded)) + encoded + body


def unpacked(payload: bytes) -> tuple[dict[str, Any], bytes]:
    """Raises:
    LinkBroken: if it is none of `packed`.
    """
    if len(payload) < _LENGTH.size:
        raise LinkBroken("a head is too short")
    [length] = _LENGTH.unpack_from(payload)
    end = _LENGTH.size + length
    return Frame(Kind.HEAD, payload[_LENGTH.size : end]).json(), payload[end:]


async def _head_of(stream: Stream, asking: Asking) -> Frame:
    """The head of the answer; messages that come before it go to the caller."""
    if asking.aside is None:
        while (frame := await stream.receive()).kind is not Kind.HEAD:
            pass
        return frame
    hear = asking.aside

    async def tell(fields: dict[str, Any]) -> None:
        answer = await hear(fields)
        if answer is not None:
            await stream.send_json(Kind.ASIDE, {"id": fields.get("id"), "answer": answer})

    found: list[Frame] = []
    failed: list[Exception] = []
    async with anyio.create_task_group() as tasks:
        try:
            while (frame := await stream.receive()).kind is not Kind.HEAD:
                if frame.kind is Kind.ASIDE:
                    tasks.start_soon(tell, frame.json())
            found.append(frame)
        except (ServerUnavailable, LinkBroken) as error:  # a task group would wrap it
            failed.append(error)
        tasks.cancel_scope.cancel()
    if failed:
        raise failed[0]
    return found[0]


def _status(fields: Mapping[str, Any]) -> int:
    status = fields.get("status")
    if not isinstance(status, int) or not 100 <= status <= 599:
        raise ServerUnavailable("its answer has no status")
    return status


class _JoinedAnswer:
    def __init__(
        self, stream: Stream, fields: Mapping[str, Any], first: bytes, *, is_whole: bool
    ) -> None:
        self.status = _status(fields)
        headers = fields.get("headers")
        self.headers: dict[str, str] = (
            {
                str(name).lower(): str(value)
                for name, value in cast("dict[Any, Any]", headers).items()
            }
            if isinstance(headers, dict)
            else {}
        )
        self._stream = stream
        self._first = first
        self._is_whole = is_whole

    async def chunks(self) -> AsyncIterator[bytes]:
        if self._first:
            yield self._first
        while not self._is_whole:
            frame = await self._stream.receive()
            if frame.kind is Kind.DATA:
                self._is_whole = frame.end
                if frame.payload:
                    yield frame.payload

    async def body(self) -> bytes:
        return self._first if self._is_whole else await gathered(self.chunks())


class JoinedSocket:
    """Either end of a WebSocket that goes through a link."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.ended = (1011, "")

    async def send(self, message: str | bytes) -> None:
        kind, payload = (
            (Kind.TEXT, message.encode()) if isinstance(message, str) else (Kind.DATA, message)
        )
        try:
            await self._stream.send(kind, payload)
        except ServerUnavailable as error:
            raise anyio.EndOfStream from error

    async def receive(self) -> str | bytes:
        gathered = bytearray()
        while True:
            try:
                frame = await self._stream.receive()
            except ServerUnavailable as error:
                raise anyio.EndOfStream from error
            if frame.kind is Kind.CLOSE:
                fields = frame.json()
                code = fields.get("code")
                self.ended = (
                    code if isinstance(code, int) else 1011,
                    str(fields.get("reason", "")),
                )
                raise anyio.EndOfStream
            if frame.kind not in (Kind.DATA, Kind.TEXT):
                continue
            gathered += frame.payload
            if len(gathered) > MAX_MESSAGE_BYTES:
                self.ended = (1009, "a message is too large")
                raise anyio.EndOfStream
            if not frame.more:
                if frame.kind is Kind.DATA:
                    return bytes(gathered)
                return gathered.decode("utf-8", "replace")

    async def close(self, code: int, reason: str) -> None:
        await self._stream.send_json(Kind.CLOSE, {"code": code, "reason": reason}, end=True)

    def drop(self) -> None:
        self.ended = (1008, "it is shared no more")
        self._stream.end("it was dropped")
