"""MCP over a unix socket: one JSON-RPC message a line, for the bridge of the same user.

Lines that are no message get an answer here; the SDK would drop them in silence.
A host that asks `server/discover` and then falls back to `initialize` is served:
the question is answered on a connection of its own, so it does not settle the era.
Plain calls of a client that the SDK has met are answered past it (`plain`).
"""

import json
import re
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any, Protocol, cast

import anyio
import mcp_types as t
from anyio.abc import ByteStream, SocketAttribute, TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel.server import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from duetty.calls import Confinement
from duetty.edges.mcp.core import Core, Use
from duetty.edges.mcp.dialect import Caller
from duetty.edges.mcp.line_reader import LOOK_S, LineReader, LineRefused
from duetty.edges.mcp.peer import Peer
from duetty.edges.mcp.plain_calls import PlainCall, odd_json, plain_call, progress_json
from duetty.edges.mcp.sdk import request_key
from duetty.errors import BadArguments, DuettyError, Exhausted
from duetty.ops import Bounds, timed
from duetty.wire.json_values import MAX_VALUES, has_few_values

TOLD_S = 1.0
"""For a connection that is closed to hear why."""

_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,100}")')

BAD_ID = "Invalid request: an id is a string or a whole number"

HELLO = "duetty/hello"
"""What the bridge asks first: it tells the dialects, its own name, the directory in which the host works, and the
sandbox in which everything runs that the host opens."""


Out = SessionMessage | bytes
"""An outgoing message: of the SDK, or bytes as they are."""


class _Served(Protocol):
    @property
    def core(self) -> Core: ...
    @property
    def server(self) -> Server[Caller | None]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """One connection."""

    served_for: Callable[[str | None], Awaitable[_Served]]
    """The server for dialects of these names; raises `DuettyError` where there is none."""

    stream: ByteStream
    caller: Caller
    bounds: Bounds

    async def serve(self) -> None:
        """Until the other end closes; calls on their way are cancelled, commands go on."""
        answers, to_write = anyio.create_memory_object_stream[Out](32)
        async with anyio.create_task_group() as tasks, answers, to_write:
            read = LineReader(
                self.stream, self.caller.actor, self.bounds, gone=tasks.cancel_scope.cancel
            )
            tasks.start_soon(self._write, to_write, read)
            peer = Peer(connection=token_hex(8))
            try:
                await timed(self._serve_messages(read, answers, peer), read.ran)
            finally:
                peer.go()
                read.close()
                tasks.cancel_scope.cancel()

    async def _serve_messages(
        self, read: LineReader, answers: MemoryObjectSendStream[Out], peer: Peer
    ) -> None:
        caller, names = replace(self.caller, peer=peer), None
        while (message := await _next_message(read, answers)) is not None:
            if isinstance(message, t.JSONRPCRequest) and message.method == HELLO:
                caller, names = _introduced(caller, message)
                peer.connection = _connection(message) or peer.connection
                try:
                    caller = _confined(caller, message)
                except BadArguments as error:
                    # Not served unconfined: a client that asks for confinement wrongly is refused.
                    await answers.send(_refusal(t.INVALID_PARAMS, error.message, message.id))
                    await _next_message(read, answers)
                    return
                await answers.send(await self._greeting(message, names))
                continue
            served = await self.served_for(names)
            raw = self.stream.extra(SocketAttribute.raw_socket, None)  # noqa: S610 - no Django here
            run = _Run(
                core=served.core, server=served.server, caller=caller, raw=raw, gone=read.gone
            )
            if isinstance(message, t.JSONRPCRequest) and message.method == "server/discover":
                await _answer_apart(run, message, answers)
            else:
                leave = served.core.connect(peer)
                try:
                    await _serve_era(run, message, read=read, answers=answers)
                finally:
                    leave()
                return

    async def _greeting(self, message: t.JSONRPCRequest, names: str | None) -> SessionMessage:
        try:
            await self.served_for(names)
        except DuettyError as error:
            reason = f"{error.message}; {error.hint}"
            return _refusal(t.INVALID_PARAMS, reason, message.id)
        return SessionMessage(t.JSONRPCResponse(jsonrpc="2.0", id=message.id, result={}))

    async def _write(self, messages: MemoryObjectReceiveStream[Out], read: LineReader) -> None:
        try:
            async for item in messages:
                await self.stream.send(item if isinstance(item, bytes) else _line(item))
                if isinstance(item, SessionMessage) and isinstance(
                    item.message, t.JSONRPCResponse | t.JSONRPCError
                ):
                    read.unanswered.discard(item.message.id)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            read.gone()  # the client left: its unread lines are dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The SDK's loop over one connection, or over one question."""

    core: Core
    server: Server[Caller | None]
    caller: Caller
    raw: socket.socket | None
    """What is behind the stream: its own way of sending takes two turns of the loop."""

    gone: Callable[[], None]
    """Called when the client has left."""

    async def __call__(
        self,
        receive: MemoryObjectReceiveStream[SessionMessage | Exception],
        answers: MemoryObjectSendStream[Out],
    ) -> None:
        # Wider than the SDK asks for: lines of our own go out between its messages.
        await serve_dual_era_loop(
            self.server, receive, cast("Any", answers), lifespan_state=self.caller
        )

    def plain(self, line: bytes) -> tuple[PlainCall, Use] | None:
        peer = self.caller.peer
        if peer is None or peer.version is None or (call := plain_call(line)) is None:
            return None
        use = self.core.plain_use(call, peer, self.caller)
        return None if use is None else (call, use)

    async def answer(self, call: PlainCall, use: Use, answers: MemoryObjectSendStream[Out]) -> None:
        """A plain call; one that is cancelled gets no answer."""
        peer, key = self.caller.peer, request_key(call.id)
        assert peer is not None

        async def report(progress: float, total: float | None, message: str | None) -> None:
            assert call.progress_token is not None
            line = progress_json(call.progress_token, progress, total, message)
            await self.send(line + b"\n", answers)

        with anyio.CancelScope() as scope:
            peer.calls[key] = scope
            try:
                outcome = await self.core.answer_plain(call, use, report)
            finally:
                if peer.calls.get(key) is scope:
                    del peer.calls[key]
            if isinstance(outcome, bytes):
                await self.send(outcome + b"\n", answers)
            else:
                await answers.send(_error(call, outcome))

    async def send(self, line: bytes, answers: MemoryObjectSendStream[Out]) -> None:
        """Write it at once, if nothing else is on its way and the socket takes it; else in its turn."""
        known = answers.statistics()
        if self.raw is None or known.current_buffer_used or not known.tasks_waiting_receive:
            await answers.send(line)
            return
        try:
            sent = self.raw.send(line)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.gone()
            return
        if sent < len(line):
            answers.send_nowait(line[sent:])  # not a moment later: half of it is out


async def _answer_apart(
    run: _Run, message: t.JSONRPCRequest, answers: MemoryObjectSendStream[Out]
) -> None:
    ask, asked = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    answer, answered = anyio.create_memory_object_stream[Out](1)
    async with anyio.create_task_group() as tasks, ask, asked, answer, answered:
        tasks.start_soon(run, asked, answer)
        await ask.send(SessionMessage(message))
        await answers.send(await answered.receive())
        tasks.cancel_scope.cancel()


async def _serve_era(
    run: _Run,
    first: t.JSONRPCMessage,
    *,
    read: LineReader,
    answers: MemoryObjectSendStream[Out],
) -> None:
    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    async with anyio.create_task_group() as tasks, send, receive:
        tasks.start_soon(run, receive, answers.clone())
        message: t.JSONRPCMessage | None = first
        while message is not None:
            _note(message, read.unanswered)
            await send.send(SessionMessage(message))
            message = await _next_message(read, answers, _PlainWay(run, answers, tasks, read))
        tasks.cancel_scope.cancel()


@dataclass(frozen=True, slots=True)
class _PlainWay:
    run: _Run
    answers: MemoryObjectSendStream[Out]
    tasks: TaskGroup
    read: LineReader

    def takes(self, line: bytes) -> bool:
        """Whether the line is a plain call, which is then on its way."""
        found = self.run.plain(line)
        if found is None:
            return False
        self.tasks.start_soon(self._answer, *found)
        return True

    async def _answer(self, call: PlainCall, use: Use) -> None:
        mark = object()
        self.read.unanswered.add(mark)
        try:
            await timed(self.run.answer(call, use, self.answers), self.read.ran)
        finally:
            self.read.unanswered.discard(mark)


def _note(message: t.JSONRPCMessage, unanswered: set[object]) -> None:
    """Of a request that is cancelled no answer comes."""
    match message:
        case t.JSONRPCRequest():
            unanswered.add(message.id)
        case t.JSONRPCNotification(method="notifications/cancelled", params={"requestId": id_}):
            unanswered.discard(id_)
        case _:
            pass


def _introduced(caller: Caller, message: t.JSONRPCRequest) -> tuple[Caller, str | None]:
    params: dict[str, Any] = message.params or {}
    cwd, names = params.get("cwd"), params.get("dialect")
    return (
        replace(caller, cwd=cwd) if isinstance(cwd, str) and cwd else caller,
        names if isinstance(names, str) and names else None,
    )


def _connection(message: t.JSONRPCRequest) -> str | None:
    """What the bridge calls itself: the same to every server that it meets."""
    match message.params:
        case {"connection": str(name)} if _CONNECTION.fullmatch(name):
            return name
        case _:
            return None


_CONNECTION = re.compile(r"[0-9a-f]{16}")


def _confined(caller: Caller, message: t.JSONRPCRequest) -> Caller:
    """The caller in the sandbox that the connection is opened with.

    The first one holds: the host's own program could send `hello` again behind the bridge.

    Raises:
        BadArguments: if it is none that there is.
    """
    params: dict[str, Any] = message.params or {}
    if caller.actor.confined is not None or params.get("sandbox") is None:
        return caller
    match params:
        case {"sandbox": "any" | "landlock" | "bubblewrap" as sandbox, "workspaces": [*given]} if (
            all(isinstance(each, str) for each in given)
        ):
            confined = Confinement(sandbox=sandbox, workspaces=tuple(map(str, given)))
        case _:
            raise BadArguments("no sandbox of that kind can be asked for")
    return replace(caller, actor=replace(caller.actor, confined=confined))


async def _next_message(
    read: LineReader,
    answers: MemoryObjectSendStream[Out],
    plain: _PlainWay | None = None,
) -> t.JSONRPCMessage | None:
    """The next message for the SDK, or None at the end; lines that are none are answered with an error."""
    while True:
        try:
            line = await read.next()
        except (LineRefused, Exhausted) as refused:
            await answers.send(_refusal(t.INVALID_REQUEST, str(refused)))
            with anyio.move_on_after(TOLD_S):
                while answers.statistics().current_buffer_used:  # noqa: ASYNC110 - it has no event
                    await anyio.sleep(LOOK_S)
            return None
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return None
        if not has_few_values(line):
            too_many = f"Parse error: a message has at most {MAX_VALUES} values"
            await answers.send(_refusal(t.PARSE_ERROR, too_many, _id_in(line)))
            continue
        if not line.strip() or (plain is not None and plain.takes(line)):
            continue
        try:
            message = _message(line)
        except ValueError:
            await answers.send(_not_a_message(line))
            continue
        if isinstance(message, t.JSONRPCNotification) and _has_id(line):
            # The SDK would hold it for a notification, and its sender would wait for ever.
            await answers.send(_refusal(t.INVALID_REQUEST, BAD_ID))
            continue
        return message


def _message(line: bytes) -> t.JSONRPCMessage:
    """Raises:
    ValueError: if it is none.
    """
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        if (odd := odd_json(line)) is None:
            raise
        return jsonrpc_message_adapter.validate_python(odd, by_name=False)


def _id_in(line: bytes) -> str | int | None:
    """What looks like the id of a message that is not parsed: at its beginning or its end."""
    found = _ID.search(line[:200]) or _ID.search(line[-200:])
    if found is None:
        return None
    return int(found[1]) if found[1].isdigit() else found[1][1:-1].decode("utf-8", "replace")


def _has_id(line: bytes) -> bool:
    return b'"id"' in line and "id" in json.loads(line)


def _line(item: SessionMessage) -> bytes:
    return item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


def _error(call: PlainCall, error: MCPError) -> SessionMessage:
    return SessionMessage(t.JSONRPCError(jsonrpc="2.0", id=call.id, error=error.error))


def _not_a_message(line: bytes) -> SessionMessage:
    try:
        parsed: object = json.loads(line)
    except (ValueError, RecursionError):
        return _refusal(t.PARSE_ERROR, "Parse error: the line is not JSON")
    known = None
    match parsed:
        case {"id": str() | int() as given} if not isinstance(given, bool) and _is_encodable(given):
            known = given
        case _:
            pass
    return _refusal(t.INVALID_REQUEST, "Invalid request: not a JSON-RPC message", known)


def _is_encodable(given: str | int) -> bool:
    """Half a character is in no answer."""
    try:
        str(given).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refusal(code: int, message: str, request_id: str | int | None = None) -> SessionMessage:
    error = t.ErrorData(code=code, message=message)
    return SessionMessage(t.JSONRPCError(jsonrpc="2.0", id=request_id, error=error))
