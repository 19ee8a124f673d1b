"""One HTTP request on the short way: a plain call whose headers say the same as its body.

Read `plain` first. What is not plain goes to the SDK with the body that was read. The
forms are the SDK's: the handshake era is answered with an event stream from the first
moment, the modern one with JSON, unless there is something to tell before the answer.
"""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import cast

import anyio
import mcp_types as t
from anyio.abc import TaskGroup
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic_core import from_json, to_json
from starlette.types import Message, Receive, Scope, Send

from duetty.edges.mcp.batch import Batch, batch_of, may_batch
from duetty.edges.mcp.core import Core, Use
from duetty.edges.mcp.deferred import later
from duetty.edges.mcp.dialect import Caller, Json
from duetty.edges.mcp.peer import Peer
from duetty.edges.mcp.plain_calls import PlainCall, plain_call, progress_json
from duetty.edges.mcp.sdk import in_flight, request_key

MAX_BODY_BYTES = 1024 * 1024
"""A longer body goes the long way, unread."""

PING_S = 15.0
"""Between two signs of life on a stream, so that no proxy takes it for dead."""

WATCH_AFTER_S = 0.05
"""A call that takes longer is cancelled with its connection, in the era that says so."""

REQUEST_CANCELLED = -32800

_ONCE = frozenset(
    (
        b"accept",
        b"content-type",
        b"mcp-session-id",
        b"mcp-protocol-version",
        b"mcp-method",
        b"mcp-name",
    )
)
_BAD_ID = (
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,'
    b'"message":"Invalid request: an id is a string or a whole number"}}'
)


async def exchange(
    core: Core,
    manager: StreamableHTTPSessionManager,
    caller: Caller,
    *,
    scope: Scope,
    receive: Receive,
    send: Send,
) -> Receive | Batch | None:
    """Answer the request if it is plain (then None); else what the SDK shall receive, message by message."""
    headers = _headers(scope)
    if headers is None:
        return receive
    session = headers.get(b"mcp-session-id", b"").decode("latin-1")
    version = headers.get(b"mcp-protocol-version", b"").decode("latin-1")
    is_modern = version in MODERN_PROTOCOL_VERSIONS
    peer = None
    if not is_modern:
        peer = core.http_peer(session, caller.actor)
        if version and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return receive
        if peer is None and not (session and may_batch(version, None)):
            return receive
    body, again = await body_of(receive, MAX_BODY_BYTES)
    if body.lstrip().startswith(b"[") and not is_modern and may_batch(version, peer):
        return batch_of(body, receive) or again
    if not is_modern and peer is None:
        return again
    call = plain_call(body, odd=True)
    if call is None:
        if peer is not None and _has_bad_id(body):
            await _send(send, 400, _BAD_ID, _session_header(session))
            return None
        return again
    if is_modern is (call.envelope is None) or (is_modern and not _agree(call, headers)):
        return again
    use = core.plain_use(call, peer, caller)
    if use is None:
        return again
    if peer is None:
        await _modern(core, call, use, again, send)
        return None
    with in_flight(manager, session) as alive:
        if not alive:
            return again
        await _handshake(core, call, use, peer, session, send)
    return None


# --- what is plain ------------------------------------------------------------------


def _headers(scope: Scope) -> dict[bytes, bytes] | None:
    """The headers that matter, if each is there at most once and nothing in them is odd."""
    if scope["method"] != "POST":
        return None
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _ONCE:
            if name in found:
                return None
            found[name] = value
        elif (
            name.startswith(b"mcp-param-")
            or name == b"transfer-encoding"
            or (
                name == b"content-length"
                and not (value.isdigit() and len(value) < 8 and int(value) <= MAX_BODY_BYTES)
            )
        ):
            return None
    accepted = {part.split(b";")[0].strip() for part in found.get(b"accept", b"").split(b",")}
    if found.get(b"content-type") != b"application/json" or not (
        b"*/*" in accepted or accepted >= {b"application/json", b"text/event-stream"}
    ):
        return None
    return found


def _agree(call: PlainCall, headers: dict[bytes, bytes]) -> bool:
    """Whether the headers of a modern request say what its body says."""
    name = headers.get(b"mcp-name", b"")
    return (
        headers.get(b"mcp-method") == b"tools/call"
        and name.decode("latin-1") == call.name
        and call.name.isascii()
        and not name.startswith(b"=?")
        and headers[b"mcp-protocol-version"].decode("latin-1") == call.version
    )


def _has_bad_id(body: bytes) -> bool:
    """Whether it is a request by its form, with an id that no answer can carry.

    The SDK would hold it for a notification, and its sender would never hear of it.
    """
    if b'"id"' not in body or b'"method"' not in body:
        return False
    try:
        parsed: object = from_json(body)
    except ValueError:
        return False
    if not isinstance(parsed, dict) or not isinstance(parsed.get("method"), str):  # pyright: ignore[reportUnknownMemberType]  # JSON
        return False
    return "id" in parsed and type(cast("Json", parsed)["id"]) not in (str, int)


async def refuse_body(send: Send, reason: str) -> None:
    error = {"code": t.PARSE_ERROR, "message": reason}
    await _send(send, 413, to_json({"jsonrpc": "2.0", "id": None, "error": error}))


async def body_of(receive: Receive, most: int) -> tuple[bytes, Receive]:
    """The body, empty if it has more bytes than that; and a way to receive it again."""
    seen: list[Message] = []
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        seen.append(message)
        if message["type"] != "http.request":
            break
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if not message.get("more_body", False) or size > most:
            break
    whole = size <= most and seen[-1]["type"] == "http.request"
    replayed = iter(seen)

    async def again() -> Message:
        for message in replayed:
            return message
        return await receive()

    return (b"".join(parts) if whole else b""), again


# --- the modern era -----------------------------------------------------------------


async def _modern(core: Core, call: PlainCall, use: Use, receive: Receive, send: Send) -> None:
    stream = _Stream(send, _SSE_HEADERS_MODERN)

    async def report(progress: float, total: float | None, message: str | None) -> None:
        assert call.progress_token is not None
        await stream.event(progress_json(call.progress_token, progress, total, message))

    with _watched(core.group, receive, stream):
        outcome = await core.answer_plain(call, use, report)
        if isinstance(outcome, MCPError):
            status = ERROR_CODE_HTTP_STATUS.get(outcome.error.code, 200)
            error = t.JSONRPCError(jsonrpc="2.0", id=call.id, error=outcome.error)
            outcome = error.model_dump_json(by_alias=True, exclude_none=True).encode()
        else:
            status = 200
        if stream.is_open:
            await stream.end(outcome)
        else:
            stream.is_over = True
            await _send(send, status, outcome)


@contextmanager
def _watched(group: TaskGroup, receive: Receive, stream: "_Stream") -> Generator[None]:
    """Cancels what is within when the client goes; starts to look only where it takes a while."""
    scope = anyio.CancelScope()

    async def watch() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_ping_later, stream)
            while (await receive())["type"] != "http.disconnect":
                pass
            if not stream.is_over:
                scope.cancel()
            tasks.cancel_scope.cancel()

    with scope, later(group, WATCH_AFTER_S, watch):
        yield


# --- the handshake era --------------------------------------------------------------


async def _handshake(
    core: Core, call: PlainCall, use: Use, peer: Peer, session: str, send: Send
) -> None:
    stream = _Stream(send, [*_SSE_HEADERS, *_session_header(session)])
    await stream.open()

    async def report(progress: float, total: float | None, message: str | None) -> None:
        assert call.progress_token is not None
        await stream.event(progress_json(call.progress_token, progress, total, message))

    key = request_key(call.id)
    outcome: bytes | MCPError = MCPError(code=REQUEST_CANCELLED, message="Request cancelled")
    with anyio.CancelScope() as scope:
        peer.calls[key] = scope
        try:
            with later(core.group, PING_S, partial(_ping, stream, says_when=True)):
                outcome = await core.answer_plain(call, use, report)
        finally:
            if peer.calls.get(key) is scope:
                del peer.calls[key]
    if peer.is_gone:
        await stream.end(None)
        return
    if isinstance(outcome, MCPError):
        error = t.JSONRPCError(jsonrpc="2.0", id=call.id, error=outcome.error)
        outcome = error.model_dump_json(by_alias=True, exclude_unset=True).encode()
    await stream.end(outcome)


# --- on the wire --------------------------------------------------------------------

_SSE_HEADERS_MODERN = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]
_SSE_HEADERS = _SSE_HEADERS_MODERN


def _session_header(session: str) -> list[tuple[bytes, bytes]]:
    return [(b"mcp-session-id", session.encode("latin-1"))]


class _Stream:
    """Server-sent events as the answer to one request."""

    def __init__(self, send: Send, headers: list[tuple[bytes, bytes]]) -> None:
        self._send = send
        self._headers = headers
        self.is_open = False
        self.is_over = False

    async def open(self) -> None:
        self.is_open = True
        await self._send(
            {"type": "http.response.start", "status": 200, "headers": list(self._headers)}
        )

    async def event(self, message: bytes) -> None:
        await self.raw(b"event: message\r\ndata: " + message + b"\r\n\r\n")

    async def raw(self, frame: bytes) -> None:
        if self.is_over:
            return
        if not self.is_open:
            await self.open()
        await self._send({"type": "http.response.body", "body": frame, "more_body": True})

    async def end(self, message: bytes | None) -> None:
        if message is not None:
            await self.event(message)
        self.is_over = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


async def _ping_later(stream: _Stream) -> None:
    await anyio.sleep(PING_S)
    await _ping(stream)


async def _ping(stream: _Stream, *, says_when: bool = False) -> None:
    while True:
        when = f" - {datetime.now(UTC)}".encode() if says_when else b""
        await stream.raw(b": ping" + when + b"\r\n\r\n")
        await anyio.sleep(PING_S)


async def _send(
    send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    shown = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
    await send(
        {"type": "http.response.start", "status": status, "headers": shown + (headers or [])}
    )
    await send({"type": "http.response.body", "body": body})
