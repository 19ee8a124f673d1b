"""The unstable things of the SDK that we touch, in one place: capabilities, connections, middleware.

A new version of the SDK is let in by the conformance suite, and mended here.
"""

from typing import Any

from mcp import types as t
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.models import InitializationOptions
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from duetty.edges.mcp.dialect import Caller

Context = ServerRequestContext[Caller | None, Any]

TASKS_EXTENSION = "io.modelcontextprotocol/tasks"
TASKS_IN_CORE = "2025-11-25"
"""The one revision of the handshake era that has tasks."""


class DuettyServer(Server[Caller | None]):
    """Says of itself what is true: lists that change, and tasks in both eras."""

    has_tasks = False

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
        if capabilities.tools is not None:
            capabilities.tools.list_changed = False
        if capabilities.prompts is not None:
            capabilities.prompts.list_changed = False
        if self.has_tasks and protocol_version not in MODERN_PROTOCOL_VERSIONS:
            capabilities.tasks = t.ServerTasksCapability(
                list=t.TasksListCapability(),
                cancel=t.TasksCancelCapability(),
                requests=t.ServerTasksRequestsCapability(
                    tools=t.TasksToolsCapability(call=t.TasksCallCapability())
                ),
            )
        return capabilities


def is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def connection_of(context: Context) -> Connection:
    """The client's connection; there is no public way to it."""
    return context.session._connection  # pyright: ignore[reportPrivateUsage]


def declares_tasks(context: Context) -> bool:
    """Whether this client takes a task instead of a result."""
    return is_modern(context) and context.session.check_client_capability(
        t.ClientCapabilities(extensions={TASKS_EXTENSION: {}})
    )
