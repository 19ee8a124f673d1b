"""A dialect as a server of the official SDK, for both eras of the protocol.

What the SDK leaves to its user is done here: unknown tools and wrong arguments
are errors of the protocol, a coded error is told as the dialect's contract says,
and no exception escapes (an escaped one would show its text to the client).
"""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import MCPError
from mcp import types as t
from mcp.server import Server, ServerRequestContext
from pydantic_core import to_json

from duetty import __version__
from duetty.edges.mcp.arguments import check_of
from duetty.edges.mcp.dialect import Answer, Caller, Calls, Dialect, Json, Tool, failed
from duetty.edges.mcp.errors import json_rpc_code, protocol_error
from duetty.errors import DuettyError
from duetty.ops import Dispatcher

PROGRESS_S = 1.0
"""Between two signs of life of a call that waits, for callers that asked for them."""

LIST_TTL_MS = 300_000
"""How long a client may keep the list of tools; it changes only with the server's version."""

SCOPE_CALLER = "duetty.caller"
"""Where the HTTP side leaves the caller in the request's scope."""

Context = ServerRequestContext[Caller | None, Any]

log = logging.getLogger("duetty.mcp")


class Core:
    """One dialect over the dispatcher; holds no state of any connection."""

    def __init__(self, dialect: Dialect, dispatcher: Dispatcher) -> None:
        self._dialect = dialect
        self._dispatcher = dispatcher
        self._tools = {tool.name: (tool, check_of(tool.input_schema())) for tool in dialect.tools}
        self._schemas = {tool.name: tool.input_schema() for tool in dialect.tools}
        self._listed_tools = t.ListToolsResult(
            tools=[_listed_tool(tool) for tool in dialect.tools], ttl_ms=LIST_TTL_MS
        )

    def server(self) -> Server[Caller | None]:
        server = Server[Caller | None](
            "duetty",
            version=__version__,
            title="Duetty",
            description="Real terminals, shared by people and agents.",
            instructions=self._dialect.instructions,
            lifespan=_no_lifespan,
            # Without it every modern HTTP call of a tool would list all tools first.
            get_tool_input_schema=self._schemas.get,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )
        server.middleware.clear()  # OpenTelemetry, which nobody here collects
        return server

    # --- tools ----------------------------------------------------------------

    async def _list_tools(
        self, context: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListToolsResult:
        return self._listed_tools

    async def _call_tool(
        self, context: Context, params: t.CallToolRequestParams
    ) -> t.CallToolResult:
        found = self._tools.get(params.name)
        if found is None:
            raise MCPError(code=t.INVALID_PARAMS, message=f"Unknown tool: {params.name[:100]}")
        tool, check = found
        # Models send null for what they leave out.
        arguments = {
            name: value for name, value in (params.arguments or {}).items() if value is not None
        }
        calls = self._calls(context)

        async def run() -> Answer:
            check(arguments)
            return await tool.run(calls, arguments)

        if tool.waits and context.meta and context.meta.get("progress_token") is not None:
            outcome = await _with_progress(context, calls, arguments, run)
        else:
            outcome = await _outcome(run)
        if isinstance(outcome, MCPError):
            raise outcome
        return _tool_result(outcome)

    # --- resources ------------------------------------------------------------

    async def _list_resources(
        self, context: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListResourcesResult:
        return t.ListResourcesResult(
            resources=[
                t.Resource(
                    uri=each.uri,
                    name=each.name,
                    title=each.title,
                    description=each.description,
                    mime_type="application/json",
                )
                for each in self._dialect.resources
                if not each.is_template
            ],
            ttl_ms=LIST_TTL_MS,
        )

    async def _list_templates(
        self, context: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListResourceTemplatesResult:
        return t.ListResourceTemplatesResult(
            resource_templates=[
                t.ResourceTemplate(
                    uri_template=each.uri,
                    name=each.name,
                    title=each.title,
                    description=each.description,
                    mime_type="application/json",
                )
                for each in self._dialect.resources
                if each.is_template
            ],
            ttl_ms=LIST_TTL_MS,
        )

    async def _read_resource(
        self, context: Context, params: t.ReadResourceRequestParams
    ) -> t.ReadResourceResult:
        uri = str(params.uri)
        for resource in self._dialect.resources:
            places = resource.match(uri)
            if places is None:
                continue
            try:
                found = await resource.read(self._calls(context), places)
            except DuettyError as error:
                raise protocol_error(error) from error
            except Exception as error:
                raise _crashed(error) from error
            text = t.TextResourceContents(
                uri=uri, text=_json_text(found), mime_type="application/json"
            )
            return t.ReadResourceResult(contents=[text])
        raise MCPError(code=t.INVALID_PARAMS, message="Resource not found", data={"uri": uri[:500]})

    def _calls(self, context: Context) -> Calls:
        request = context.request
        caller = context.lifespan_context if request is None else request.scope[SCOPE_CALLER]
        assert isinstance(caller, Caller)
        return Calls(dispatcher=self._dispatcher, caller=caller)


@asynccontextmanager
async def _no_lifespan(server: Server[Caller | None]) -> AsyncGenerator[Caller | None]:
    """HTTP connections have many callers; each request carries its own."""
    yield None


async def _outcome(run: Callable[[], Any]) -> Answer | MCPError:
    """What came of it; an error that is no answer is returned, so that no task group wraps it."""
    try:
        answer: Answer = await run()
    except DuettyError as error:
        return failed(error) if json_rpc_code(error) is None else protocol_error(error)
    except Exception as error:  # noqa: BLE001 - the last resort, and it is logged
        return _crashed(error)
    return answer


def _crashed(error: Exception) -> MCPError:
    log.error("mcp_call_crashed", exc_info=error)
    return MCPError(
        code=t.INTERNAL_ERROR, message="something went wrong here; the server's log says what"
    )


async def _with_progress(
    context: Context, calls: Calls, arguments: Json, run: Callable[[], Any]
) -> Answer | MCPError:
    came: list[Answer | MCPError] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_report, context, calls, arguments)
        came.append(await _outcome(run))
        tasks.cancel_scope.cancel()
    return came[0]


async def _report(context: Context, calls: Calls, arguments: Json) -> None:
    """Seconds gone by, and the last thing on the screen, until cancelled."""
    total_s = arguments.get("max_wait_ms", 30_000) / 1000
    elapsed_s = 0.0
    while True:
        await anyio.sleep(PROGRESS_S)
        elapsed_s += PROGRESS_S
        try:
            screen = await calls("screen.get", {"session": arguments["session"], "format": "plain"})
        except DuettyError:
            return
        shown = [line for line in screen["lines"] if line.strip()]
        await context.session.report_progress(elapsed_s, total_s, shown[-1] if shown else None)


def _tool_result(answer: Answer) -> t.CallToolResult:
    text = _json_text(answer.content if answer.text is None else answer.text)
    content: list[t.ContentBlock] = [t.TextContent(text=text)]
    if answer.failure is not None:
        content.insert(0, t.TextContent(text=answer.failure))
    return t.CallToolResult(
        content=content,
        structured_content=answer.content,
        is_error=answer.failure is not None,
    )


def _json_text(value: object) -> str:
    return to_json(value, inf_nan_mode="null").decode()


def _listed_tool(tool: Tool) -> t.Tool:
    return t.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=tool.result,
        annotations=t.ToolAnnotations(
            read_only_hint=tool.is_read_only,
            destructive_hint=tool.is_destructive,
            open_world_hint=not tool.is_read_only,
        ),
    )
