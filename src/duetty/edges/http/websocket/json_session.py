"""`/sessions/{name}/ws/json`: methods and events of one session."""

from typing import Any

from starlette.websockets import WebSocket

from duetty.calls import Actor
from duetty.edges.http.websocket.feed import Feed, parse_wanted
from duetty.edges.http.websocket.requests import Request, Requests
from duetty.edges.http.websocket.socket import (
    DETACHED,
    SESSION_ENDED,
    Doors,
    Socket,
    refuse,
)
from duetty.errors import DuettyError
from duetty.ops import Dispatcher, View


async def json_session_endpoint(doors: Doors, websocket: WebSocket, actor: Actor) -> None:
    dispatcher = doors.dispatcher
    try:
        with dispatcher.follow(actor, websocket.path_params["session"]) as view:
            await doors.serve(
                websocket, actor, lambda socket: _Connection(dispatcher, socket, view).run()
            )
    except DuettyError as error:
        await refuse(websocket, error)


class _Connection:
    def __init__(self, dispatcher: Dispatcher, socket: Socket, view: View) -> None:
        self._dispatcher = dispatcher
        self._socket = socket
        self._view = view
        self._feed = Feed(
            view, socket.send_json, asked=lambda: dispatcher.approval_feed(socket.actor)
        )

    async def run(self) -> None:
        await self._socket.send_json({"connected": True})
        with self._dispatcher.captures(self._socket.actor) as captures:
            self._socket.tasks.start_soon(captures.keep)
            id_ = self._view.info().id
            requests = Requests(
                self._dispatcher,
                self._socket,
                captures,
                session=lambda: self._view.name,
                also=lambda: (id_,),
                subscribe=self._subscribe,
            )
            self._socket.tasks.start_soon(self._follow, requests, self._view.is_exited)
            await requests.run()

    async def _follow(self, requests: Requests, was_exited: bool) -> None:
        # One that comes after the end wants to read what is left.
        await self._feed.run(until_exit=not was_exited)
        await requests.settle()
        self._socket.end(DETACHED if self._view.ended == "detached" else SESSION_ENDED)

    async def _subscribe(self, request: Request) -> None:
        wanted = parse_wanted(request.params, needs_activity=False)
        if "input" in wanted.events:
            self._view.permit_keys()
        result: dict[str, Any] = {"events": request.params["events"]}
        await self._socket.send_json(request.answer(result=result))
        self._feed.subscribe(wanted)
