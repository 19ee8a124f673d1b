"""uvicorn's WebSocket, which says less: its own log lines carry paths with tickets in them."""

import asyncio  # noqa: TID251 - the signature is uvicorn's
import logging
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.http11 import Request

from duetty.edges.http.websocket.socket import ABORT, SEND_NOW

log = logging.getLogger("duetty.websocket.uvicorn")
log.setLevel(logging.WARNING)


class QuietWebSocket(WebSocketsSansIOProtocol):
    """Of the two on `websockets`, the one without a task of its own for each connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.logger = self.conn.logger = log

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):  # else the handshake was refused
            # For peers that take nothing: closing politely would wait for them to read.
            scope = cast("dict[str, Any]", self.scope)
            scope["extensions"][ABORT] = {"call": self.transport.abort}
            scope["extensions"][SEND_NOW] = {"call": self._send_now}

    def _send_now(self, data: bytes) -> bool:
        """A binary message between those of `send`, which are whole when it returns."""
        if (
            self.close_sent
            or self.disconnected
            or not self.handshake_complete
            or not self.writable.is_set()
        ):
            return False
        self.conn.send_binary(data)
        self.transport.write(b"".join(self.conn.data_to_send()))
        return True
