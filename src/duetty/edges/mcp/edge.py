"""The MCP edge as the server composes it: an ASGI application and a unix socket.

The SDK takes most of a second and 35 MB to import, and many servers never meet an
MCP client, so it is loaded when the first one comes, or in the background when
the server has time.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskGroup, TaskStatus
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from duetty.calls import Actor
from duetty.edges.mcp.dialect import Caller, Dispatching
from duetty.edges.mcp.resource_metadata import challenge
from duetty.errors import (
    AuthInvalid,
    AuthRequired,
    DuettyError,
    Exhausted,
    UnsupportedMediaType,
)
from duetty.ops import SESSION_HEADER, Live

if TYPE_CHECKING:
    import socket

    from duetty.edges.mcp.transports import Transports

LOCAL = Caller(actor=Actor(kind="agent", name="local"))
"""A client on the socket of the server's own user."""

RETRY_S = 1.0
"""Between two attempts at what a machine without room refused."""

ANSWERED_S = 0.5
"""For the answers to calls that the end of the server cut off to be on their way."""

TOLD_S = 1.0
INVALID_REQUEST = -32600
"""As the SDK has it, which may not be loaded yet."""

log = logging.getLogger("duetty.mcp")


class McpEdge:
    """Answers MCP clients; admission is decided by what the composition hands in."""

    def __init__(
        self,
        dispatcher: Dispatching,
        *,
        admit: Callable[[Request], Actor],
        refuse: Callable[[DuettyError], Response],
        is_own_user: Callable[[socket.socket], bool],
        live: Live | None = None,
        dialects: str = "wsh",
        takes_aliases: bool = True,
        prefix: str = "",
    ) -> None:
        self._dispatcher = dispatcher
        self._admit = admit
        self._refuse = refuse
        self._is_own_user = is_own_user
        self._live = live or Live()
        self._dialects = dialects
        self._takes_aliases = takes_aliases
        self._prefix = prefix
        self._wanted = anyio.Event()
        self._ready = anyio.Event()
        self._serving = anyio.CancelScope()
        self._transports: Transports | None = None
        self.connections = 0
        """Open connections of the unix socket."""

    async def serve_http(self) -> None:
        """Serve Streamable HTTP only, until stopped."""
        with self._serving:
            await self._run()

    async def serve(
        self, path: Path, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Listen at `path` and serve both transports until stopped."""
        _unlink(path)  # the instance's lock is held, so no server listens there
        try:
            with self._serving:
                await self._serve(path, task_status)
        finally:
            self._transports = None
            _unlink(path)

    def preload(self) -> None:
        self._wanted.set()

    async def stop(self) -> None:
        if self._transports is not None and self._transports.end_calls():
            await anyio.sleep(ANSWERED_S)
        self._serving.cancel()

    async def _serve(self, path: Path, task_status: TaskStatus[None]) -> None:
        async with (
            await anyio.create_unix_listener(path, mode=0o600) as listener,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(self._listen, listener, tasks)
            task_status.started()
            await self._run()

    async def _run(self) -> None:
        await self._wanted.wait()
        transports = await self._load()
        async with transports.running():
            self._transports = transports
            self._ready.set()
            await anyio.sleep_forever()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The Streamable HTTP endpoint, behind the same checks as every other route."""
        request = Request(scope)
        try:
            actor = self._admit(request)
            _refuse_other_than_json(request)
            names = request.path_params.get("dialect")
            if not names and scope["query_string"]:
                names = request.query_params.get("dialect")
            transports = await self._loaded()
            await transports.served(names)
        except DuettyError as error:
            refusal = self._refuse(error)
            if isinstance(error, AuthRequired | AuthInvalid):
                # The API answers 403 to a wrong token; MCP asks for 401.
                refusal.status_code = 401
                refusal.headers["WWW-Authenticate"] = challenge(request, error, prefix=self._prefix)
            await refusal(scope, receive, send)
            return
        # A stream that stays open ends with the token that opened it.
        with anyio.CancelScope() as serving, self._live.joined(actor, serving.cancel):
            caller = Caller(actor=actor, session=request.headers.get(SESSION_HEADER))
            await transports.http(caller, names, scope=scope, receive=receive, send=send)

    async def _serve_connection(self, stream: SocketStream) -> None:
        async with stream:
            if not self._is_own_user(stream.extra(SocketAttribute.raw_socket)):  # noqa: S610 - no Django here
                return
            self.connections += 1
            bounds = self._dispatcher.bounds
            try:
                with bounds["connections"].taken(LOCAL.actor):
                    transports = await self._loaded()
                    with bounds["mcp_sessions"].taken(LOCAL.actor):
                        await transports.lines(LOCAL, stream)
            except Exhausted as error:
                await _tell(stream, error)
            except Exception:
                # One bad connection must not cost the others theirs.
                log.exception("mcp_connection_crashed")
            finally:
                self.connections -= 1

    async def _listen(self, listener: SocketListener, tasks: TaskGroup) -> None:
        """Accept until stopped; a process without descriptors waits for one."""
        while True:
            try:
                await listener.serve(self._serve_connection, tasks)
            except (OSError, anyio.BrokenResourceError) as error:
                log.warning("mcp_accept_failed", extra={"reason": str(error.__cause__ or error)})
            await anyio.sleep(RETRY_S)

    async def _load(self) -> Transports:
        """Loaded in the end: what fails now (no descriptor for a file) may not in a moment."""
        while True:
            try:
                return await anyio.to_thread.run_sync(
                    partial(_load, takes_aliases=self._takes_aliases, live=self._live),
                    self._dispatcher,
                    self._dialects,
                    abandon_on_cancel=True,
                )
            except Exception:
                log.exception("mcp_load_failed")
            await anyio.sleep(RETRY_S)

    async def _loaded(self) -> Transports:
        self._wanted.set()
        await self._ready.wait()
        assert self._transports is not None
        return self._transports


async def _tell(stream: SocketStream, error: DuettyError) -> None:
    """Why a connection is closed before anything was read of it."""
    reason = {"code": INVALID_REQUEST, "message": f"{error.message}; {error.hint}"}
    line = json.dumps({"jsonrpc": "2.0", "id": None, "error": reason})
    with anyio.move_on_after(TOLD_S), suppress(anyio.BrokenResourceError):
        await stream.send(line.encode() + b"\n")


def _refuse_other_than_json(request: Request) -> None:
    """Here and not in the SDK, which says 400 of it: the published status is 415."""
    if request.method != "POST" or _JSON in request.scope["headers"]:
        return
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise UnsupportedMediaType(
            "the body must be JSON", hint="send 'Content-Type: application/json'"
        )


_JSON = (b"content-type", b"application/json")
"""As nearly every client sends it."""


def _unlink(path: Path) -> None:
    path.unlink(missing_ok=True)


def _load(dispatcher: Dispatching, default: str, *, takes_aliases: bool, live: Live) -> Transports:
    from duetty.edges.mcp.sdk_imports import loading, prepare

    with loading():
        prepare()
        from duetty.edges.mcp.dialects import DIALECTS
        from duetty.edges.mcp.dialects.terminal import TERMINAL, without_aliases
        from duetty.edges.mcp.transports import Transports

    terminal = TERMINAL if takes_aliases else without_aliases()
    return Transports({**DIALECTS, terminal.name: terminal}, dispatcher, default=default, live=live)
