"""Several messages in one HTTP request, for the revisions of the protocol that have that.

Each goes its own way as if it had come alone, and the answers go out
on one event stream. (On stdio the bridge takes arrays apart: `cli/rpc.py`.)
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup
from pydantic_core import from_json, to_json
from starlette.types import Message, Receive, Scope, Send

from duetty.edges.mcp.dialect import Json
from duetty.edges.mcp.peer import Peer

BATCHING = ("2024-11-05", "2025-03-26")
"""The others say that a body is one message, and the SDK refuses what is not."""

MAX_MESSAGES = 100

BEHIND_S = 0.02
"""A message that takes longer waits for something, and the next one begins beside it."""

_ACCEPTED = 202

Serve = Callable[[Scope, Receive, Send], Awaitable[None]]
"""Answers one request with one message in it."""


class Batch:
    def __init__(self, messages: list[Any], receive: Receive) -> None:
        self._messages = messages
        self._receive = receive

    async def answer(
        self, serve: Serve, *, turn: Callable[[], Awaitable[None]], scope: Scope, send: Send
    ) -> None:
        """`turn` returns when the caller may have more of the server's time: a batch is no way around that."""
        stream = _Merged(send)
        async with anyio.create_task_group() as tasks:
            for message in self._messages:
                await turn()
                part = partial(self._serve_one, serve, to_json(message), scope, stream)
                if _is_request(message):
                    await _begin(tasks, part)
                else:
                    await part()  # what comes after it may rely on it
        await stream.end()

    async def _serve_one(self, serve: Serve, body: bytes, scope: Scope, stream: "_Merged") -> None:
        is_given = False

        async def receive() -> Message:
            nonlocal is_given
            if is_given:
                return await self._receive()
            is_given = True
            return {"type": "http.request", "body": body, "more_body": False}

        headers = [each for each in scope["headers"] if each[0] != b"content-length"]
        headers.append((b"content-length", b"%d" % len(body)))
        part = _Part(stream)
        await serve({**scope, "headers": headers}, receive, part.send)


async def _begin(tasks: TaskGroup, part: Callable[[], Awaitable[None]]) -> None:
    """The next one begins when this one is over, or has waited: a hundred at once would hold everybody up."""
    over = anyio.Event()

    async def serve() -> None:
        try:
            await part()
        finally:
            over.set()

    tasks.start_soon(serve)
    with anyio.move_on_after(BEHIND_S):
        await over.wait()


def may_batch(version: str, peer: Peer | None) -> bool:
    """Whether an array may be a message: by the request's header, which those revisions did not
    have yet, and by the handshake, once it is over.
    """
    known = None if peer is None else peer.version
    return version in ("", *BATCHING) and (known is None or known in BATCHING)


def batch_of(body: bytes, receive: Receive) -> Batch | None:
    """The messages of an array; None where it is none that may be taken apart."""
    try:
        parsed: list[Any] = from_json(body)
    except ValueError:
        return None
    if not 0 < len(parsed) <= MAX_MESSAGES or any(_stands_alone(each) for each in parsed):
        return None
    return Batch(parsed, receive)


def _stands_alone(message: Any) -> bool:
    """A handshake: the server would get the others before it is over. And arrays within arrays."""
    if isinstance(message, dict):
        return cast("Json", message).get("method") == "initialize"
    return isinstance(message, list)


def _is_request(message: Any) -> bool:
    return isinstance(message, dict) and "id" in message and "method" in message


class _Merged:
    """One event stream for all; or, if no message has an answer, that all was accepted."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_open = False
        self._lock = anyio.Lock()

    async def event(self, frame: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        async with self._lock:
            if not self._is_open:
                self._is_open = True
                kept = [
                    each for each in headers if each[0] not in (b"content-length", b"content-type")
                ]
                kept.append((b"content-type", b"text/event-stream"))
                await self._send({"type": "http.response.start", "status": 200, "headers": kept})
            await self._send({"type": "http.response.body", "body": frame, "more_body": True})

    async def end(self) -> None:
        if not self._is_open:
            await self._send(
                {
                    "type": "http.response.start",
                    "status": _ACCEPTED,
                    "headers": [(b"content-length", b"0")],
                }
            )
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


class _Part:
    """The answer to one of the messages."""

    def __init__(self, stream: _Merged) -> None:
        self._stream = stream
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._is_stream = False
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = list(message.get("headers", ()))
            kind = dict(self._headers).get(b"content-type", b"")
            self._is_stream = kind.startswith(b"text/event-stream")
            return
        chunk = message.get("body", b"")
        if self._is_stream:
            if chunk:
                await self._stream.event(chunk, self._headers)
            return
        self._body += chunk
        if not message.get("more_body", False) and self._body and self._status != _ACCEPTED:
            frame = b"event: message\r\ndata: %s\r\n\r\n" % self._body.replace(b"\n", b" ")
            await self._stream.event(frame, self._headers)
