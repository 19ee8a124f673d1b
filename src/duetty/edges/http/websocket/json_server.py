"""`/ws/json`: methods and events of all sessions, and what happens to the sessions themselves."""

from contextlib import suppress
from typing import Any

import anyio
import anyio.abc
from starlette.websockets import WebSocket

from duetty.calls import Actor, Scope
from duetty.edges.http.websocket.feed import Feed, Wanted, parse_wanted
from duetty.edges.http.websocket.requests import Request, Requests, SessionRequired
from duetty.edges.http.websocket.socket import Doors, Socket, error_shape, refuse
from duetty.errors import BadArguments, DuettyError
from duetty.ops import Dispatcher, Lagged, View, approval_shape, lifecycle_shape


async def json_server_endpoint(doors: Doors, websocket: WebSocket, actor: Actor) -> None:
    try:
        with doors.counted(actor):
            await doors.serve(
                websocket, actor, lambda socket: _Connection(doors.dispatcher, socket).run()
            )
    except DuettyError as error:
        await refuse(websocket, error)


class _Connection:
    def __init__(self, dispatcher: Dispatcher, socket: Socket) -> None:
        self._dispatcher = dispatcher
        self._socket = socket
        self._subscriptions: dict[str, anyio.CancelScope] = {}
        """By the session's id: names change."""

    async def run(self) -> None:
        await self._socket.send_json({"connected": True})
        if Scope.READ in self._socket.actor.scopes:
            await self._socket.tasks.start(self._follow_list)
            await self._socket.tasks.start(self._follow_approvals)
        with self._dispatcher.captures(self._socket.actor) as captures:
            self._socket.tasks.start_soon(captures.keep)
            requests = Requests(
                self._dispatcher,
                self._socket,
                captures,
                session=None,
                subscribe=self._subscribe,
            )
            await requests.run()

    async def _follow_list(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        with self._dispatcher.watch(self._socket.actor) as watch, suppress(anyio.EndOfStream):
            task_status.started()
            seen = watch.seq
            while True:
                entry = await watch.receive()
                if isinstance(entry, Lagged):
                    skipped, seen = entry.missed_through - seen, entry.missed_through
                    await self._socket.send_json({"type": "lagged", "skipped": skipped})
                    listed = {"sessions": watch.sessions()}
                    await self._socket.send_json({"event": "sessions", "params": listed})
                    continue
                seen = entry.seq
                shape = lifecycle_shape(entry.event)
                if shape is not None and watch.tells(entry.event):
                    await self._socket.send_json(shape)

    async def _follow_approvals(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """What waits for an answer, if anything does, then each question as it is asked and settled."""
        with (
            self._dispatcher.approval_feed(self._socket.actor) as asked,
            suppress(anyio.EndOfStream),
        ):
            task_status.started()
            changes = asked.pending()
            while True:
                for each in changes:
                    await self._socket.send_json(approval_shape(each))
                changed = await asked.receive()
                changes = asked.pending() if changed is None else [changed]

    async def _subscribe(self, request: Request) -> None:
        wanted = parse_wanted(request.params, needs_activity=True)
        server = request.params.get("server")
        if isinstance(server, str) and not self._dispatcher.is_this(server):
            self._dispatcher.elsewhere(self._socket.actor, server=server, session=None)
            raise BadArguments(
                "server: this follows sessions of this server",
                hint="/sessions/{name}/ws/json?server= follows one of another",
            )
        if request.session is None:
            raise SessionRequired("subscribe is about a session", hint='name it: "session": "…"')
        await self._socket.tasks.start(self._follow, request, wanted)

    async def _follow(
        self, request: Request, wanted: Wanted, *, task_status: anyio.abc.TaskStatus[None]
    ) -> None:
        """Answer the request, then tell events until the session is gone or asked for again."""
        assert request.session is not None
        with anyio.CancelScope() as scope:
            try:
                with self._dispatcher.follow(self._socket.actor, request.session) as view:
                    if "input" in wanted.events:
                        view.permit_keys()
                    id_ = view.info().id
                    if (earlier := self._subscriptions.get(id_)) is not None:
                        earlier.cancel()
                    self._subscriptions[id_] = scope
                    await self._feed(view, request, wanted, task_status)
                    if self._subscriptions.get(id_) is scope:
                        del self._subscriptions[id_]
            except DuettyError as error:
                await self._socket.send_json(request.answer(error=error_shape(error)))
                task_status.started()

    async def _feed(
        self,
        view: View,
        request: Request,
        wanted: Wanted,
        task_status: anyio.abc.TaskStatus[None],
    ) -> None:
        async def tell(event: dict[str, Any]) -> None:
            await self._socket.send_json({**event, "session": view.name})

        answer: dict[str, Any] = {"events": request.params["events"]}
        await self._socket.send_json(request.answer(result=answer))
        task_status.started()
        feed = Feed(
            view,
            tell,
            asked=lambda: self._dispatcher.approval_feed(self._socket.actor),
            nested_sync=True,
        )
        feed.subscribe(wanted)
        await feed.run()
