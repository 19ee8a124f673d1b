"""`/sessions/{name}/ws/raw`: bytes as they are, both ways."""

import anyio
import anyio.to_thread
import httpx
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from duetty.vt import Terminal
from tests.edges.websocket.connect import connected, drain
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


class RawViewer:
    def __init__(self, socket: ClientConnection, *, acks: bool = False) -> None:
        self.socket = socket
        self.terminal = Terminal(cols=80, rows=24)
        self.received = bytearray()
        self.acks = acks

    async def take(self) -> bytes:
        message = await self.socket.recv()
        assert isinstance(message, bytes)
        self.terminal.feed(message)
        self.received += message
        if self.acks:
            await self.socket.send(str(len(self.received)))
        return message

    @property
    def lines(self) -> list[str]:
        return list(self.terminal.screen(styled=False).text_lines)

    async def until_shown(self, text: str) -> None:
        with anyio.fail_after(60):
            while text not in "\n".join(self.lines):
                await self.take()


async def test_the_screen_comes_first_then_identical_bytes(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "echo earlier"})

    async with connected(server, f"/sessions/{session}/ws/raw") as socket:
        viewer = RawViewer(socket)
        await viewer.until_shown("earlier")
        await socket.send(b"printf '\\001\\033[31mr\\377d\\033[m\\n'\r")
        with anyio.fail_after(60):
            while b"\x01\x1b[31mr\xffd\x1b[m\r\n" not in viewer.received:
                await viewer.take()


async def test_text_and_binary_are_typed_as_they_are(server: ServerProcess, session: str) -> None:
    async with connected(server, f"/sessions/{session}/ws/raw") as socket:
        viewer = RawViewer(socket)
        await socket.send("echo te''xt\r")
        await viewer.until_shown("\ntext")
        await socket.send(b"echo bin''ary\r")
        await viewer.until_shown("\nbinary")


@pytest.mark.parametrize("flow", ["none", "ack"])
async def test_a_reader_that_lags_is_repainted_and_ends_up_right(
    server: ServerProcess, http: httpx.Client, session: str, flow: str
) -> None:
    async with connected(server, f"/sessions/{session}/ws/raw?flow={flow}") as socket:
        viewer = RawViewer(socket)
        await viewer.take()
        await socket.send(b"seq 1 3000000; echo the-''end\r")
        viewer.acks = flow == "ack"
        ended = anyio.Event()

        async def wait_for_the_end() -> None:
            await anyio.to_thread.run_sync(
                lambda: http.post(
                    f"/sessions/{session}/wait", json={"text": "the-end", "max_wait_ms": 60_000}
                )
            )
            ended.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_for_the_end)
            while not ended.is_set():
                await viewer.take()
                with anyio.move_on_after(0.1):
                    await ended.wait()
        await viewer.until_shown("the-end")
        http.post(f"/sessions/{session}/wait", json={"state": ["prompt"]})
        shown = http.get(f"/sessions/{session}/screen", params={"format": "plain"}).json()
        with anyio.fail_after(60):
            while viewer.lines != shown["lines"]:
                await viewer.take()

    assert b"\x1bc" in viewer.received  # repainted, whatever the kernel's buffers held before


async def test_it_ends_when_the_process_exits_after_the_last_byte(
    server: ServerProcess, http: httpx.Client
) -> None:
    http.post("/sessions", json={"name": "brief", "command": "sh -c 'read x; seq 1 3000'"})

    async with connected(server, "/sessions/brief/ws/raw") as socket:
        viewer = RawViewer(socket)
        await socket.send(b"\r")
        with pytest.raises(ConnectionClosed) as closed:
            await drain(viewer.take)
    http.delete("/sessions/brief")

    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1000, "session ended")
    assert viewer.received.endswith(b"3000\r\n")


async def test_what_a_raw_client_types_is_not_captured(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    http.post(f"/sessions/{session}/input/capture")

    async with connected(server, f"/sessions/{session}/ws/raw") as socket:
        viewer = RawViewer(socket)
        await socket.send("echo thr''ough\r")
        await viewer.until_shown("\nthrough")


@pytest.mark.parametrize("said", ["far", "-1", "1.5", "", "9" * 30, "\u0663"])
async def test_an_acknowledgement_that_is_no_number_ends_the_connection_with_the_reason(
    server: ServerProcess, session: str, said: str
) -> None:
    async with connected(server, f"/sessions/{session}/ws/raw?flow=ack") as socket:
        await socket.send(said)
        with pytest.raises(ConnectionClosed) as closed:
            await drain(socket.recv)

    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1007, "not an acknowledgement")
