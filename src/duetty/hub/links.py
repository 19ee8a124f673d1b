"""The way to a node: one request and its answer, or one WebSocket. Both look alike, whichever side dialled."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import anyio
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)

from duetty.errors import ServerUnavailable
from duetty.hub.addresses import Address
from duetty.hub.dial import dialled
from duetty.hub.exchange import exchange
from duetty.hub.network import Network

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Of a node's WebSocket: a snapshot of ten thousand wide rows stays below."""

Aside = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""Takes what a node says beside its answer (progress, a question), and gives the answer to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The caller and its scopes, sent to a joined node. One that we dialled knows us by its token."""

    caller: Mapping[str, object]
    command_id: str = ""
    """The node does what has the same one once."""

    deadline_s: float = 30.0
    """The rest of the caller's time."""

    dialect: str = ""
    mode: str = "interactive"
    aside: Aside | None = None


class Answer(Protocol):
    """The head of an answer; its body as it comes."""

    status: int
    headers: dict[str, str]

    def chunks(self) -> AsyncIterator[bytes]: ...

    async def body(self) -> bytes: ...


class NodeSocket(Protocol):
    """A WebSocket of a node."""

    @property
    def ended(self) -> tuple[int, str]:
        """Code and reason, after `receive` returned the end."""
        ...

    async def send(self, message: str | bytes) -> None:
        """Raises:
        anyio.EndOfStream: if the node has closed it.
        """

    async def receive(self) -> str | bytes:
        """Raises:
        anyio.EndOfStream: if the node has closed it.
        """
        ...

    def drop(self) -> None:
        """End it now, from the loop."""


class SocketRefused(Exception):
    """The node answered an upgrade with an error."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"refused with status {status}")
        self.status = status
        self.body = body


class Link(Protocol):
    def request(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None,
        asking: Asking,
    ) -> AbstractAsyncContextManager[Answer]:
        """Ask, and give the answer when its head is there. The caller bounds the wait.

        Raises:
            ServerUnavailable: if there is none.
        """
        ...

    def socket(self, target: str, *, asking: Asking) -> AbstractAsyncContextManager[NodeSocket]:
        """Raises:
        ServerUnavailable: if it does not open.
        SocketRefused: if the node refuses it.
        """
        ...


class DialledLink:
    """To a node that we dial: a connection for each request."""

    def __init__(self, address: Address, headers: Mapping[str, str], network: Network) -> None:
        self._address = address
        self._headers = headers
        self._network = network

    @asynccontextmanager
    async def request(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None,
        asking: Asking,
    ) -> AsyncGenerator[Answer]:
        async with exchange(
            self._address,
            await self._network.resolved(self._address),
            self._network.tls(self._address),
            method=method,
            target=target,
            headers={**self._headers, **headers},
            body=body,
        ) as answer:
            yield answer

    @asynccontextmanager
    async def socket(self, target: str, *, asking: Asking) -> AsyncGenerator[NodeSocket]:
        try:
            ip = await self._network.resolved(self._address)
            socket = await dialled(
                self._address, self._headers, self._network, ip, target, max_bytes=MAX_MESSAGE_BYTES
            )
        except InvalidStatus as error:
            raise SocketRefused(
                error.response.status_code, bytes(error.response.body or b"")
            ) from error
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI, WebSocketException) as error:
            raise ServerUnavailable("it does not open the WebSocket") from error
        try:
            yield _DialledSocket(socket)
        finally:
            with anyio.move_on_after(2, shield=True):
                await socket.close()


class _DialledSocket:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    @property
    def ended(self) -> tuple[int, str]:
        return self._socket.close_code or 1011, self._socket.close_reason or ""

    async def send(self, message: str | bytes) -> None:
        try:
            await self._socket.send(message)
        except ConnectionClosed as error:
            raise anyio.EndOfStream from error

    async def receive(self) -> str | bytes:
        try:
            return await self._socket.recv()
        except ConnectionClosed as error:
            raise anyio.EndOfStream from error

    def drop(self) -> None:
        self._socket.transport.abort()
