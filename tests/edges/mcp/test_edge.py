"""The edge in process: what the server's own life depends on."""

from pathlib import Path

import anyio
import pytest
from starlette.responses import Response

from duetty.calls import Actor
from duetty.edges.mcp import McpEdge
from tests.engine import running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


async def test_open_connections_are_counted_and_forgotten(home: Path) -> None:
    counted: list[int] = []
    async with running_engine(home) as engine, anyio.create_task_group() as tasks:
        edge = McpEdge(
            engine.dispatcher,
            admit=lambda request: Actor(kind="agent", name="test"),
            refuse=lambda error: Response(status_code=403),
            is_own_user=lambda connection: True,
        )
        with anyio.fail_after(60):
            await tasks.start(edge.serve, engine.paths.mcp_socket)
            async with await anyio.connect_unix(engine.paths.mcp_socket) as stream:
                await stream.send(PING)
                await stream.receive()
                counted.append(edge.connections)
            while edge.connections:
                await anyio.sleep(0.01)
            await edge.stop()

    assert counted == [1]
    assert not engine.paths.mcp_socket.exists()


async def test_another_user_is_not_heard(home: Path) -> None:
    async with running_engine(home) as engine, anyio.create_task_group() as tasks:
        edge = McpEdge(
            engine.dispatcher,
            admit=lambda request: Actor(kind="agent", name="test"),
            refuse=lambda error: Response(status_code=403),
            is_own_user=lambda connection: False,
        )
        with anyio.fail_after(60):
            await tasks.start(edge.serve, engine.paths.mcp_socket)
            async with await anyio.connect_unix(engine.paths.mcp_socket) as stream:
                with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                    await stream.receive()
            await edge.stop()
