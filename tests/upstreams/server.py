"""A small MCP server on the official SDK, of both eras, over stdio or HTTP.

Usage: server.py stdio | server.py http PORT_FILE
"""

import json
import os
import socket
import ssl
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import MCPError
from mcp import types as t
from mcp.server import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ToolsListChanged,
)
from pydantic import TypeAdapter

BUS = InMemorySubscriptionBus()
REQUESTS: Any = TypeAdapter(t.InputRequests)
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ECHO: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "what to say"}},
    "required": ["text"],
}
TOOLS: dict[str, t.Tool] = {
    each.name: each
    for each in (
        t.Tool(
            name="echo",
            title="Echo",
            description="Says it back.",
            input_schema=ECHO,
            output_schema={"type": "object", "properties": {"said": {"type": "string"}}},
            annotations=t.ToolAnnotations(read_only_hint=True),
        ),
        t.Tool(name="picture", input_schema=NO_ARGUMENTS),
        t.Tool(name="fails", input_schema=NO_ARGUMENTS),
        t.Tool(name="refuses", input_schema=NO_ARGUMENTS),
        t.Tool(name="slowly", input_schema=NO_ARGUMENTS),
        t.Tool(name="large", input_schema=NO_ARGUMENTS),
        t.Tool(name="change", input_schema=NO_ARGUMENTS),
        t.Tool(name="asks", input_schema=NO_ARGUMENTS),
        t.Tool(name="ask", input_schema=NO_ARGUMENTS),
        t.Tool(name="log", input_schema=NO_ARGUMENTS),
        t.Tool(name="update", input_schema=NO_ARGUMENTS),
        t.Tool(
            name="delete_all",
            description="Deletes.\u202e\U000e0041",
            input_schema=NO_ARGUMENTS,
            annotations=t.ToolAnnotations(destructive_hint=True),
        ),
    )
}


async def list_tools(ctx: Any, params: Any) -> t.ListToolsResult:
    return t.ListToolsResult(tools=list(TOOLS.values()))


def text(said: str, **more: Any) -> t.CallToolResult:
    return t.CallToolResult(content=[t.TextContent(text=said)], **more)


async def call_tool(ctx: Any, params: t.CallToolRequestParams) -> Any:
    given = params.arguments or {}
    match params.name:
        case "echo":
            return text(given["text"], structured_content={"said": given["text"], "more": None})
        case "picture":
            return t.CallToolResult(
                content=[
                    t.ImageContent(data=PICTURE, mime_type="image/png"),
                    t.ResourceLink(name="more", uri="note://more"),
                ],
                _meta={"example.com/kept": {"as": ["it", "is"]}},
            )
        case "fails":
            return text("it went wrong", is_error=True)
        case "refuses":
            raise MCPError(code=-32011, message="not today", data={"why": "rain"})
        case "slowly":
            return await slowly(ctx)
        case "large":
            return text("x" * given["bytes"])
        case "change":
            TOOLS["echo"] = TOOLS["echo"].model_copy(update={"description": given["to"]})
            await ctx.session.send_tool_list_changed()
            await BUS.publish(ToolsListChanged())
            return text("changed")
        case "asks":
            form = t.ElicitRequestFormParams(
                message="your password?", requested_schema={"type": "object", "properties": {}}
            )
            return t.InputRequiredResult(input_requests={"1": t.ElicitRequest(params=form)})
        case "ask":  # `method` and `params`, as the modern era asks
            if params.request_state is None:
                wanted = REQUESTS.validate_python({"q": given}, by_name=False)
                return t.InputRequiredResult(input_requests=wanted, request_state="asked")
            said = (params.input_responses or {})["q"]
            return text(json.dumps({"result": said.model_dump(by_alias=True, exclude_none=True)}))
        case "log":
            await ctx.session.send_notification(
                t.LoggingMessageNotification(
                    params=t.LoggingMessageNotificationParams.model_validate(given)
                ),
                related_request_id=ctx.request_id,
            )
            return text("logged")
        case "update":
            await BUS.publish(ResourceUpdated(uri=given["uri"]))
            return text("updated")
        case "delete_all":
            note("deleted")
            return text("deleted")
        case name:
            raise MCPError(code=t.INVALID_PARAMS, message=f"Unknown tool: {name}")


async def slowly(ctx: Any) -> t.CallToolResult:
    for step in range(3):
        await ctx.session.report_progress(step + 1, 3, f"step {step + 1}")
    note("slow began")
    try:
        await anyio.sleep(3600)
    except anyio.get_cancelled_exc_class():
        note("slow was cancelled")
        raise
    return text("at last")


def note(word: str) -> None:
    """For the test, which may not ask while a call runs."""
    if path := os.environ.get("NOTES"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{word}\n")


async def list_resources(ctx: Any, params: Any) -> t.ListResourcesResult:
    return t.ListResourcesResult(resources=[t.Resource(uri="note://one", name="one")])


async def list_templates(ctx: Any, params: Any) -> t.ListResourceTemplatesResult:
    template = t.ResourceTemplate(uri_template="note://{which}", name="notes")
    return t.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(ctx: Any, params: t.ReadResourceRequestParams) -> t.ReadResourceResult:
    return t.ReadResourceResult(
        contents=[t.TextResourceContents(uri=str(params.uri), text="first", mime_type="text/plain")]
    )


async def list_prompts(ctx: Any, params: Any) -> t.ListPromptsResult:
    argument = t.PromptArgument(name="who", required=True)
    return t.ListPromptsResult(prompts=[t.Prompt(name="greet", arguments=[argument])])


async def get_prompt(ctx: Any, params: t.GetPromptRequestParams) -> t.GetPromptResult:
    who = (params.arguments or {}).get("who")
    message = t.PromptMessage(role="user", content=t.TextContent(text=f"Greet {who}"))
    return t.GetPromptResult(messages=[message])


async def subscribe(ctx: Any, params: Any) -> t.EmptyResult:
    return t.EmptyResult()


async def set_level(ctx: Any, params: Any) -> t.EmptyResult:
    return t.EmptyResult()


class Telling(Server[Any]):
    def create_initialization_options(
        self, notification_options: Any = None, *rest: Any, **more: Any
    ) -> Any:
        told = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(told, *rest, **more)


@asynccontextmanager
async def nothing(server: Any) -> AsyncGenerator[None]:
    yield None


def make_server() -> Server[Any]:
    server = Telling(
        "tester",
        version="1.0",
        instructions=os.environ.get("INSTRUCTIONS"),
        lifespan=nothing,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_subscriptions_listen=ListenHandler(BUS),
        on_subscribe_resource=subscribe,
    )
    server.add_request_handler("logging/setLevel", t.SetLevelRequestParams, set_level)
    return server


async def speak_stdio() -> None:
    async with stdio_server() as (incoming, outgoing):
        server = make_server()
        await server.run(incoming, outgoing, server.create_initialization_options())


def speak_http(port_file: Path) -> None:
    import uvicorn
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    manager = StreamableHTTPSessionManager(make_server())
    wanted = os.environ["TOKEN"]

    class Endpoint:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            if dict(scope["headers"]).get(b"authorization") != f"Bearer {wanted}".encode():
                await Response("no", status_code=401)(scope, receive, send)
                return
            if os.environ.get("ERA") == "2025" and b"mcp-method" in dict(scope["headers"]):
                # As one that was made before there was another era.
                await Response("no session", status_code=400)(scope, receive, send)
                return
            if scope["method"] == "DELETE" and b"mcp-session-id" in dict(scope["headers"]):
                port_file.with_name("ended").touch()
            await manager.handle_request(scope, receive, send)

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
    listener.listen()
    port_file.with_suffix(".new").write_text(str(listener.getsockname()[1]), encoding="utf-8")
    port_file.with_suffix(".new").replace(port_file)
    app = Starlette(routes=[Route("/mcp", endpoint=Endpoint())], lifespan=lambda app: manager.run())
    tls: dict[str, Any] = {}
    if "CERT" in os.environ:
        tls = {"ssl_certfile": os.environ["CERT"], "ssl_keyfile": os.environ["KEY"]}
    if "CLIENTS" in os.environ:
        tls |= {"ssl_ca_certs": os.environ["CLIENTS"], "ssl_cert_reqs": ssl.CERT_REQUIRED}
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, **tls)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        anyio.run(speak_stdio)
    else:
        speak_http(Path(sys.argv[2]))
