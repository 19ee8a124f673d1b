"""Server-sent events: what the JSON WebSockets tell, for those who have no WebSocket.

`GET /sessions/{name}/events` and `GET /events`. A stream begins with a `sync` (the
screen) or `sessions` (the list), unless `Last-Event-ID` shows that nothing was missed.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any
from urllib.parse import quote, urlencode

import anyio
import anyio.abc
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from duetty.calls import Actor
from duetty.calls import Scope as ActorScope
from duetty.edges.http.auth import Guard
from duetty.edges.http.errors import error_response
from duetty.edges.http.stopping import Stopping
from duetty.edges.http.websocket.feed import LOG_EVENTS, Feed, Wanted, parse_wanted
from duetty.edges.http.websocket.socket import Doors, encoded
from duetty.errors import BadArguments, DuettyError
from duetty.ops import (
    Dispatcher,
    Lagged,
    RemoteNode,
    View,
    Watch,
    approval_shape,
    lifecycle_shape,
    permit,
)

SEND_S = 30.0
"""How long one event may wait for a client that does not read."""

COMMENT_S = 15.0
"""Between two lines that say nothing, so that proxies keep the stream and dead clients are found."""

USUAL_EVENTS = ",".join(sorted({"approval", *LOG_EVENTS.values()} - {"input"}))
"""Of a session, unless others are asked for: what happens, not every line of it."""


RELAYED = ("events", "format", "interval_ms", "idle_timeout_ms", "quiesce_ms")
"""Parameters of a query that are passed to another node."""


def sse_routes(dispatcher: Dispatcher, guard: Guard, stopping: Stopping) -> list[Route]:
    doors = Doors(dispatcher, guard, stopping)

    async def relayed(request: Request, actor: Actor, place: tuple[RemoteNode, Actor]) -> Response:
        """Another node's events, as they come."""
        name = request.path_params.get("session")
        if "input" in request.query_params.get("events", ""):
            permit(actor, ActorScope.INPUT)
        path = "/events" if name is None else f"/sessions/{quote(name, safe='')}/events"
        fields = [(each, value) for each, value in request.query_params.multi_items()]
        target = f"{path}?{urlencode([each for each in fields if each[0] in RELAYED])}"
        last_id = request.headers.get("last-event-id", "")
        headers = {"Last-Event-ID": last_id} if last_id.isdecimal() else {}
        stack = AsyncExitStack()
        chunks = await stack.enter_async_context(
            dispatcher.relayed_events(place[1], place[0], target, headers)
        )

        async def feed(stream: "_Stream") -> None:
            async with stack:
                async for chunk in chunks:
                    await stream.write(chunk)

        if request.method == "HEAD":
            await stack.aclose()
        return _EventStream(feed, actor, guard, stopping, lambda: None, keep_alive=False)

    async def of_session(request: Request) -> Response:
        try:
            actor = guard.admit(request)
            await dispatcher.know(actor)
            if (place := _elsewhere(request, actor, dispatcher)) is not None:
                return await relayed(request, actor, place)
            wanted = parse_wanted(_params(request), needs_activity=False)
            following = dispatcher.follow(actor, request.path_params["session"])
            view = following.__enter__()
            if "input" in wanted.events:
                try:
                    view.permit_keys()
                except DuettyError:
                    following.__exit__(None, None, None)
                    raise
        except DuettyError as error:
            return error_response(error)
        last_id = request.headers.get("last-event-id")

        async def feed(stream: "_Stream") -> None:
            feed = Feed(view, _teller(stream, view), asked=lambda: dispatcher.approval_feed(actor))
            await _feed_session(stream, view, feed, wanted, last_id)

        return _EventStream(
            feed, actor, guard, stopping, lambda: following.__exit__(None, None, None)
        )

    async def of_server(request: Request) -> Response:
        try:
            actor = guard.admit(request)
            await dispatcher.know(actor)
            if (place := _elsewhere(request, actor, dispatcher)) is not None:
                return await relayed(request, actor, place)
            counted = doors.counted(actor)
            counted.__enter__()
        except DuettyError as error:
            return error_response(error)
        last_id = request.headers.get("last-event-id")

        async def feed(stream: "_Stream") -> None:
            with dispatcher.watch(actor) as watch, suppress(anyio.EndOfStream):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_feed_approvals, stream, watch, dispatcher, actor)
                    await _feed_list(stream, watch, last_id)
                    tasks.cancel_scope.cancel()

        return _EventStream(
            feed, actor, guard, stopping, lambda: counted.__exit__(None, None, None)
        )

    return [
        Route("/events", of_server, methods=["GET"]),
        Route("/sessions/{session}/events", of_session, methods=["GET"]),
    ]


def _elsewhere(
    request: Request, actor: Actor, dispatcher: Dispatcher
) -> tuple[RemoteNode, Actor] | None:
    server, session = request.query_params.get("server"), request.path_params.get("session")
    if server is None and session is None:
        return None
    return dispatcher.elsewhere(actor, server=server, session=session)


MAX_DIGITS = 25
"""Of a number in a query. What is longer is none that can be meant, and slow to read."""


def _params(request: Request) -> dict[str, Any]:
    query = request.query_params
    params: dict[str, Any] = {
        "events": [word.strip() for word in query.get("events", USUAL_EVENTS).split(",")],
        "format": query.get("format", "styled"),
    }
    for name in ("interval_ms", "idle_timeout_ms", "quiesce_ms"):
        if name in query:
            if not query[name].isdecimal() or len(query[name]) > MAX_DIGITS:
                raise BadArguments(f"{name}: a whole number, not negative")
            params[name] = int(query[name])
    return params


def _teller(stream: "_Stream", view: View) -> Callable[[dict[str, Any]], Awaitable[None]]:
    async def tell(event: dict[str, Any]) -> None:
        name = event.get("event") or event["type"]
        await stream.send(name, event, id_=view.seq)

    return tell


async def _feed_session(
    stream: "_Stream", view: View, feed: Feed, wanted: Wanted, last_id: str | None
) -> None:
    feed.subscribe(wanted, sync=last_id != str(view.seq))
    await feed.run()
    await stream.send("end", {"event": "end", "reason": view.ended}, id_=view.seq)


async def _feed_list(stream: "_Stream", watch: Watch, last_id: str | None) -> None:
    if last_id != str(watch.seq):
        await stream.send_list(watch)
    while True:
        entry = await watch.receive()
        if isinstance(entry, Lagged):
            await stream.send_list(watch)
            continue
        shape = lifecycle_shape(entry.event)
        if shape is not None and watch.tells(entry.event):
            await stream.send(shape["event"], shape, id_=entry.seq)


async def _feed_approvals(
    stream: "_Stream", watch: Watch, dispatcher: Dispatcher, actor: Actor
) -> None:
    """What waits for an answer, then each question as it is asked and settled."""
    with dispatcher.approval_feed(actor) as asked, suppress(anyio.EndOfStream):
        changes = asked.pending()
        while True:
            for each in changes:
                await stream.send("approval", approval_shape(each), id_=watch.seq)
            changed = await asked.receive()
            changes = asked.pending() if changed is None else [changed]


class _Stream:
    """Writes events; one that cannot be sent in time ends everything."""

    def __init__(self, send: Send, scope: anyio.CancelScope) -> None:
        self._send = send
        self._scope = scope

    async def send(self, name: str, event: dict[str, Any], *, id_: int) -> None:
        await self.write(f"id: {id_}\nevent: {name}\ndata: {encoded(event)}\n\n".encode())

    async def send_list(self, watch: Watch) -> None:
        seq, listed = watch.seq, watch.sessions()
        await self.send("sessions", {"event": "sessions", "params": {"sessions": listed}}, id_=seq)

    async def write(self, part: bytes) -> None:
        with anyio.move_on_after(SEND_S) as bound:
            await self._send({"type": "http.response.body", "body": part, "more_body": True})
        if bound.cancelled_caught:
            self._scope.cancel()

    async def keep_alive(self) -> None:
        while True:
            await anyio.sleep(COMMENT_S)
            await self.write(b":\n\n")


class _EventStream(Response):
    media_type = "text/event-stream"

    def __init__(
        self,
        feed: Callable[[_Stream], Awaitable[None]],
        actor: Actor,
        guard: Guard,
        stopping: Stopping,
        close: Callable[[], object],
        *,
        keep_alive: bool = True,
    ) -> None:
        super().__init__(headers={"x-accel-buffering": "no"})  # a proxy in front passes events on
        del self.headers["content-length"]
        self._feed = feed
        self._actor = actor
        self._guard = guard
        self._stopping = stopping
        self._close = close
        self._keep_alive = keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["method"] == "HEAD":
                await super().__call__(scope, receive, send)
                return
            await send(
                {
                    "type": "http.response.start",
                    "status": 200,
                    "headers": self.raw_headers,
                }
            )
            async with anyio.create_task_group() as tasks:
                await self._serve(tasks, receive, _Stream(send, tasks.cancel_scope))
        finally:
            self._close()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _serve(self, tasks: anyio.abc.TaskGroup, receive: Receive, stream: _Stream) -> None:
        async def watch_client() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch_client)
        if self._keep_alive:
            tasks.start_soon(stream.keep_alive)
        with (
            self._stopping.joined(tasks.cancel_scope.cancel),
            self._guard.live.joined(self._actor, tasks.cancel_scope.cancel),
        ):
            await self._feed(stream)
        tasks.cancel_scope.cancel()
