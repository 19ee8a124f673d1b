"""One session on a viewer's connection: bytes, snapshots, events, in the order they are to be taken."""

from collections import deque
from dataclasses import asdict
from time import monotonic
from typing import Any

import anyio

from duetty.edges.http.websocket.flow import CHUNK_BYTES, Bytes, Flow, Pause, Snap
from duetty.edges.http.websocket.frames import Kind, packed
from duetty.edges.http.websocket.messages import Mode, Open
from duetty.edges.http.websocket.socket import Socket, error_shape
from duetty.errors import BadArguments, DuettyError, InputRejected
from duetty.ops import Dispatcher, Lagged, ShownSize, View, entry_shape

TYPED_BYTES = 1024 * 1024
"""Typed and not written yet: a paste, while a person is asked whether it may be typed."""

THUMB_S = 0.5
"""Between two looks at a small picture."""

DRAW_BEGIN, DRAW_END = b"\x1b[?2026h", b"\x1b[?2026l"
"""Around a snapshot in a flood: the viewer draws it at once, not row by row."""


class Stream:
    def __init__(self, dispatcher: Dispatcher, socket: Socket, wanted: Open) -> None:
        self.number = wanted.stream
        self.scope = anyio.CancelScope()
        self._view: View | None = None
        self._dispatcher = dispatcher
        self._socket = socket
        self._wanted = wanted
        self._mode: Mode = wanted.mode
        self._flow = Flow(0)
        self._needs_snapshot = True
        self._is_streaming = False
        """The viewer has the bytes up to `sent`: what is left out from there on is a gap."""

        self._is_waiting = False
        """Everything was sent, and the next byte is waited for."""

        self._typed: deque[bytes] = deque()
        self._typed_bytes = 0
        self._was_typed = anyio.Event()
        self._thumb_s = float("-inf")
        self._thumb: object = None
        self._sent_size: ShownSize | None = None
        self._sent_elements: dict[str, Any] | None = None

    @property
    def view(self) -> View:
        """What is looked at.

        Raises:
            BadArguments: if it is not open yet.
        """
        if self._view is None:
            raise BadArguments(f"stream {self.number} is not open yet")
        return self._view

    # --- what the viewer does -----------------------------------------------------

    def ack(self, offset: int) -> None:
        was_held = self._flow.is_held
        self._flow.ack(offset)
        if was_held:
            self._wake()

    def change_mode(self, mode: Mode) -> None:
        if mode != self._mode:
            self._mode = mode
            self._needs_snapshot = True
            self._is_streaming = False
            self._thumb = None
            self._wake()

    def type(self, data: bytes) -> None:
        """What was typed; written in order, and nothing else waits for it.

        Keys are written here and now; input that policy may ask about has a task of its own.

        Raises:
            DuettyError: if they cannot be written.
            InputRejected: if too much waits already.
        """
        self._flow.key(monotonic())
        if self._view is not None and not self._typed_bytes and self._view.type_now(data):
            return
        if self._typed_bytes + len(data) > TYPED_BYTES:
            raise InputRejected("what was typed before has not been taken yet")
        self._typed_bytes += len(data)
        self._typed.append(data)
        self._was_typed.set()

    async def _write_typed(self, view: View) -> None:
        while True:
            await self._was_typed.wait()
            self._was_typed = anyio.Event()
            while self._typed:
                data = self._typed.popleft()
                try:
                    await view.write(data)
                except DuettyError as error:
                    await self._tell("error", error=error_shape(error))
                self._typed_bytes -= len(data)

    def _wake(self) -> None:
        if self._view is not None:
            self._view.wake()

    # --- what the viewer gets -----------------------------------------------------

    async def run(self) -> None:
        """Until the session is gone, or the viewer is sent away.

        Raises:
            DuettyError: if it cannot be looked at.
        """
        wanted = self._wanted
        size = (wanted.size.cols, wanted.size.rows) if wanted.size else None
        with (
            self.scope,
            self._dispatcher.follow(
                self._socket.actor, wanted.session, kind=wanted.role, size=size
            ) as view,
        ):
            self._view = view
            view.skip_keys()
            view.tell_output(self._send_now)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(view.keep_looking)
                tasks.start_soon(self._write_typed, view)
                await self._begin(view)
                while view.ended is None:
                    await self._turn(view)
                await self._finish(view)
                tasks.cancel_scope.cancel()

    async def _begin(self, view: View) -> None:
        offset = self._wanted.offset
        resumed = offset is not None and self._mode == "stream" and view.has(offset)
        if resumed and offset is not None:
            self._flow.start_at(offset)
            self._is_streaming = True
            self._needs_snapshot = False
        await self._tell(
            "opened",
            session=view.info(),
            offset=offset if resumed else view.end,
            resumed=resumed,
        )
        await self._tell_size(view)
        await self._tell_elements(view)
        if not resumed and offset is not None and offset < view.end:
            await self._tell_gap(offset, view.end)

    async def _turn(self, view: View) -> None:
        """Everything that there is, then wait for more."""
        await self._tell_entries(view)
        pause: Pause | None = Pause()
        if self._mode == "stream":
            pause = await self._send_bytes(view)
        elif self._mode == "thumb":
            pause = await self._send_thumb(view)
        if pause is None:
            return
        if pause.seconds is None:
            self._is_waiting = True
            await view.wait(output=pause.output)
            self._is_waiting = False
        else:
            with anyio.move_on_after(pause.seconds):
                await view.wait(output=pause.output)

    async def _tell_entries(self, view: View) -> None:
        news: set[str] = set()
        # What others type is seen as what the program makes of it.
        while (entry := view.take(keys=False)) is not None:
            if isinstance(entry, Lagged):
                news |= {"resize", "elements"}
                continue
            shape = entry_shape(entry)
            if shape["event"] in ("resize", "viewers", "elements", "mode"):
                news.add(shape["event"])  # sent once, as it is now
            else:
                await self._tell("event", **shape)
        if "resize" in news:
            # Emulators wrap rows anew in different ways, so the screen is sent again.
            await self._send_pending(view)
            self._needs_snapshot = True
        if news & {"resize", "viewers"}:
            await self._tell_size(view)
        if news & {"elements", "mode", "resize"}:
            await self._tell_elements(view)

    # --- bytes --------------------------------------------------------------------

    async def _send_bytes(self, view: View) -> Pause | None:
        """One step; how to wait before the next, None for not at all."""
        flow = self._flow
        if self._needs_snapshot:
            self._needs_snapshot = False
            await self._send_snapshot(view, final=True)
            flow.start_at(flow.sent)
            return None
        match flow.next(view.end, monotonic(), viewers=view.viewers):
            case Pause() as pause:
                return pause
            case Bytes(_, limit):
                if not await self._send_output(view, limit):
                    self._needs_snapshot = True
            case Snap(final=final):
                await self._send_snapshot(view, final=final)
        return None

    def _send_now(self) -> bool:
        """Send what was just printed, in the same turn of the loop: an echo is not kept waiting.

        False if there is more to it than that.
        """
        view, flow = self._view, self._flow
        if view is None or not self._is_waiting or self._needs_snapshot or self._mode != "stream":
            return False
        now_s, end = monotonic(), view.end
        step = flow.next(end, now_s, viewers=view.viewers)
        if not isinstance(step, Bytes):
            return False
        data = view.read(step.start, step.limit)
        if not data or not self._socket.send_now(
            packed(Kind.OUTPUT, self.number, step.start, data)
        ):
            return False
        flow.sent_bytes(len(data), now_s)
        return flow.sent >= end

    async def _send_output(self, view: View, limit: int) -> bool:
        """False if the bytes are gone: the journal turned over, or its disk is full."""
        start = self._flow.sent
        data = view.read(start, limit)
        if not data:
            return False
        self._flow.sent_bytes(len(data), monotonic())
        await self._socket.send_bytes(packed(Kind.OUTPUT, self.number, start, data))
        return True

    async def _send_pending(self, view: View) -> None:
        """What was printed so far, as far as the window goes."""
        while self._is_streaming and not self._flow.flooded:
            room = min(self._flow.room, view.end - self._flow.sent, CHUNK_BYTES)
            if room <= 0 or not await self._send_output(view, room):
                return

    async def _send_snapshot(self, view: View, *, final: bool) -> None:
        await self._tell_size(view)  # and from here on it cannot change before the snapshot
        flow = self._flow
        snapshot = (
            await view.snapshot(scrollback_rows=self._wanted.scrollback_rows)
            if final
            else await view.snapshot(scrollback_rows=0, not_before=flow.sent)
        )
        skipped_from = flow.skipped_from if flow.flooded else flow.sent
        flow.sent_snapshot(snapshot.offset, monotonic(), final=final)
        if final and self._is_streaming and skipped_from < snapshot.offset:
            await self._tell_gap(skipped_from, snapshot.offset)
        self._is_streaming = True
        screen = snapshot.screen if final else DRAW_BEGIN + snapshot.screen + DRAW_END
        await self._socket.send_bytes(packed(Kind.SNAPSHOT, self.number, snapshot.offset, screen))

    async def _send_thumb(self, view: View) -> Pause | None:
        now_s = monotonic()
        wait_s = self._thumb_s + THUMB_S - now_s
        if wait_s > 0:
            return Pause(wait_s)
        shown = (view.end, view.state, view.size())
        if shown == self._thumb:
            return Pause(output=True)
        self._thumb, self._thumb_s = shown, now_s
        await self._tell("thumb", lines=view.text_lines(), state=view.state)
        return None

    async def _finish(self, view: View) -> None:
        await self._tell_entries(view)
        if self._mode == "stream":
            await self._send_pending(view)
        await self._tell("ended", reason=view.ended, exit_code=view.exit_code)

    # --- sent ---------------------------------------------------------------------

    async def _tell(self, type_: str, **fields: Any) -> None:
        await self._socket.send_json({"type": type_, "stream": self.number, **fields})

    async def _tell_gap(self, start: int, end: int) -> None:
        await self._tell("gap", skipped=end - start, start=start, end=end)

    async def _tell_size(self, view: View) -> None:
        while (size := view.size()) != self._sent_size:
            self._sent_size = size
            await self._tell("size", **asdict(size))

    async def _tell_elements(self, view: View) -> None:
        elements = view.elements()
        if elements != self._sent_elements:
            self._sent_elements = elements
            await self._tell("elements", **elements)
