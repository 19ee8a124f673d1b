"""The official client, over every way in and in both eras of the protocol."""

import os
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TextIO

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.server_process import ServerProcess

WAYS = ["stdio-2025", "stdio-2026", "http-2025", "http-2026"]


@asynccontextmanager
async def connected(
    way: str, server: ServerProcess, *, dialect: str | None = None, **options: Any
) -> AsyncGenerator[Client]:
    kind, era = way.split("-")
    async with AsyncExitStack() as stack:
        if kind == "stdio":
            transport = stdio_client(
                bridge_parameters(server, dialect), errlog=stack.enter_context(nowhere())
            )
        else:
            headers = {"Authorization": f"Bearer {server.token()}"}
            http = await stack.enter_async_context(create_mcp_http_client(headers=headers))
            path = f"/mcp/{dialect}" if dialect else "/mcp"
            transport = streamable_http_client(f"{server.url()}{path}", http_client=http)
        yield await stack.enter_async_context(
            Client(
                transport,
                mode="legacy" if era == "2025" else "auto",
                read_timeout_seconds=60,
                **options,
            )
        )


@contextmanager
def nowhere() -> Generator[TextIO]:
    with Path(os.devnull).open("w") as file:
        yield file


def bridge_parameters(server: ServerProcess, dialect: str | None = None) -> StdioServerParameters:
    chosen = ["--dialect", dialect] if dialect else []
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "duetty", "mcp", *chosen],
        env=server.env,
        cwd=server.home,
    )


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured content of a call that must not fail."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    content = result.structured_content
    assert isinstance(content, dict)
    return content  # pyright: ignore[reportUnknownVariableType]  # JSON
