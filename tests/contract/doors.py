"""The contract's two doors, asked the same and answering in one shape."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from mcp.types import CallToolResult

from tests.edges.mcp.connect import connected
from tests.server_process import ServerProcess

Json = dict[str, Any]

DOORS = ["http", "mcp-http-2026"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What came back: an answer, or an error."""

    answer: Json | None
    error: Json | None
    status: int | None = None
    """Of HTTP; MCP has none."""

    @property
    def code(self) -> str | None:
        return None if self.error is None else self.error["code"]

    @property
    def details(self) -> Json:
        assert self.error is not None, self.answer
        return self.error["details"]

    @property
    def result(self) -> Json:
        assert self.answer is not None, self.error
        return self.answer["result"]

    @property
    def metadata(self) -> Json:
        return self.details["metadata"] if self.answer is None else self.answer["metadata"]

    @property
    def session(self) -> str:
        assert self.answer is not None, self.error
        return self.answer["target"]["session"]


Asking = Callable[..., Awaitable[Said]]


@asynccontextmanager
async def opened(door: str, server: ServerProcess, *, token: str = "") -> AsyncGenerator[Asking]:
    if door == "http":
        headers = {"Authorization": f"Bearer {token or server.token()}"}
        async with httpx.AsyncClient(base_url=server.url(), headers=headers, timeout=60) as client:

            async def ask_http(**request: object) -> Said:
                response = await client.post("/terminal", json=request)
                body = response.json()
                if response.status_code == 200:
                    return Said(answer=body, error=None, status=200)
                return Said(answer=None, error=body["error"], status=response.status_code)

            yield ask_http
        return
    async with connected(door.removeprefix("mcp-"), server, dialect="terminal") as client:

        async def ask_mcp(**request: object) -> Said:
            result = await client.call_tool("terminal", request)
            assert isinstance(result, CallToolResult)
            content: Json = result.structured_content or {}
            if result.is_error:
                return Said(answer=None, error=content["error"])
            return Said(answer=content, error=None)

        yield ask_mcp
