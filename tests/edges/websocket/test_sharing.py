"""Several ways into one session at once."""

import anyio
import httpx
import pytest

from tests.edges.websocket.connect import connected, speaking, viewing
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


async def test_input_of_a_viewer_of_http_and_of_a_websocket_all_arrives(
    server: ServerProcess, http: httpx.Client
) -> None:
    name = "three-ways"
    http.post("/sessions", json={"name": name, "command": "cat"})
    async with (
        viewing(server) as viewer,
        speaking(server, f"/sessions/{name}/ws/json") as client,
        connected(server, f"/sessions/{name}/ws/raw") as raw,
    ):
        await viewer.open(name)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(viewer.type, b"by-viewer\n")
            tasks.start_soon(raw.send, b"by-raw\n")
            await client.ask("send_input", data="by-json\n")
            await anyio.to_thread.run_sync(
                lambda: http.post(f"/sessions/{name}/input", content=b"by-http\n")
            )
        for marker in ("by-viewer", "by-json", "by-raw", "by-http"):
            await viewer.until_shown(marker)
    http.delete(f"/sessions/{name}", params={"grace_ms": 0})


async def test_a_resize_reaches_the_program_and_two_viewers_see_the_same(
    server: ServerProcess, session: str
) -> None:
    async with viewing(server) as one, viewing(server) as two:
        await one.open(session)
        await two.open(session)
        async with speaking(server, f"/sessions/{session}/ws/json") as client:
            await client.call("resize", cols=71, rows=19)
        await one.type(b"stty size; echo o-$((40+2))\n")
        for viewer in (one, two):
            await viewer.until_shown("19 71")
            await viewer.until_shown("o-42")
