"""Streams of another node, passed on: its WebSockets and its server-sent events.

Only who may read here gets them. What changes something is not passed on but called
(`forwarding`), except raw keys, which cannot wait for a call each.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)

from duetty.calls import Actor, Call, Scope
from duetty.errors import ScopeMissing, ServerUnavailable
from duetty.hub import Answer, RemoteNode, dialled, exchange
from duetty.ops.permits import permit
from duetty.ops.remote_calls import ANSWER_S, recorded, refuse_denied, told_error
from duetty.ops.services import Services
from duetty.ops.table import OPERATIONS
from duetty.wire.params import WriteParams

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Of a node's WebSocket: a snapshot of ten thousand wide rows stays below."""

SILENCE_S = 60.0
"""A stream of events that says nothing for so long, not even a comment, is dead."""


class RelayedSocket:
    """A WebSocket of another node."""

    def __init__(self, socket: ClientConnection, node: RemoteNode) -> None:
        self._socket = socket
        self._node = node

    @property
    def ended(self) -> tuple[int, str]:
        """Code and reason, after `receive` said that it is over."""
        return self._socket.close_code or 1011, self._socket.close_reason or ""

    async def send(self, message: str | bytes) -> None:
        """Raises:
        anyio.EndOfStream: if the node has closed it.
        """
        try:
            await self._socket.send(message)
        except ConnectionClosed as error:
            raise anyio.EndOfStream from error

    async def receive(self) -> str | bytes:
        """Raises:
        anyio.EndOfStream: if the node has closed it.
        """
        try:
            return await self._socket.recv()
        except ConnectionClosed as error:
            raise anyio.EndOfStream from error


def may_follow(actor: Actor) -> None:
    """Raises:
    ScopeMissing: if the actor may not look at what another node has.
    """
    permit(actor, Scope.READ)
    if actor.session is not None:
        raise ScopeMissing(
            "this token is for one session of this server", details={"session": actor.session}
        )


@asynccontextmanager
async def relayed_socket(
    services: Services, actor: Actor, node: RemoteNode, target: str
) -> AsyncGenerator[RelayedSocket]:
    """Raises:
    ServerUnavailable: if the node does not answer.
    DuettyError: what it refused with.
    """
    may_follow(actor)
    if node.health != "healthy":
        raise node.unavailable(node.reason or "it has not answered yet")
    network = services.hub.network
    try:
        ip = await network.resolved(node.address)
        socket = await dialled(node, network, ip, target, max_bytes=MAX_MESSAGE_BYTES)
    except InvalidStatus as error:
        raise told_error(
            node, error.response.status_code, bytes(error.response.body or b"")
        ) from error
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI, WebSocketException) as error:
        raise node.unavailable("it does not open the WebSocket") from error
    try:
        yield RelayedSocket(socket, node)
    finally:
        with anyio.move_on_after(2, shield=True):
            await socket.close()


def begin_typing(services: Services, actor: Actor, node: RemoteNode, session: str) -> None:
    """Before the first raw keys for a session of another node.

    Raises:
        ScopeMissing, PolicyDenied, AuditUnavailable: none may be sent.
    """
    operation = OPERATIONS["input.write"]
    permit(actor, operation.scope)
    params = WriteParams.model_validate({"session": session, "data": ""})
    call = Call(actor=actor, operation=operation.name)
    refuse_denied(call, operation, params, services.deciding)
    with recorded(node, call, operation, params, services):
        pass


@asynccontextmanager
async def relayed_events(
    services: Services, actor: Actor, node: RemoteNode, target: str, headers: dict[str, str]
) -> AsyncGenerator[AsyncIterator[bytes]]:
    """Raises:
    ServerUnavailable: if the node does not answer.
    DuettyError: what it refused with.
    """
    may_follow(actor)
    if node.health != "healthy":
        raise node.unavailable(node.reason or "it has not answered yet")
    network = services.hub.network
    try:
        asked = exchange(
            node.address,
            await network.resolved(node.address),
            network.tls(node.address),
            method="GET",
            target=target,
            headers={**node.headers, **headers},
            body=None,
        )
        async with asked as answer:
            if answer.status != 200:
                with anyio.move_on_after(ANSWER_S):
                    raise told_error(node, answer.status, await answer.body())
                raise node.unavailable("it did not answer in time")
            yield _bounded(answer)
    except ServerUnavailable as error:
        raise node.unavailable(error.message) from error


async def _bounded(answer: Answer) -> AsyncIterator[bytes]:
    chunks = answer.chunks()
    while True:
        chunk: bytes | None = None
        with anyio.move_on_after(SILENCE_S):
            chunk = await anext(chunks, None)
        if chunk is None:
            return
        yield chunk
