"""TLS: a connection counts from when it comes, not only when its handshake is over."""

import asyncio  # noqa: TID251 - sockets and servers are asyncio's
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

from duetty.descriptors import for_people, for_sessions, is_free, strangers
from duetty.edges.http.peer import HEAD_S, Stranger, make_room, source_of

ACCEPT_AGAIN_S = 0.1
"""After no connection could be taken: there may be a descriptor for it then."""


class SecuredListener:
    """Takes connections as asyncio's own server does, and each into TLS by itself."""

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext,
        *,
        held: dict[Stranger, str],
        backlog: int,
    ) -> None:
        self._listening = listening
        self._protocol = protocol
        self._context = context
        self._held = held
        listening.setblocking(False)
        listening.listen(backlog)
        self._task = asyncio.get_running_loop().create_task(self._accept())

    def close(self) -> None:
        self._task.cancel()

    async def wait_closed(self) -> None:
        await asyncio.wait({self._task})

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(self._listening)
            except OSError:
                await asyncio.sleep(ACCEPT_AGAIN_S)
                continue
            if not is_free(connection.fileno(), keeping=for_people() + for_sessions()):
                connection.close()
                continue
            source = source_of(str(address[0]))
            make_room(self._held, source, strangers())
            handshake = _Handshake(connection)
            self._held[handshake] = source
            handshake.task = loop.create_task(self._agree(handshake))

    async def _agree(self, handshake: "_Handshake") -> None:
        """Raises nothing: who does not agree is gone."""
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._protocol,
                handshake.connection,
                ssl=self._context,
                ssl_handshake_timeout=HEAD_S,
            )
        except (OSError, asyncio.CancelledError):
            handshake.connection.close()
        finally:
            self._held.pop(handshake, None)


class _Handshake:
    """A stranger until TLS is agreed on."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.task: asyncio.Task[None] | None = None

    def go(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        if self.task is not None:
            self.task.cancel()
