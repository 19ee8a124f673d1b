"""TLS: a connection counts from its first byte, not only when its handshake is over."""

import asyncio  # noqa: TID251 - transports are asyncio's
import socket
import ssl
from collections.abc import Callable
from typing import cast

from duetty.descriptors import for_people, for_sessions, is_free, strangers
from duetty.edges.http.peer import HEAD_S, Stranger, make_room, source_of


class Handshake(asyncio.Protocol):
    """A stranger until TLS is agreed on; then `protocol` goes on with what came meanwhile."""

    def __init__(
        self,
        protocol: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext,
        held: dict[Stranger, str],
    ) -> None:
        self._protocol = protocol
        self._context = context
        self._held = held
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        connection: socket.socket = transport.get_extra_info("socket")
        if not is_free(connection.fileno(), keeping=for_people() + for_sessions()):
            self._transport.abort()
            return
        source = source_of(str(transport.get_extra_info("peername")[0]))
        make_room(self._held, source, strangers())
        self._held[self] = source
        self._task = asyncio.get_running_loop().create_task(self._agree(self._transport))

    def go(self) -> None:
        assert self._transport is not None
        self._transport.abort()

    async def _agree(self, transport: asyncio.Transport) -> None:
        early = _Early()
        try:
            secured = await asyncio.get_running_loop().start_tls(
                transport,
                early,
                self._context,
                server_side=True,
                ssl_handshake_timeout=HEAD_S,
            )
        except (OSError, ssl.SSLError, ConnectionError, TimeoutError):
            transport.abort()
            return
        finally:
            self._held.pop(self, None)
        if secured is None or early.is_lost:
            return
        protocol = self._protocol()
        secured.set_protocol(protocol)
        protocol.connection_made(secured)
        if early.said and not secured.is_closing():
            protocol.data_received(bytes(early.said))


class _Early(asyncio.Protocol):
    """What a peer says in the same breath as the end of its handshake."""

    def __init__(self) -> None:
        self.said = bytearray()
        self.is_lost = False

    def data_received(self, data: bytes) -> None:
        self.said += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
