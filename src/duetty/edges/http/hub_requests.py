"""What a hub asks of this node, over the WebSocket that the node opened: answered by the same application."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, Literal, cast
from urllib.parse import unquote

import anyio
from starlette.types import ASGIApp, Message

from duetty.calls import Scope
from duetty.clock import Clock
from duetty.edges.http.auth import FROM_HUB
from duetty.edges.http.errors import error_body
from duetty.edges.http.operations import MANNER
from duetty.edges.http.websocket.socket import ABORT
from duetty.errors import Deadline, DuettyError, ResultNotKept, ServerUnavailable
from duetty.ops import (
    PART_BYTES,
    HubCall,
    JoinedSocket,
    Kind,
    Opening,
    hub_actor,
    logged,
    packed,
    unpacked,
)

Once = Callable[[str, str, bytes, Callable[[], Awaitable[bytes]]], Awaitable[bytes]]

MAX_LOGGED = 200
"""Characters of what a hub says, in one field of the log."""

_NOT_DONE = (429, 503)
_HEADERS = frozenset({"content-type", "accept", "last-event-id"})
"""Headers that a hub may pass on; the caller's identity comes beside them."""


class HubRequests:
    """Runs each request through the application, as the caller it is for."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hub: str,
        allowed: frozenset[Scope],
        once: Once,
        clock: Clock,
        prefix: str = "",
    ) -> None:
        """`once` runs what has one command id of one caller once."""
        self._clock = clock
        self._once = once
        self._app = app
        self._hub = hub
        self._allowed = allowed
        self._prefix = prefix

    async def __call__(self, opening: Opening) -> None:
        if opening.is_late:
            body = error_body(
                Deadline.code,
                "it came after its caller had gone; nothing ran",
                details={"executed": False},
            )
            await opening.stream.send(Kind.HEAD, packed({"status": 408}, body), end=True)
        elif opening.head.get("type") == "websocket":
            await self._socket(opening)
        elif opening.head.get("method") in ("GET", "HEAD") or not opening.head.get("command_id"):
            with self._logged(opening, reads=True):
                await _Exchange(opening).serve(self._app, self._scope(opening, "http"))
        else:
            with self._logged(opening, reads=False) as line:
                await self._command(opening, line)

    def _logged(
        self, opening: Opening, *, reads: bool
    ) -> AbstractContextManager[dict[str, object]]:
        head = opening.head
        caller = cast("dict[str, object]", head.get("caller") or {})
        return logged(
            "call_of_hub",
            self._clock,
            reads=reads,
            command_id=str(head.get("command_id", ""))[:MAX_LOGGED],
            method=str(head.get("method", ""))[:MAX_LOGGED],
            path=str(head.get("target", "")).partition("?")[0][:MAX_LOGGED],
            caller=str(caller.get("name", ""))[:MAX_LOGGED],
        )

    async def _command(self, opening: Opening, line: dict[str, object]) -> None:
        """What changes something: done once, also when the hub asks again over another link."""
        exchange = _Kept(opening)
        await exchange.gather_body()
        head = opening.head

        line["ran"] = False

        async def run() -> bytes:
            line["ran"] = True
            await exchange.serve(self._app, self._scope(opening, "http"))
            if exchange.status in _NOT_DONE:
                raise _Refused(exchange.answer)
            return _LEFT if exchange.was_left else exchange.answer

        caller = cast("dict[str, object]", head.get("caller") or {})
        asked = f"{head.get('method')} {head.get('target')}\n".encode() + opening.body
        try:
            answer = await self._once(
                f"{self._hub}/{caller.get('name')}", str(head["command_id"]), asked, run
            )
        except _Refused as refused:
            answer = refused.answer
        except DuettyError as error:
            body = error_body(error.code, error.message, hint=error.hint, details=error.details)
            answer = packed({"status": 409}, body)
        reply, body = unpacked(answer)
        line["status"] = reply.get("status")
        await _answered(opening.stream, reply, body, end=True)

    def _scope(self, opening: Opening, kind: Literal["http", "websocket"]) -> dict[str, Any]:
        head = opening.head
        path, _, query = str(head.get("target", "/")).partition("?")
        given = head.get("headers")
        headers = cast("Mapping[object, object]", given if isinstance(given, dict) else {})
        actor = hub_actor(head.get("caller"), hub=self._hub, allowed=self._allowed)
        return {
            "type": kind,
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": str(head.get("method", "GET")),
            "scheme": "http" if kind == "http" else "ws",
            "path": self._prefix + unquote(path),
            "raw_path": (self._prefix + path).encode("utf-8", "replace"),
            "query_string": query.encode("latin-1", "replace"),
            "root_path": "",
            "headers": [
                (
                    str(name).lower().encode("latin-1", "replace"),
                    str(value).encode("latin-1", "replace"),
                )
                for name, value in headers.items()
                if str(name).lower() in _HEADERS
            ],
            "client": None,
            "server": ("hub", 0),
            "state": {FROM_HUB: actor},
            "subprotocols": [],
            "extensions": {},
        }

    async def _socket(self, opening: Opening) -> None:
        scope = self._scope(opening, "websocket")
        scope["extensions"] = {
            "websocket.http.response": {},
            ABORT: {"call": lambda: opening.stream.end("it was dropped")},
        }
        await _Upgrade(opening).serve(self._app, scope)


_ended = ResultNotKept("unknown")
_LEFT = packed(
    {"status": 409},
    error_body(_ended.code, _ended.message, hint=_ended.hint, details=_ended.details),
)


class _Refused(Exception):
    """It was not done, and may be asked again."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.answer = answer


class _Exchange:
    """One request: the application's messages as frames of the stream."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._stream = opening.stream
        self._is_whole = False
        self._gone = anyio.Event()
        self._stream.when_reset(self._gone.set)
        self._head: dict[str, object] | None = None
        self._call: HubCall | None = None

    async def serve(self, app: ASGIApp, scope: dict[str, Any]) -> None:
        head = self._opening.head
        manner: dict[str, Any] = {
            "dialect": str(head.get("dialect", ""))[:20],
            "mode": "headless" if head.get("mode") == "headless" else "interactive",
        }
        if not head.get("hears"):
            scope["state"][MANNER] = manner
            await app(scope, self._receive, self._send)
            return
        call = HubCall(self._say)
        scope["state"][MANNER] = {**manner, "progress": call.progress, "host": call.host}
        if not self._opening.is_whole:
            self._opening.body += await self._rest()
            self._opening.is_whole = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._hear, call)
            await app(scope, self._receive, self._send)
            tasks.cancel_scope.cancel()

    async def _say(self, message: Mapping[str, object]) -> None:
        await self._stream.send_json(Kind.ASIDE, message)

    async def _hear(self, call: HubCall) -> None:
        while True:
            frame = await self._stream.receive()
            if frame.kind is Kind.ASIDE:
                call.hear(frame.json())

    async def _rest(self) -> bytes:
        rest = bytearray()
        while True:
            frame = await self._stream.receive()
            rest += frame.payload
            if frame.end:
                return bytes(rest)

    async def _receive(self) -> Message:
        if self._is_whole:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        if self._opening.is_whole:
            self._is_whole = True
            return {"type": "http.request", "body": self._opening.body, "more_body": False}
        frame = await self._stream.receive()
        self._is_whole = frame.end
        return {"type": "http.request", "body": frame.payload, "more_body": not frame.end}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._head = {"status": message["status"], "headers": _named(message["headers"])}
            return
        body, end = bytes(message.get("body", b"")), not message.get("more_body", False)
        await _answered(self._stream, self._head, body, end=end)
        self._head = None


class _Kept(_Exchange):
    """One request whose answer is gathered before it is sent: the caller may ask for it again."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._gathered = bytearray()
        left_s = opening.head.get("left_ms")
        self._left_s = left_s / 1000 if isinstance(left_s, int) else 0.0
        self._stream.when_reset(self._on_reset)

    def _on_reset(self) -> None:
        if self._stream.was_reset:  # its caller left; a link that broke may come back
            self._gone.set()

    async def gather_body(self) -> None:
        if not self._opening.is_whole:
            self._opening.body += await self._rest()
            self._opening.is_whole = True

    @property
    def was_left(self) -> bool:
        """Its caller went away, so what it answered is not what the command did."""
        return self._gone.is_set()

    @property
    def status(self) -> int:
        return cast("int", (self._head or {}).get("status", 500))

    @property
    def answer(self) -> bytes:
        return packed(self._head or {"status": 500}, bytes(self._gathered))

    async def _say(self, message: Mapping[str, object]) -> None:
        with suppress(ServerUnavailable):  # it goes on without the link
            await super()._say(message)

    async def _hear(self, call: HubCall) -> None:
        with suppress(ServerUnavailable):
            await super()._hear(call)

    async def _receive(self) -> Message:
        if not self._is_whole:
            return await super()._receive()
        with anyio.move_on_after(self._left_s):  # its caller has stopped waiting
            await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await super()._send(message)
        else:
            self._gathered += message.get("body", b"")


class _Upgrade:
    """One WebSocket."""

    def __init__(self, opening: Opening) -> None:
        self._stream = opening.stream
        self._socket = JoinedSocket(opening.stream)
        self._is_connected = False
        self._head: dict[str, object] | None = None

    async def serve(self, app: ASGIApp, scope: dict[str, Any]) -> None:
        await app(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        if not self._is_connected:
            self._is_connected = True
            return {"type": "websocket.connect"}
        try:
            message = await self._socket.receive()
        except anyio.EndOfStream:
            return {"type": "websocket.disconnect", "code": self._socket.ended[0]}
        if isinstance(message, str):
            return {"type": "websocket.receive", "text": message}
        return {"type": "websocket.receive", "bytes": message}

    async def _send(self, message: Message) -> None:
        match message["type"]:
            case "websocket.accept":
                await self._stream.send(Kind.HEAD, packed({"status": 101}, b""))
            case "websocket.send":
                text = message.get("text")
                await self._socket.send(text if text is not None else bytes(message["bytes"]))
            case "websocket.close":
                await self._socket.close(message.get("code", 1000), message.get("reason") or "")
            case "websocket.http.response.start":
                self._head = {"status": message["status"], "headers": _named(message["headers"])}
            case _:
                body, end = bytes(message.get("body", b"")), not message.get("more_body", False)
                await _answered(self._stream, self._head, body, end=end)
                self._head = None


async def _answered(stream: Any, head: dict[str, object] | None, body: bytes, *, end: bool) -> None:
    """A head travels with the beginning of its body: a short answer is one message."""
    if head is None:
        await stream.send(Kind.DATA, body, end=end)
        return
    whole = packed(head, body)
    if len(whole) <= PART_BYTES:
        await stream.send(Kind.HEAD, whole, end=end)
        return
    await stream.send(Kind.HEAD, packed(head, b""))
    await stream.send(Kind.DATA, body, end=end)


def _named(headers: Any) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
