"""`?server=` on a session's WebSockets: the session is one of another node.

Raw bytes pass both ways. Of the JSON socket only events come from there; every
request is a call of this node, which forwards it: permitted, judged and recorded
as any. What belongs to the connection itself (`subscribe`, a capture) goes along.
"""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import cast
from urllib.parse import quote, urlencode

import anyio
from starlette.websockets import WebSocket

from duetty.calls import Actor, Scope
from duetty.edges.http.websocket.flow import WINDOW_BYTES
from duetty.edges.http.websocket.requests import Request, Requests
from duetty.edges.http.websocket.socket import (
    Closing,
    Doors,
    Socket,
    encoded,
    error_shape,
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
            actor = doors.admit(websocket)
            server = websocket.query_params.get("server")
            session = websocket.path_params.get("session")
            found = None
            if server is not None or session is not None:
                await doors.dispatcher.know(actor)
                found = doors.dispatcher.elsewhere(actor, server=server, session=session)
            if found is None:
                return await endpoint(doors, websocket, actor)
            node, asker = found
            if kind == "view":
                return await _view(doors, websocket, actor, asker, node)
            if kind is None or session is None:
                raise BadArguments(
                    "server: this tells of the sessions of this server",
                    hint="follow a session of another one: /sessions/{name}/ws/json?server=",
                )
            # By its id: the name may change while we follow.
            given = {"session": session, **({} if server is None else {"server": server})}
            info = await doors.dispatcher.call(actor, "session.get", given)
            flow = websocket.query_params.get("flow")
            query = f"?{urlencode({'flow': flow})}" if flow is not None and kind == "raw" else ""
            target = f"/sessions/{quote(info.id, safe='')}/ws/{kind}{query}"
            kind_of_relay = _Raw if kind == "raw" else _Json
            async with doors.dispatcher.relayed_socket(asker, node, target) as there:
                await doors.serve(
                    websocket,
                    actor,
                    lambda socket: kind_of_relay(
                        doors.dispatcher, socket, there, node, info, acks=flow == "ack"
                    ).run(),
                )
        except DuettyError as error:
            await refuse(websocket, error)

    return either


async def _view(
    doors: Doors, websocket: WebSocket, actor: Actor, asker: Actor, node: RemoteNode
) -> None:
    """The whole of another node's `/ws/view`, for one of our viewers. What it does there, it does as
    who it is here: the node decides, and its own list, streams and questions are shown.

    Raises:
        DuettyError: if the node does not open it.
    """
    if not node.has_joined:
        raise BadArguments(
            "server: a machine that was added does not know who looks",
            hint="have it join: `duetty join` there",
        )
    if not doors.access.is_unproven(actor):
        async with doors.dispatcher.relayed_socket(asker, node, "/ws/view") as there:
            await doors.serve(websocket, actor, lambda socket: _pass(socket, there))
        return

    async def serve(socket: Socket) -> None:
        """A browser shows the key of its sign-in first, here."""
        challenge = secrets.token_hex(16)
        own = doors.dispatcher.node
        hello = {"type": "hello", "server_id": node.id, "version": own.version}
        await socket.send_json({**hello, "window_bytes": WINDOW_BYTES, "challenge": challenge})
        try:
            given = parsed(await socket.receive() or "{}")
            proven = await doors.access.prove(
                actor,
                challenge=challenge,
                key=str(given.get("key", "")),
                proof=str(given.get("proof", "")),
            )
            await socket.send_json({"type": "proved"})
            known = replace(asker, scopes=proven.scopes)
            async with doors.dispatcher.relayed_socket(known, node, "/ws/view") as there:
                await there.receive()  # its hello: the viewer has ours
                await _pass(socket, there)
        except DuettyError as error:
            await socket.send_json({"type": "error", "error": error_shape(error)})
        except anyio.EndOfStream:
            return

    await doors.serve(websocket, actor, serve)


async def _pass(socket: Socket, there: NodeSocket) -> None:
    """Both ways, until either ends."""

    async def back() -> None:
        with suppress(anyio.EndOfStream):
            while True:
                await socket.send(await there.receive())
        socket.end(Closing(*there.ended))

    socket.tasks.start_soon(back)
    with suppress(anyio.EndOfStream):
        while (message := await socket.receive()) is not None:
            await there.send(message)


class _Relay(ABC):
    """Two WebSockets as one: what comes from the other node is shown here until either ends."""

    _requests: Requests | None = None
    """This node's own questions, where there are any."""

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
        """Pass a message of the node to the viewer."""


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
            server=self._node.id if self._node.has_joined else self._node.name,
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
