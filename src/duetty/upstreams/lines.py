"""MCP over a program's standard streams: one message a line, none of them too long.

What is no message is dropped and noted in its log: many programs print a word or two
on standard output. An answer that is too long costs the call it answers, not the upstream.
"""

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from duetty.errors import DuettyError, UpstreamFault
from duetty.upstreams.child import Child
from duetty.wire.json_values import MAX_ANSWER_VALUES, has_few_values

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
MAX_GARBAGE = 1_000
"""Lines in a row that are no messages; a program that prints more is no MCP server."""

HEAD_BYTES = 512
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")')

Streams = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line that was not kept; its beginning may say what it answers."""

    head: bytes


class Splitter:
    """Bytes in, lines out; of a line that is too long only that it was."""

    def __init__(self, limit: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._dropped = 0

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        found: list[bytes | TooLong] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start:end])
            if self._dropped:
                found.append(TooLong(bytes(self._kept[:HEAD_BYTES])))
            elif self._kept:
                found.append(bytes(self._kept))
            self._kept.clear()
            self._dropped = 0
            start = end + 1
        self._add(data[start:])
        return found

    def _add(self, data: bytes) -> None:
        if self._dropped or len(self._kept) + len(data) > self._limit:
            if not self._dropped:
                self._kept += data[:HEAD_BYTES]
                del self._kept[HEAD_BYTES:]
            self._dropped += len(data)
        else:
            self._kept += data


@asynccontextmanager
async def speaking(
    child: Child, ended: Callable[[DuettyError | None], None]
) -> AsyncGenerator[Streams]:
    """`ended` is called when nothing more will come, with the reason if it is known."""
    to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        reason: DuettyError | None = None
        try:
            async with to_session:
                reason = await _read(child, to_session)
        finally:
            ended(reason)

    async def write() -> None:
        assert child.process.stdin is not None
        try:
            async with from_session:
                async for message in from_session:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await child.process.stdin.send(text.encode() + b"\n")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            await to_session.aclose()  # it reads no more: callers that wait get an error

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            tasks.cancel_scope.cancel()
            for stream in (incoming, outgoing, to_session, from_session):
                stream.close()


async def _read(
    child: Child, to_session: MemoryObjectSendStream[SessionMessage | Exception]
) -> DuettyError | None:
    assert child.process.stdout is not None
    splitter = Splitter()
    garbage = 0
    try:
        async for chunk in child.process.stdout:
            for line in splitter.feed(chunk):
                message = _message(line)
                if message is None:
                    garbage += 1
                    child.stderr.note(
                        f"no message of MCP on its standard output, {_length(line)} bytes"
                    )
                    if garbage > MAX_GARBAGE:
                        return UpstreamFault("what it prints is not MCP")
                    continue
                garbage = 0
                await to_session.send(message)
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        pass
    return None


def _message(line: bytes | TooLong) -> SessionMessage | None:
    if isinstance(line, TooLong):
        return _refused(line.head, f"{MAX_MESSAGE_BYTES} bytes")
    if not has_few_values(line, MAX_ANSWER_VALUES):
        return _refused(line[:HEAD_BYTES], f"{MAX_ANSWER_VALUES} values")
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


def _refused(head: bytes, bound: str) -> SessionMessage | None:
    """The end of the call that it answers, if its beginning names one."""
    found = _ID.search(head)
    if found is None:
        return None
    number = int(found[1]) if found[1].isdigit() else found[1][1:-1].decode("utf-8", "replace")
    error = ErrorData(code=INTERNAL_ERROR, message=f"its answer has more than {bound}")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=number, error=error))


def _length(line: bytes | TooLong) -> str:
    return f"more than {MAX_MESSAGE_BYTES}" if isinstance(line, TooLong) else str(len(line))
