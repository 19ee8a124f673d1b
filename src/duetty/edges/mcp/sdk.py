"""The unstable things of the SDK that we touch, in one place: capabilities, connections, middleware, sessions.

A new version of the SDK is let in by the conformance suite, and mended here.
"""

import math
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, get_args

import anyio
import mcp_types as t
from mcp.server.auth.middleware.bearer_auth import AuthorizationContext
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.streamable_http import GET_STREAM_KEY, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.dispatcher import Outbound, coerce_request_id
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic_core import to_json

from duetty.calls import Actor
from duetty.edges.mcp.dialect import Caller
from duetty.errors import Exhausted
from duetty.ops import Live, Shares

Context = ServerRequestContext[Caller | None, Any]

CLIENT_CHARS = 60
"""Of a client's name for itself; the rest is left out."""

LOG_LEVELS: tuple[str, ...] = get_args(t.LoggingLevel)
TASKS_EXTENSION = "io.modelcontextprotocol/tasks"
TASKS_IN_CORE = "2025-11-25"
"""The one revision of the handshake era that has tasks."""


class DuettyServer(Server[Caller | None]):
    """Says of itself what is true: lists that change, and tasks in both eras."""

    has_tasks = False
    is_live = False
    """Whether its tools and prompts come and go."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        # Callers in the SDK leave the options out, and then no list would ever change.
        return super().create_initialization_options(
            notification_options or NotificationOptions(resources_changed=True),
            experimental_capabilities,
            extensions,
        )

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> t.ServerCapabilities:
        capabilities = super().get_capabilities(
            notification_options,
            experimental_capabilities,
            extensions,
            protocol_version=protocol_version,
        )
        if protocol_version not in MODERN_PROTOCOL_VERSIONS:
            capabilities.logging = t.LoggingCapability()
        if capabilities.tools is not None:
            capabilities.tools.list_changed = self.is_live
        if capabilities.prompts is not None:
            capabilities.prompts.list_changed = self.is_live
        if self.has_tasks and protocol_version not in MODERN_PROTOCOL_VERSIONS:
            capabilities.tasks = t.ServerTasksCapability(
                list=t.TasksListCapability(),
                cancel=t.TasksCancelCapability(),
                requests=t.ServerTasksRequestsCapability(
                    tools=t.TasksToolsCapability(call=t.TasksCallCapability())
                ),
            )
        return capabilities


_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


async def set_level(context: Context, params: t.SetLevelRequestParams) -> t.EmptyResult:
    connection_of(context).state["level"] = params.level
    return t.EmptyResult()


async def tell_client(connection: Connection, news: dict[str, Any]) -> None:
    """A notification, in the era that has them; dropped where the client has no stream open."""
    least = str(connection.state.get("level", "info"))
    if _LEVELS.index(least) <= _LEVELS.index("info"):
        params = {"level": "info", "logger": "duetty", "data": news}
        await connection.notify("notifications/message", params)


OPENING: ContextVar[Actor] = ContextVar("opening")
"""Who makes the request that the SDK is given, and so opens a session if it does."""


MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""As much as a line has on stdio: a file of 8 MB is one call over both."""


class OwnedSessions(StreamableHTTPSessionManager):
    """HTTP sessions that belong to a credential: it opens so many, and they end with it."""

    def __init__(self, server: DuettyServer, live: Live, shares: Shares, *, idle_s: float) -> None:
        super().__init__(
            server,
            session_idle_timeout=idle_s,
            max_sessions=shares.most,
            max_request_body_size=MAX_MESSAGE_BYTES,
        )
        self._live = live
        self._shares = shares
        self._leave: dict[str, ExitStack] = {}

    def _admit_session(
        self, requestor: AuthorizationContext | None
    ) -> StreamableHTTPServerTransport | None:
        actor = OPENING.get()
        try:
            give_back = self._shares.take(actor)
        except Exhausted:
            return None
        transport = super()._admit_session(requestor)
        if transport is None:
            give_back()
            return None
        leaving = self._leave[str(transport.mcp_session_id)] = ExitStack()
        leaving.callback(give_back)
        leaving.callback(self._live.join(actor.token, lambda: _end(transport)))
        return transport

    async def _discard_session(
        self, session_id: str, transport: StreamableHTTPServerTransport
    ) -> None:
        self._leave.pop(session_id, ExitStack()).close()
        await super()._discard_session(session_id, transport)


def _end(transport: StreamableHTTPServerTransport) -> None:
    if transport.idle_scope is not None:  # it has one from its first request on
        transport.idle_scope.cancel()


def is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def is_acceptable(context: Context) -> bool:
    """Whether the SDK would hand this request to its handler: what is answered before it looks must pass here."""
    if not (is_modern(context) or connection_of(context).initialize_accepted):
        return False
    try:
        methods.validate_client_request(context.method, context.protocol_version, context.params)
    except (KeyError, ValueError):
        return False
    return True


def connection_of(context: Context) -> Connection:
    """The client's connection; there is no public way to it."""
    return context.session._connection  # pyright: ignore[reportPrivateUsage]


def request_channel(context: Context) -> Outbound:
    """What is sent there reaches the client beside the answer to this request."""
    return context.session._request_outbound  # pyright: ignore[reportPrivateUsage]


async def answered(
    channel: Outbound, version: str, method: str, params: Mapping[str, Any]
) -> dict[str, Any]:
    """The client's answer to a request of ours, as it stood on the wire, once it was found good.

    Raises:
        MCPError: it answered with an error, or cannot be asked.
        ValidationError: its answer is none.
    """
    answer = await channel.send_raw_request(method, params)
    methods.validate_client_result(method, version, answer)
    return answer


def log_level(context: Context) -> str | None:
    """The level from which this request of the modern era wants to hear what is logged meanwhile."""
    if not is_modern(context):
        return None
    meta: Any = (context.params or {}).get("_meta") or {}
    level = meta.get(t.LOG_LEVEL_META_KEY)
    return level if level in LOG_LEVELS else None


async def send_log(context: Context, message: Mapping[str, Any]) -> None:
    """Beside the answer to this request; a client that is gone gets nothing."""
    params = t.LoggingMessageNotificationParams.model_validate(message)
    note = t.LoggingMessageNotification(params=params)
    with suppress(MCPError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await context.session.send_notification(note, related_request_id=context.request_id)


def client_name(context: Context) -> str | None:
    """What the client calls itself, short and fit to be shown."""
    parameters = context.session.client_params
    if parameters is None:
        return None
    name = parameters.client_info.name[:CLIENT_CHARS]
    return "".join(each if each.isprintable() else "\ufffd" for each in name) or None


def declares_tasks(context: Context) -> bool:
    """Whether this client takes a task instead of a result."""
    return is_modern(context) and context.session.check_client_capability(
        t.ClientCapabilities(extensions={TASKS_EXTENSION: {}})
    )


def request_key(request_id: str | int) -> str | int:
    """What a request is found by when it is cancelled: the SDK holds 7 and "7" for one."""
    return coerce_request_id(request_id)


def cancelled_id(context: Context) -> str | int | None:
    """Which request a `notifications/cancelled` is about, as `request_key` says it."""
    given = cancelled_request_id_from_params(context.params)
    return None if given is None else coerce_request_id(given)


def http_session(context: Context) -> str | None:
    """The id of the HTTP session that a request came in, if it is one of the handshake era."""
    return None if context.request is None else context.request.headers.get("mcp-session-id")


def server_info(server: Server[Any]) -> bytes:
    """What every result of the modern era carries in `_meta`, as JSON."""
    return to_json({t.SERVER_INFO_META_KEY: server.server_info_stamp})


def has_stream(manager: StreamableHTTPSessionManager, session: str) -> bool | None:
    """Whether the client of this session reads messages that it did not ask for; None: it is gone."""
    transport = manager._server_instances.get(session)  # pyright: ignore[reportPrivateUsage]
    if transport is None:
        return None
    return GET_STREAM_KEY in transport._request_streams  # pyright: ignore[reportPrivateUsage]


@contextmanager
def in_flight(manager: StreamableHTTPSessionManager, session: str) -> Generator[bool]:
    """Keeps a session from being reaped while one of its requests is served past the SDK.

    False, where the session is on its way out and the SDK must say so.
    """
    transport = manager._server_instances.get(session)  # pyright: ignore[reportPrivateUsage]
    scope = None if transport is None else transport.idle_scope
    if transport is None or transport.is_terminated or scope is None or scope.cancel_called:
        yield False
        return
    transport._requests_in_flight += 1  # pyright: ignore[reportPrivateUsage]
    scope.deadline = math.inf
    try:
        yield True
    finally:
        transport._requests_in_flight -= 1  # pyright: ignore[reportPrivateUsage]
        if not transport._requests_in_flight:  # pyright: ignore[reportPrivateUsage]
            scope.deadline = anyio.current_time() + (manager.session_idle_timeout or math.inf)
