"""With no model of its own the agent borrows that of the connected host, by MCP sampling."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp import types as t
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.memory import create_client_server_memory_streams

from duetty.calls import Actor
from duetty.edges.mcp.core import Core
from duetty.edges.mcp.dialect import Caller
from duetty.edges.mcp.dialects.elwood import ELWOOD
from duetty.ops import Dispatcher
from tests.engine import running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

WAIT_S = 30
HOST = Actor(kind="agent", name="host")


@asynccontextmanager
async def host(dispatcher: Dispatcher, era: str, cwd: Path, **can: Any) -> AsyncGenerator[Client]:
    core = Core(ELWOOD, dispatcher)
    async with (
        core.running(),
        create_client_server_memory_streams() as (near, far),
        anyio.create_task_group() as tasks,
    ):

        async def serve() -> None:
            caller = Caller(actor=HOST, cwd=str(cwd))
            await serve_dual_era_loop(core.server(), *far, lifespan_state=caller)

        @asynccontextmanager
        async def transport() -> AsyncGenerator[Any]:
            yield near

        tasks.start_soon(serve)
        async with Client(transport(), mode=era, read_timeout_seconds=WAIT_S, **can) as client:
            yield client
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_host_lends_its_model_and_the_agent_works_with_it(era: str, tmp_path: Path) -> None:
    asked: list[t.CreateMessageRequestParams] = []

    async def complete(
        context: object, params: t.CreateMessageRequestParams
    ) -> t.CreateMessageResult:
        asked.append(params)
        text = "I run it.\n```tool\n" + json.dumps(
            {"tool": "run", "arguments": {"input": "echo $((40+2))"}}
        )
        said = "It is 42." if len(asked) > 1 else text + "\n```"
        content = t.TextContent(text=said)
        return t.CreateMessageResult(role="assistant", content=content, model="lent")

    async with (
        running_engine(tmp_path) as engine,
        host(engine.dispatcher, era, tmp_path, sampling_callback=complete) as client,
    ):
        with anyio.fail_after(WAIT_S):
            answer = await client.call_tool("agent_send_message", {"message": "what is it?"})

    assert answer.structured_content is not None, answer.content
    assert answer.structured_content["message"] == "It is 42."
    assert answer.structured_content["tokens"] > 1000  # the host names none; limits hold
    last = asked[-1].messages[-1].content
    assert isinstance(last, t.TextContent)
    assert "42" in last.text


async def test_a_host_that_lends_none_is_told_what_to_set(tmp_path: Path) -> None:
    async with (
        running_engine(tmp_path) as engine,
        host(engine.dispatcher, "auto", tmp_path) as client,
    ):
        answer = await client.call_tool("agent_send_message", {"message": "hello"})

    assert answer.is_error
    assert answer.structured_content is not None
    assert answer.structured_content["state"] == "not_configured"
