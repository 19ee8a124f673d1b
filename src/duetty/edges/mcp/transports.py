"""The two ways in, over one SDK server: Streamable HTTP, and lines on a unix socket."""

import logging
from contextlib import AbstractAsyncContextManager

from anyio.abc import ByteStream
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from duetty.edges.mcp.core import SCOPE_CALLER, Core
from duetty.edges.mcp.dialect import Caller, Dialect
from duetty.edges.mcp.lines import Lines
from duetty.ops import Dispatcher

HTTP_IDLE_S = 1_800
"""Many clients never say that they are done; 40 kB and two tasks wait this long for each."""

HTTP_SESSIONS = 1_000

# At its own level the SDK logs every connection, with the id by which it is known.
logging.getLogger("mcp").setLevel(logging.WARNING)


class Transports:
    def __init__(self, dialect: Dialect, dispatcher: Dispatcher) -> None:
        self._server = Core(dialect, dispatcher).server()
        # No settings for Host and Origin: every request was admitted before it came here.
        self._http = StreamableHTTPSessionManager(
            self._server, session_idle_timeout=HTTP_IDLE_S, max_sessions=HTTP_SESSIONS
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """Holds the HTTP side's connections; they end with it."""
        return self._http.run()

    async def http(self, caller: Caller, *, scope: Scope, receive: Receive, send: Send) -> None:
        actor = caller.actor
        token = AccessToken(token="", client_id=f"{actor.kind}:{actor.name}", scopes=[])
        # The SDK serves a session only to the user that opened it.
        await self._http.handle_request(
            {**scope, SCOPE_CALLER: caller, "user": AuthenticatedUser(token)}, receive, send
        )

    async def lines(self, caller: Caller, stream: ByteStream) -> None:
        await Lines(server=self._server, stream=stream, caller=caller).serve()
