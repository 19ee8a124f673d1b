"""MCP over a unix socket: one JSON-RPC message a line, for the bridge of the same user.

Lines that are no message get an answer here; the SDK would drop them in silence.
A host that asks `server/discover` and then falls back to `initialize` is served:
the question is answered on a connection of its own, so it does not settle the era.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types as t
from mcp.server import Server
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from duetty.edges.mcp.dialect import Caller
from duetty.errors import DuettyError

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A longer message ends the connection; the bridge refuses it before."""

HELLO = "duetty/hello"
"""What the bridge asks first: it tells the dialects, and the directory in which the host works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """One connection."""

    server_for: Callable[[str | None], Awaitable[Server[Caller | None]]]
    """The server for dialects of these names; raises `DuettyError` where there is none."""

    stream: ByteStream
    caller: Caller

    async def serve(self) -> None:
        """Until the other end closes; calls on their way are cancelled, commands go on."""
        read = BufferedByteReceiveStream(self.stream)
        answers, to_write = anyio.create_memory_object_stream[SessionMessage](32)
        async with anyio.create_task_group() as tasks, answers, to_write:
            tasks.start_soon(self._write, to_write)
            try:
                await self._serve_messages(read, answers)
            finally:
                tasks.cancel_scope.cancel()

    async def _serve_messages(
        self, read: BufferedByteReceiveStream, answers: MemoryObjectSendStream[SessionMessage]
    ) -> None:
        caller, names = self.caller, None
        while (message := await _next_message(read, answers)) is not None:
            if isinstance(message, t.JSONRPCRequest) and message.method == HELLO:
                caller, names = _introduced(caller, message)
                await answers.send(await self._greeting(message, names))
                continue
            run = _Run(server=await self.server_for(names), caller=caller)
            if isinstance(message, t.JSONRPCRequest) and message.method == "server/discover":
                await _answer_apart(run, message, answers)
            else:
                await _serve_era(run, message, read=read, answers=answers)
                return

    async def _greeting(self, message: t.JSONRPCRequest, names: str | None) -> SessionMessage:
        try:
            await self.server_for(names)
        except DuettyError as error:
            told = f"{error.message}; {error.hint}"
            return _refusal(t.INVALID_PARAMS, told, message.id)
        return SessionMessage(t.JSONRPCResponse(jsonrpc="2.0", id=message.id, result={}))

    async def _write(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        try:
            async for item in messages:
                line = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self.stream.send(line.encode() + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the reader sees the end, too


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The SDK's loop over one connection, or over one question."""

    server: Server[Caller | None]
    caller: Caller

    async def __call__(
        self,
        receive: MemoryObjectReceiveStream[SessionMessage | Exception],
        answers: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        await serve_dual_era_loop(self.server, receive, answers, lifespan_state=self.caller)


async def _answer_apart(
    run: _Run, message: t.JSONRPCRequest, answers: MemoryObjectSendStream[SessionMessage]
) -> None:
    ask, asked = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    answer, answered = anyio.create_memory_object_stream[SessionMessage](1)
    async with anyio.create_task_group() as tasks, ask, asked, answer, answered:
        tasks.start_soon(run, asked, answer)
        await ask.send(SessionMessage(message))
        await answers.send(await answered.receive())
        tasks.cancel_scope.cancel()


async def _serve_era(
    run: _Run,
    first: t.JSONRPCMessage,
    *,
    read: BufferedByteReceiveStream,
    answers: MemoryObjectSendStream[SessionMessage],
) -> None:
    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    async with anyio.create_task_group() as tasks, send, receive:
        tasks.start_soon(run, receive, answers.clone())
        message: t.JSONRPCMessage | None = first
        while message is not None:
            await send.send(SessionMessage(message))
            message = await _next_message(read, answers)
        tasks.cancel_scope.cancel()


def _introduced(caller: Caller, message: t.JSONRPCRequest) -> tuple[Caller, str | None]:
    params: dict[str, Any] = message.params or {}
    cwd, names = params.get("cwd"), params.get("dialect")
    return (
        Caller(actor=caller.actor, cwd=cwd) if isinstance(cwd, str) and cwd else caller,
        names if isinstance(names, str) and names else None,
    )


async def _next_message(
    read: BufferedByteReceiveStream, answers: MemoryObjectSendStream[SessionMessage]
) -> t.JSONRPCMessage | None:
    """The next line that is a message, or None at the end; other lines are answered with an error."""
    while True:
        try:
            line = await read.receive_until(b"\n", MAX_LINE_BYTES)
        except anyio.DelimiterNotFound:
            await answers.send(
                _refusal(t.INVALID_REQUEST, f"a message has at most {MAX_LINE_BYTES} bytes")
            )
            return None
        except (
            anyio.EndOfStream,
            anyio.IncompleteRead,
            anyio.BrokenResourceError,
            anyio.ClosedResourceError,
        ):
            return None
        if not line.strip():
            continue
        try:
            return jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            await answers.send(_not_a_message(line))


def _not_a_message(line: bytes) -> SessionMessage:
    try:
        parsed: object = json.loads(line)
    except (ValueError, RecursionError):
        return _refusal(t.PARSE_ERROR, "Parse error: the line is not JSON")
    known = None
    match parsed:
        case {"id": str() | int() as given} if not isinstance(given, bool):
            known = given
        case _:
            pass
    return _refusal(t.INVALID_REQUEST, "Invalid request: not a JSON-RPC message", known)


def _refusal(code: int, message: str, request_id: str | int | None = None) -> SessionMessage:
    error = t.ErrorData(code=code, message=message)
    return SessionMessage(t.JSONRPCError(jsonrpc="2.0", id=request_id, error=error))
