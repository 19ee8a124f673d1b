"""`/sessions/{name}/ws/raw`: a snapshot, then the program's bytes; what comes is typed.

With `?flow=ack` the client says how much it has parsed (text: the number of bytes
since the beginning, snapshots included) and gets repaints when it cannot keep up.
Without it a connection that cannot take bytes fast enough is repainted too: then
TCP is what tells.
"""

from collections import deque
from contextlib import suppress

import anyio
from starlette.websockets import WebSocket

from duetty.calls import Actor
from duetty.edges.http.websocket.flow import Bytes, Flow, Pause, Snap
from duetty.edges.http.websocket.socket import (
    DETACHED,
    SESSION_ENDED,
    Closing,
    Doors,
    Socket,
    refuse,
)
from duetty.errors import BadArguments, DuettyError
from duetty.ops import View

LAG_BYTES = 1024 * 1024
"""So far behind the program a client gets the screen instead of what led to it."""

MAX_ACK_DIGITS = 19
NOT_AN_ACK = Closing(1007, "not an acknowledgement")

RESET = b"\x1bc"


async def raw_endpoint(doors: Doors, websocket: WebSocket, actor: Actor) -> None:
    try:
        flow = websocket.query_params.get("flow", "none")
        if flow not in ("none", "ack"):
            raise BadArguments("flow: none or ack")
        with doors.dispatcher.follow(actor, websocket.path_params["session"]) as view:
            await doors.serve(
                websocket,
                actor,
                lambda socket: _Connection(socket, view, acks=flow == "ack").run(),
            )
    except DuettyError as error:
        await refuse(websocket, error)


class _Connection:
    def __init__(self, socket: Socket, view: View, *, acks: bool) -> None:
        self._socket = socket
        self._view = view
        self._acks = acks
        self._flow = Flow(0)
        self._total = 0
        self._unparsed: deque[tuple[int, int]] = deque()
        """Bytes sent in all, and the offset that was, after each message not acknowledged yet."""

    async def run(self) -> None:
        self._socket.tasks.start_soon(self._follow)
        while (message := await self._socket.receive()) is not None:
            if self._acks and isinstance(message, str):
                self._ack(message)
                continue
            data = message.encode("utf-8", "replace") if isinstance(message, str) else message
            self._flow.key(anyio.current_time())
            # If the program has gone, or does not read, there is no way to tell it here.
            with suppress(DuettyError):
                await self._view.write_verbatim(data)

    def _ack(self, text: str) -> None:
        if not text.isascii() or not text.isdecimal() or len(text) > MAX_ACK_DIGITS:
            self._socket.end(NOT_AN_ACK)
            return
        total = int(text)
        while self._unparsed and self._unparsed[0][0] <= total:
            self._flow.ack(self._unparsed.popleft()[1])
        self._view.wake()

    async def _follow(self) -> None:
        view, flow = self._view, self._flow
        view.skip_keys()
        await self._send_snapshot(rows=1_000)
        flow.start_at(flow.sent)
        while view.ended is None:
            is_last = view.is_exited
            while view.take() is not None:
                pass  # only bytes matter here
            pause = await self._step()
            if pause is None:
                continue
            if is_last and flow.sent >= view.end:
                break
            if pause.seconds is None:
                await view.wait(output=pause.output)
            else:
                with anyio.move_on_after(pause.seconds):
                    await view.wait(output=pause.output)
        self._socket.end(DETACHED if view.ended == "detached" else SESSION_ENDED)

    async def _step(self) -> Pause | None:
        view, flow = self._view, self._flow
        if not self._acks and view.end - flow.sent > LAG_BYTES:
            await self._send_snapshot(rows=0, prefix=RESET)
            return None
        match flow.next(view.end, anyio.current_time(), viewers=view.viewers):
            case Pause() as pause:
                return pause
            case Bytes(start, limit):
                data = view.read(start, limit)
                if data is None:
                    await self._send_snapshot(rows=0, prefix=RESET)
                    return None
                flow.sent_bytes(len(data), anyio.current_time())
                await self._send(data)
            case Snap(final=final):
                rows = 1_000 if final else 0
                await self._send_snapshot(rows=rows, prefix=RESET, final=final)
        return None

    async def _send_snapshot(self, *, rows: int, prefix: bytes = b"", final: bool = True) -> None:
        snapshot = await self._view.snapshot(scrollback_rows=rows)
        self._flow.sent_snapshot(snapshot.offset, anyio.current_time(), final=final)
        await self._send(prefix + snapshot.screen)

    async def _send(self, data: bytes) -> None:
        self._total += len(data)
        offset = self._flow.sent
        if self._acks:
            self._unparsed.append((self._total, offset))
        await self._socket.send_bytes(data)
        if not self._acks:
            self._flow.ack(offset)
