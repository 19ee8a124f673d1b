"""uvicorn as this server runs it."""

import asyncio
import socket
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

from duetty.descriptors import for_people, for_sessions, limit
from duetty.edges.http import PeerCheckedProtocol
from duetty.edges.http.peer import HEAD_S, HELD, STRANGERS
from duetty.ops import Shares


class WebServer(uvicorn.Server):
    """Signals are the server's own business; TLS is for the network, not for the unix socket."""

    def __init__(self, config: uvicorn.Config, tls: ssl.SSLContext | None) -> None:
        super().__init__(config)
        self._tls = tls

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        loop = asyncio.get_running_loop()

        most = max(16, limit() - for_people() - for_sessions())
        held = Shares("connections", most=most, each=most // 4, for_people=most // 8)
        state: dict[str, Any] = {**self.lifespan.state, STRANGERS: {}, HELD: held}

        def protocol() -> asyncio.Protocol:
            return PeerCheckedProtocol(
                config=self.config, server_state=self.server_state, app_state=state
            )

        self.servers = [
            await loop.create_server(
                protocol,
                sock=each,
                ssl=None if each.family == socket.AF_UNIX else self._tls,
                ssl_handshake_timeout=(
                    None if self._tls is None or each.family == socket.AF_UNIX else HEAD_S
                ),
                backlog=self.config.backlog,
            )
            for each in sockets or []
        ]
        self.started = True

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
