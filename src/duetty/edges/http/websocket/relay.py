"""`?server=` on a session's WebSockets: the session is one of another node.

Raw bytes pass both ways. Of the JSON socket only events come from there; every
request is a call of this node, which forwards it: permitted, judged and recorded
as any. What belongs to the connection itself (`subscribe`, a capture) goes along.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import cast
from urllib.parse import quote, urlencode

import anyio
from starlette.websockets import WebSocket

from duetty.calls import Actor, Scope
from duetty.edges.http.websocket.requests import Request, Requests
from duetty.edges.http.websocket.socket import (
    Closing,
    Doors,
    Socket,
    encoded,
    parsed,
    refuse,
)
from duetty.errors import BadArguments, DuettyError
from duetty.ops import Dispatcher, NodeSocket, RemoteNode, permit
from duetty.wire.results import SessionInfo

Endpoint = Callable[[Doors, WebSocket, Actor], Awaitable[None]]
Upgraded = Callable[[Doors, WebSocket], Awaitable[None]]


def or_relayed(endpoint: Endpoint, *, kind: str | None) -> Upgraded:
    """The endpoint, or that of the node which the query names.

    `kind` is the last word of the path; None where only this node can be followed.
    """

    async def either(doors: Doors, websocket: WebSocket) -> None:
        try:
            server = websocket.query_params.get("server")
            session = websocket.path_params.get("session")
            if (server is None and session is None) or (
                server is not None and doors.dispatcher.is_this(server)
            ):
                return await endpoint(doors, websocket, doors.admit(websocket))
            actor = doors.admit(websocket)
            await doors.dispatcher.know(actor)
            if server is None and session is not None:
                server = doors.dispatcher.server_of(actor, session)
            if server is None:
                return await endpoint(doors, websocket, actor)
            node = doors.dispatcher.elsewhere(actor, server)
            if kind is None:
                raise BadArguments(
                    "server: this tells of the sessions of this server",
                    hint="follow a session of another one: /sessions/{name}/ws/json?server=",
                )
            # By its id: the name may change while we follow.
            found = await doors.dispatcher.call(
                actor,
                "session.get",
                {"session": websocket.path_params["session"], "server": server},
            )
            flow = websocket.query_params.get("flow")
            query = f"?{urlencode({'flow': flow})}" if flow is not None and kind == "raw" else ""
            target = f"/sessions/{quote(found.id, safe='')}/ws/{kind}{query}"
            kind_of_relay = _Raw if kind == "raw" else _Json
            async with doors.dispatcher.relayed_socket(actor, node, target) as there:
                await doors.serve(
                    websocket,
                    actor,
                    lambda socket: kind_of_relay(
                        doors.dispatcher, socket, there, node, found, acks=flow == "ack"
                    ).run(),
                )
        except DuettyError as error:
            await refuse(websocket, error)

    return either


class _Relay(ABC):
    """Two WebSockets as one: what comes from the other node is shown here until either ends."""

    _requests: Requests | None = None
    """What is asked here, where anything is."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        socket: Socket,
        there: NodeSocket,
        node: RemoteNode,
        session: SessionInfo,
        *,
        acks: bool,
    ) -> None:
        self._dispatcher = dispatcher
        self._socket = socket
        self._there = there
        self._node = node
        self._session = session
        self._acks = acks

    async def run(self) -> None:
        self._socket.tasks.start_soon(self._pass_back)
        with suppress(anyio.EndOfStream):
            await self._serve()

    async def _pass_back(self) -> None:
        with suppress(anyio.EndOfStream):
            while True:
                await self._show(await self._there.receive())
        if self._requests is not None:
            await self._requests.settle()
        self._socket.end(Closing(*self._there.ended))

    @abstractmethod
    async def _serve(self) -> None:
        """Take what the viewer says, until it goes."""

    @abstractmethod
    async def _show(self, message: str | bytes) -> None:
        """Give the viewer what the node said."""


class _Raw(_Relay):
    _may_type: bool | None = None

    async def _serve(self) -> None:
        while (message := await self._socket.receive()) is not None:
            if (self._acks and isinstance(message, str)) or self._types():
                await self._there.send(message)

    def _types(self) -> bool:
        """As with a session here: what may not be typed is not, and the viewer looks on."""
        if self._may_type is None:
            try:
                self._dispatcher.begin_typing(self._socket.actor, self._node, self._session.id)
                self._may_type = True
            except DuettyError:
                self._may_type = False
        return self._may_type

    async def _show(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            await self._socket.send_bytes(message)


class _Json(_Relay):
    async def _serve(self) -> None:
        self._requests = Requests(
            self._dispatcher,
            self._socket,
            None,
            session=lambda: self._session.id,
            also=lambda: (self._session.name,),
            subscribe=self._pass_on,
            server=self._node.name,
        )
        await self._requests.run()

    async def _pass_on(self, request: Request) -> None:
        is_reading = request.method == "subscribe" and "input" not in _words(request)
        permit(self._socket.actor, Scope.READ if is_reading else Scope.INPUT)
        await self._there.send(
            encoded({"id": request.id, "method": request.method, "params": request.params})
        )

    async def _show(self, message: str | bytes) -> None:
        with suppress(DuettyError):  # what is not JSON is not for this socket
            await self._socket.send_json(parsed(message))


def _words(request: Request) -> list[object]:
    events = request.params.get("events")
    return cast("list[object]", events) if isinstance(events, list) else []
