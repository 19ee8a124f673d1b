"""uvicorn as this server runs it."""

import asyncio
import socket
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import uvicorn

from duetty.edges.http import PeerCheckedProtocol
from duetty.edges.http.handshakes import SecuredListener
from duetty.edges.http.peer import HELD, STRANGERS
from duetty.ops import Bounds


class WebServer(uvicorn.Server):
    """Signals are the server's own business; TLS is for the network, not for the unix socket."""

    def __init__(self, config: uvicorn.Config, tls: ssl.SSLContext | None, bounds: Bounds) -> None:
        super().__init__(config)
        self._tls = tls
        self._bounds = bounds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        loop = asyncio.get_running_loop()

        self.servers = []
        held = self._bounds.strangers
        state: dict[str, Any] = {
            **self.lifespan.state,
            STRANGERS: held,
            HELD: self._bounds["connections"],
        }

        def protocol() -> asyncio.Protocol:
            return PeerCheckedProtocol(
                config=self.config, server_state=self.server_state, app_state=state
            )

        backlog = self.config.backlog
        for each in sockets or []:
            if self._tls is None or each.family == socket.AF_UNIX:
                server = await loop.create_server(protocol, sock=each, backlog=backlog)
            else:
                secured = SecuredListener(each, protocol, self._tls, held=held, backlog=backlog)
                server = cast("asyncio.Server", secured)  # as far as uvicorn uses one
            self.servers.append(server)
        self.started = True

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
