"""An MCP front whose bridge runs elsewhere: `/mcp`, and nothing else that matters.

The front knows no users and keeps nothing. Each request brings its user's token; the bridge says
whose it is, which rooms that user has, and what their tools answer. The secret says to the bridge
that the front may ask. So any number of fronts can stand before one bridge.
"""

import hashlib
import signal
import ssl
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from secrets import token_hex
from typing import Any

import anyio
import uvicorn
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from duetty.approvals import HostAsk
from duetty.calls import Actor
from duetty.edges.http import (
    PeerCheckedProtocol,
    bound_sockets,
    check_origin,
    error_response,
    origins,
    url_of,
)
from duetty.edges.mcp import PROTECTED_PATHS, McpEdge, ProtectedResource
from duetty.errors import AuthInvalid, AuthRequired, DuettyError, NotFound, ServerUnavailable
from duetty.hosts import HostClient, Hosts
from duetty.hub import Bridge
from duetty.ops import Bounds, Live, Progress, Watch, room_candidates, selected
from duetty.startup.web_server import WebServer
from duetty.wire.params import SelectParams
from duetty.wire.results import SelectedSession
from duetty.wire.rooms import RoomCallParams, RoomInfo, RoomResult, RoomTool, RoomTools

KNOWN_S = 30.0
"""For how long a token is not asked about again: then one that was revoked is refused here, too.
The bridge refuses it at once."""

MAX_TOKENS = 10_000
DIALECTS = "front"


class Tokens:
    """Of users, by what stands for them in a call; none is written or logged."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._kept: OrderedDict[str, tuple[str, float]] = OrderedDict()

    async def admit(self, request: HTTPConnection) -> Actor:
        """Raises:
        AuthRequired, AuthInvalid: if there is no token, or the bridge does not know it.
        ServerUnavailable: if the bridge cannot be asked.
        """
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise AuthRequired(
                "this request carries no token",
                hint="send 'Authorization: Bearer TOKEN', with a token of the bridge",
            )
        token = token.strip()
        id_ = hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
        known = self._kept.get(id_)
        if known is None or known[1] < anyio.current_time():
            self._kept.pop(id_, None)
            await self._bridge.sessions(token)
            self._kept[id_] = token, anyio.current_time() + KNOWN_S
            if len(self._kept) > MAX_TOKENS:
                self._kept.popitem(last=False)
        return Actor(kind="agent", name="front", scopes=frozenset(), token=id_)

    def of(self, actor: Actor) -> str:
        """Raises:
        AuthRequired: if it was not shown lately.
        """
        kept = self._kept.get(actor.token or "")
        if kept is None:
            raise AuthRequired("the token was not shown lately")
        return kept[0]


class BridgedOperations:
    """The operations that a front has, each asked of the bridge."""

    def __init__(self, bridge: Bridge, tokens: Tokens) -> None:
        self.bounds = Bounds()
        self.hosts = Hosts()
        self.has_left_runs = False  # rooms have none
        self._bridge = bridge
        self._tokens = tokens

    async def call(
        self,
        actor: Actor,
        name: str,
        arguments: Mapping[str, object],
        *,
        dialect: str = "",
        host: HostAsk | None = None,
        client: HostClient | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Raises:
        DuettyError: what the bridge says.
        """
        token = self._tokens.of(actor)
        match name:
            case "room.tools":
                return await self._tools(token, arguments)
            case "room.call":
                return await self._call(token, RoomCallParams.model_validate(arguments))
            case "session.select":
                return await self._select(token, SelectParams.model_validate(arguments))
            case _:
                raise NotFound(f"a front has no {name}")

    def watch(self, actor: Actor) -> AbstractContextManager[Watch]:
        raise NotFound("a front has no terminals")

    async def _tools(self, token: str, arguments: Mapping[str, Any]) -> RoomTools:
        after, wait_ms = arguments.get("after"), arguments.get("wait_ms", 0)
        found = await self._bridge.sessions(token, after=after, wait_s=wait_ms / 1000)
        try:
            rooms = [_room(each) for each in found["sessions"] if each.get("kind") != "terminal"]
            return RoomTools(seq=found["seq"], rooms=rooms)
        except (KeyError, TypeError, AttributeError, ValidationError) as error:
            raise ServerUnavailable("the bridge's list of sessions is none") from error

    async def _call(self, token: str, asked: RoomCallParams) -> RoomResult:
        command_id = asked.command_id or token_hex(16)
        result = await self._bridge.call(
            asked.room, command_id, asked.tool, asked.args, token, within_s=asked.wait_ms / 1000
        )
        return RoomResult(command_id=command_id, result=result)

    async def _select(self, token: str, asked: SelectParams) -> SelectedSession:
        found = await self._tools(token, {})
        return selected(room_candidates(found.rooms, asked.room_tool or ""), asked)


def _room(fields: Mapping[str, Any]) -> RoomInfo:
    return RoomInfo(
        session_id=fields["sessionId"],
        title=fields.get("title") or "",
        document_name=fields.get("documentName"),
        file_key=fields.get("fileKey"),
        last_activity_ms=fields.get("lastActivityMs") or 0,
        tools=[
            RoomTool(
                name=each["name"],
                description=each.get("description") or "",
                input_schema=each.get("inputSchema") or {"type": "object"},
            )
            for each in fields.get("tools") or ()
        ],
    )


class Front:
    def __init__(
        self,
        bridge: Bridge,
        *,
        bind: str,
        tls: ssl.SSLContext | None = None,
        hosts: Iterable[str] = (),
        cors_origins: Iterable[str] = (),
    ) -> None:
        self._bridge = bridge
        self._bind = bind
        self._tls = tls
        self._hosts = tuple(hosts)
        self._cors_origins = tuple(cors_origins)

    def run(self, *, announce: Callable[[str], None]) -> None:
        """Serve until SIGTERM or SIGINT.

        Raises:
            BadSetting: if the address cannot be bound, or a name is none.
        """
        anyio.run(self._serve, announce)

    async def _serve(self, announce: Callable[[str], None]) -> None:
        sockets = bound_sockets(self._bind)
        scheme = "http" if self._tls is None else "https"
        host, port = sockets[0].getsockname()[:2]
        known = origins(
            scheme=scheme,
            port=port,
            names=("localhost", "127.0.0.1", "::1", host),
            further=self._hosts,
            listed=self._cors_origins,
        )

        def check(connection: HTTPConnection) -> None:
            check_origin(connection, known)

        tokens = Tokens(self._bridge)
        operations = BridgedOperations(self._bridge, tokens)
        edge = McpEdge(
            operations,
            admit=_admitted,
            refuse=error_response,
            is_own_user=lambda _socket: False,
            live=Live(),
            dialects=DIALECTS,
        )
        mcp = _Door(edge, tokens, check)
        protected = ProtectedResource(check=check, refuse=error_response)
        app = Starlette(
            routes=[
                Route("/health", _health, methods=["GET"]),
                Route("/mcp", mcp),
                *(Route(path, protected) for path in PROTECTED_PATHS),
            ]
        )
        config = uvicorn.Config(
            app, http=PeerCheckedProtocol, lifespan="off", log_config=None, access_log=False,
            server_header=False, date_header=False, timeout_graceful_shutdown=5,
        )  # fmt: skip
        web = WebServer(config, self._tls, operations.bounds)

        async def stop_on_signal() -> None:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    web.should_exit = True

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_on_signal)
            tasks.start_soon(edge.serve_http)
            edge.preload()
            announce(url_of(sockets[0], scheme=scheme, prefix=""))
            await web.serve(sockets=sockets)
            await edge.stop()
            tasks.cancel_scope.cancel()


ADMITTED = "duetty.front_actor"


def _admitted(request: Request) -> Actor:
    admitted = request.scope["state"][ADMITTED]
    if isinstance(admitted, DuettyError):
        raise admitted
    return admitted


class _Door:
    """Before the MCP edge, which admits without waiting: the bridge is asked about a token here."""

    def __init__(
        self, edge: McpEdge, tokens: Tokens, check: Callable[[HTTPConnection], None]
    ) -> None:
        self._edge = edge
        self._tokens = tokens
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        admitted: Actor | DuettyError
        try:
            self._check(request)
            admitted = await self._tokens.admit(request)
        except (AuthRequired, AuthInvalid) as error:
            admitted = error  # the edge says how a token is shown
        except DuettyError as error:
            await error_response(error)(scope, receive, send)
            return
        scope.setdefault("state", {})[ADMITTED] = admitted
        await self._edge(scope, receive, send)


async def _health(_request: Request) -> Response:
    return JSONResponse({"status": "ok"})
