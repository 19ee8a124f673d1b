"""The two ways in, over one SDK server for each dialect: Streamable HTTP, and lines on a unix socket."""

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial

import anyio
from anyio.abc import ByteStream, TaskGroup, TaskStatus
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from duetty.edges.mcp.batch import Batch
from duetty.edges.mcp.core import SCOPE_CALLER, Core
from duetty.edges.mcp.dialect import Caller, Dialect, Dispatching, chosen
from duetty.edges.mcp.exchange import body_of, exchange, refuse_body
from duetty.edges.mcp.lines import Lines
from duetty.edges.mcp.live_dialect import LiveCore
from duetty.edges.mcp.sdk import (
    MAX_MESSAGE_BYTES,
    OPENING,
    DuettyServer,
    OwnedSessions,
    has_stream,
)
from duetty.ops import MAX_OWED_S, Live, Shares, is_free, timed
from duetty.wire.json_values import MAX_VALUES, has_few_values

HTTP_IDLE_S = 1_800
"""Many clients never say that they are done; 40 kB and two tasks wait this long for each."""

STREAM_S, STREAM_LOOK_S = 5.0, 0.02
"""For a stream that was asked for to open, and between two looks: the SDK has no event for it."""

# At its own level the SDK logs every connection, with the id by which it is known.
logging.getLogger("mcp").setLevel(logging.WARNING)
# Nor what it refuses: the client hears it, and a greedy one would fill the disk.
logging.getLogger("mcp.server.streamable_http_manager").setLevel(logging.ERROR)
# A client that leaves in the middle of a request is no fault of ours: log no traceback.
logging.getLogger("mcp.server.streamable_http").addFilter(
    lambda record: not (record.exc_info and isinstance(record.exc_info[1], ClientDisconnect))
)


class Served:
    """One dialect (or several as one) with its SDK server."""

    def __init__(self, core: Core, live: Live, shares: Shares) -> None:
        self.core = core
        self.server: DuettyServer = core.server()
        # No settings for Host and Origin: every request was admitted before it came here.
        self.http = OwnedSessions(self.server, live, shares, idle_s=HTTP_IDLE_S)

    async def tell_of_left(self, session: str, caller: Caller) -> None:
        """The client opens its stream, perhaps again."""
        with anyio.move_on_after(STREAM_S):
            while (is_open := has_stream(self.http, session)) is not None:
                peer = self.core.http_peer(session, caller.actor)
                if peer is not None and is_open:
                    self.core.tell_of_left(peer, caller)
                    return
                await anyio.sleep(STREAM_LOOK_S)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Holds the HTTP side's connections, tasks and watches; they end with it."""
        async with self.core.running(), self.http.run():
            task_status.started()
            await anyio.sleep_forever()


class Transports:
    """Serves each dialect, from the first request for it on."""

    def __init__(
        self,
        dialects: Mapping[str, Dialect],
        dispatcher: Dispatching,
        *,
        default: str,
        live: Live | None = None,
    ) -> None:
        self._live = live or Live()
        self._dialects = dialects
        self.dispatcher = dispatcher
        self._default = default
        self._served: dict[str, Served] = {}
        self._starting = anyio.Lock()
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            await self.served(None)
            yield
            tasks.cancel_scope.cancel()

    async def served(self, names: str | None) -> Served:
        """The server for these dialects.

        Raises:
            BadSetting: if there is no dialect of such a name.
        """
        found = self._served.get(names or self._default)
        if found is not None:
            return found
        dialect = chosen(names or self._default, self._dialects)
        async with self._starting:
            found = self._served.get(dialect.name)
            if found is None:
                assert self._tasks is not None
                shares = self.dispatcher.bounds["mcp_sessions"]
                found = Served(self.make_core(dialect), self._live, shares)
                await self._tasks.start(found.run)
                self._served[dialect.name] = found
        return found

    def end_calls(self) -> bool:
        """Have every call on its way answered now. Whether there was one."""
        met = [served.core.ending.come() for served in self._served.values()]
        return any(met)

    def make_core(self, dialect: Dialect) -> Core:
        kind = Core if dialect.live is None else LiveCore
        return kind(dialect, self.dispatcher)

    async def http(
        self, caller: Caller, dialects: str | None, *, scope: Scope, receive: Receive, send: Send
    ) -> None:
        served = await self.served(dialects)
        # The HTTP parser leaves white space around values, which is none of theirs (RFC 9110, 5.5).
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        scope = {**scope, "headers": headers}
        if scope["method"] == "POST" and _may_have_many_values(headers):
            body, receive = await body_of(receive, MAX_MESSAGE_BYTES)
            if not has_few_values(body):
                await refuse_body(send, f"a message has at most {MAX_VALUES} values")
                return
        left = await exchange(
            served.core, served.http, caller, scope=scope, receive=receive, send=send
        )
        if left is None:
            return
        if isinstance(left, Batch):

            async def turn() -> None:
                if not is_free(caller.actor):
                    await anyio.sleep(min(fairness.owed_s(caller.actor.identity), MAX_OWED_S))

            async def one(scope: Scope, receive: Receive, send: Send) -> None:
                part = self.http(caller, dialects, scope=scope, receive=receive, send=send)
                await timed(part, partial(fairness.ran, caller.actor.identity))

            fairness = self.dispatcher.bounds.fairness
            await left.answer(one, turn=turn, scope=scope, send=send)
            return
        token = AccessToken(token="", client_id=caller.actor.identity, scopes=[])
        # The SDK serves a session only to the user that opened it.
        user = AuthenticatedUser(token)
        OPENING.set(caller.actor)
        if scope["method"] == "GET" and (session := dict(headers).get(b"mcp-session-id")):
            served.core.group.start_soon(served.tell_of_left, session.decode("latin-1"), caller)
        begun, is_over = False, False

        async def answer(message: Message) -> None:
            nonlocal begun, is_over
            begun = True
            is_over = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        await served.http.handle_request(
            {**scope, SCOPE_CALLER: caller, "user": user}, left, answer
        )
        # Its session ended within the request, with its credential or by its age.
        if not begun:
            await Response(status_code=404)(scope, receive, send)
        elif not is_over:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def lines(self, caller: Caller, stream: ByteStream) -> None:
        bounds = self.dispatcher.bounds
        lines = Lines(served_for=self.served, stream=stream, caller=caller, bounds=bounds)
        await lines.serve()


def _may_have_many_values(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether the body has to be looked at: a value takes a byte at least, and a body whose length is
    declared as too large is refused unread.
    """
    sizes = [value for name, value in headers if name == b"content-length"]
    if len(sizes) != 1 or not sizes[0].isdigit():
        return True
    return len(sizes[0]) < 20 and MAX_VALUES < int(sizes[0]) <= MAX_MESSAGE_BYTES
