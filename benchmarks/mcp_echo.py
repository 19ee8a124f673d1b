"""The least that a tool can be with the same SDK: what an MCP call costs without us.

`python -m benchmarks.mcp_echo stdio`, or `http` (prints its port).
"""

import socket
import sys
from typing import Any

import anyio
import uvicorn
from mcp import types as t
from mcp.server import Server
from mcp.server.stdio import stdio_server

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}


async def _list(context: Any, params: Any) -> t.ListToolsResult:
    return t.ListToolsResult(tools=[t.Tool(name="echo", input_schema=SCHEMA)])


async def _call(context: Any, params: t.CallToolRequestParams) -> t.CallToolResult:
    text = (params.arguments or {}).get("text", "")
    return t.CallToolResult(content=[t.TextContent(text=text)], structured_content={"text": text})


def server() -> Server[Any]:
    made = Server[Any](
        "echo",
        on_list_tools=_list,
        on_call_tool=_call,
        get_tool_input_schema=lambda name: SCHEMA,
    )
    made.middleware.clear()
    return made


async def _stdio() -> None:
    made = server()
    async with stdio_server() as (read, write):
        await made.run(read, write, made.create_initialization_options())


def main() -> None:
    if sys.argv[1:] == ["stdio"]:
        anyio.run(_stdio)
        return
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(server().streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
