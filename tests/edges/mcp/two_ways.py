"""One small dialect served twice, with the short way of plain calls and without it, and what each says."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import anyio.lowlevel
from anyio.abc import ByteStream
from starlette.types import Message, Scope

from duetty.calls import Actor
from duetty.edges.mcp.core import Core
from duetty.edges.mcp.dialect import Answer, Caller, Calls, Dialect, Json, Picture, Tool
from duetty.edges.mcp.transports import Transports
from duetty.errors import Deadline, SessionNotFound
from duetty.hosts import Hosts
from duetty.ops import Bounds

Headers = Sequence[tuple[bytes, bytes]]

STRING: Json = {"type": "string"}
ANY: Json = {"type": "object"}
CALLER = Caller(actor=Actor(kind="agent", name="test"))


async def _echo(calls: Calls, arguments: Json) -> Answer:
    return Answer(content={"said": arguments, "none": None, "odd": ["é\u2028", 1.5, 10**20]})


async def _look(calls: Calls, arguments: Json) -> Answer:
    blocks: list[str | Picture] = ["seen", Picture(base64="aGk=")]
    return Answer(content={"ok": True}, blocks=blocks)


async def _list(calls: Calls, arguments: Json) -> Answer:
    return Answer(content={"all": [1]}, text=[1])


async def _late(calls: Calls, arguments: Json) -> Answer:
    raise Deadline("too late", hint="wait")


async def _lost(calls: Calls, arguments: Json) -> Answer:
    raise SessionNotFound("no such thing")


async def _crash(calls: Calls, arguments: Json) -> Answer:
    raise RuntimeError("secret")


async def _broken(calls: Calls, arguments: Json) -> Answer:
    return Answer(content={"name": "\udcff"})


async def _passed(calls: Calls, arguments: Json) -> Answer:
    link = {"type": "resource_link", "uri": "upstream+it:a:b", "name": "b", "_meta": {"x/y": 1}}
    sound = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
    result = {"content": [link, sound], "structuredContent": {"a": None}, "isError": True}
    return Answer(content={}, passed_on=result | {"_meta": {"duetty/decided_by": "person"}})


async def _wait(calls: Calls, arguments: Json) -> Answer:
    await anyio.sleep(arguments.get("wait_s", 3600))
    return Answer(content={"waited": True})


async def _tail(calls: Calls, arguments: Json) -> str | None:
    return "so far"


def _tool(name: str, run: Any, **options: Any) -> Tool:
    parameters: Any = options.pop("parameters", {})
    return Tool(
        name=name,
        title=name,
        description=name,
        result=ANY,
        run=run,
        parameters=parameters,
        **options,
    )


TOOLS = (
    _tool("echo", _echo, parameters={"text": STRING, "number": {"type": "integer"}}),
    _tool("look", _look, is_read_only=True),
    _tool("list", _list),
    _tool("late", _late),
    _tool("lost", _lost),
    _tool("crash", _crash),
    _tool("broken", _broken),
    _tool("passed", _passed),
    _tool("wait", _wait, parameters={"wait_s": {"type": "number"}}, tail=_tail),
    _tool("routed", _echo, parameters={"text": {**STRING, "x-mcp-header": "Text"}}),
)
DIALECT = Dialect(name="test", instructions="", tools=TOOLS)


class _LongCore(Core):
    takes_plain_calls = False


class _CountingCore(Core):
    plain = 0

    async def answer_plain(self, call: Any, use: Any, report: Any) -> Any:
        self.plain += 1
        return await super().answer_plain(call, use, report)


class _Bounded:
    """As much of a dispatcher as the transports ask: this dialect calls no operation."""

    def __init__(self) -> None:
        self.bounds = Bounds()
        self.hosts = Hosts()


class _Ways(Transports):
    def __init__(self, core: type[Core]) -> None:
        super().__init__({"test": DIALECT}, cast("Any", _Bounded()), default="test")
        self._core = core

    def make_core(self, dialect: Dialect) -> Core:
        return self._core(dialect, self.dispatcher)


@dataclass
class Pipe(ByteStream):
    """One end of a line, in memory."""

    heard: list[bytes] = field(default_factory=list[bytes])

    def __post_init__(self) -> None:
        self._say, self._said = anyio.create_memory_object_stream[bytes](10_000)

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        return await self._said.receive()

    async def send(self, item: bytes) -> None:
        self.heard.append(item)

    async def send_eof(self) -> None:
        self._say.close()

    async def aclose(self) -> None:
        self._say.close()
        self._said.close()

    async def say(self, *lines: bytes) -> list[Any]:
        """What is answered until nothing moves any more, in any order."""
        before = len(self.heard)
        for line in lines:
            await self._say.send(line + b"\n")
        await settled()
        return told(self.heard[before:])


async def settled() -> None:
    """Until nothing moves any more: all is in memory, and no hand-over takes more turns than this."""
    for _ in range(200):
        await anyio.lowlevel.checkpoint()


def told(lines: Sequence[bytes]) -> list[Any]:
    return sorted((json.loads(line) for line in lines), key=lambda each: json.dumps(each))


@asynccontextmanager
async def way(*, short: bool) -> AsyncGenerator[tuple[Transports, Any]]:
    transports = _Ways(_CountingCore if short else _LongCore)
    async with transports.running():
        yield transports, (await transports.served(None)).core


@asynccontextmanager
async def line(transports: Transports) -> AsyncGenerator[Pipe]:
    pipe = Pipe()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(transports.lines, CALLER, pipe)
        yield pipe
        await pipe.send_eof()
        await settled()
        tasks.cancel_scope.cancel()
    await pipe.aclose()


@dataclass
class Told:
    """An HTTP answer."""

    status: int = 0
    headers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    body: bytes = b""
    ended: bool = False

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name)

    def comparable(self, session: str) -> object:
        """All of it, but for the order of members and the name of the session."""
        shown = sorted(
            (name, value.replace(session or "-", "SESSION")) for name, value in self.headers
        )
        kind = self.header("content-type") or ""
        content: object = self.body.decode()
        if kind.startswith("text/event-stream"):
            frames = self.body.decode().split("\r\n\r\n")
            content = [_frame(frame) for frame in frames]
        elif kind.startswith("application/json") and self.body:
            content = json.loads(self.body)
            # The SDK escapes what is not ASCII; the length says nothing else.
            shown = [pair for pair in shown if pair[0] != "content-length"]
        return self.status, shown, content, self.ended


def _frame(frame: str) -> object:
    head, found, data = frame.partition("data: ")
    return (head, json.loads(data)) if found else frame


async def post(
    transports: Transports,
    body: bytes,
    headers: Headers,
    *,
    method: str = "POST",
    chunks: int = 1,
    actor: str = "test",
) -> Told:
    answer = Told()
    size = max(1, -(-len(body) // chunks))
    parts = [body[start : start + size] for start in range(0, len(body), size)] or [b""]
    waiting = iter(enumerate(parts, 1))

    async def receive() -> Message:
        for number, part in waiting:
            return {"type": "http.request", "body": part, "more_body": number < len(parts)}
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = [
                (name.decode("latin-1").lower(), value.decode("latin-1"))
                for name, value in message["headers"]
            ]
        else:
            answer.body += message.get("body", b"")
            answer.ended = not message.get("more_body", False)

    scope: Scope = {
        "type": "http",
        "method": method,
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "headers": [*headers, (b"content-length", b"%d" % len(body))],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
        "path_params": {},
    }
    caller = Caller(actor=Actor(kind="agent", name=actor))
    await transports.http(caller, None, scope=scope, receive=receive, send=send)
    return answer
