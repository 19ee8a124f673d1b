"""`/ws/view`: any number of sessions on one WebSocket, for those who show them. See docs/viewing.md."""

import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
from pydantic import ValidationError
from starlette.websockets import WebSocket

from duetty.calls import Actor
from duetty.edges.http.websocket import messages
from duetty.edges.http.websocket.flow import WINDOW_BYTES
from duetty.edges.http.websocket.frames import Kind, parse_frame
from duetty.edges.http.websocket.machines import Machines
from duetty.edges.http.websocket.socket import Doors, Socket, error_shape, outcome, parsed, refuse
from duetty.edges.http.websocket.stream import Stream
from duetty.errors import BadArguments, DuettyError, Exhausted, ScopeMissing
from duetty.ops import ApprovalFeed, Lagged, Watch

MAX_STREAMS = 256
"""Sessions on one connection; a page with more shows some of them without following."""

MAX_CALLS = 32
"""Calls of one connection that are under way; waits take long."""


async def view_endpoint(doors: Doors, websocket: WebSocket, actor: Actor) -> None:
    try:
        with doors.counted(actor):
            await doors.serve(websocket, actor, lambda socket: _Connection(doors, socket).run())
    except DuettyError as error:
        await refuse(websocket, error)


class _Connection:
    def __init__(self, doors: Doors, socket: Socket) -> None:
        self._dispatcher = doors.dispatcher
        self._access = doors.access
        self._challenge = secrets.token_hex(16) if doors.access.is_unproven(socket.actor) else None
        self._socket = socket
        self._streams: dict[int, Stream] = {}
        self._calls = 0
        self._is_listening = False
        """Every message of the viewer was taken."""
        self._watching: anyio.CancelScope | None = None
        self._asking: anyio.CancelScope | None = None
        self._list: Watch | None = None
        self._questions: ApprovalFeed | None = None
        self._machines = Machines(self._dispatcher, socket, self._tell_all)
        self._on: dict[str, Callable[[Any], Awaitable[None]]] = {
            "open": self._open,
            "ack": self._ack,
            "size": self._size,
            "hold": self._hold,
            "mode": self._mode,
            "close": self._close,
            "watch": self._watch,
            "approvals": self._approvals_alone,
            "call": self._call,
            "prove": self._prove,
        }

    async def run(self) -> None:
        node = self._dispatcher.node
        await self._socket.send_json(
            {
                "type": "hello",
                "server_id": node.server_id,
                "version": node.version,
                "window_bytes": WINDOW_BYTES,
                **({} if self._challenge is None else {"challenge": self._challenge}),
            }
        )
        self._socket.take_now(self._take_now)
        while True:
            self._is_listening = True
            message = await self._socket.receive()
            self._is_listening = False
            if message is None:
                return
            if isinstance(message, bytes):
                await self._take_frame(message)
            else:
                await self._take_text(message)

    # --- what the viewer says -----------------------------------------------------

    def _take_now(self, message: bytes) -> bool:
        """Keys, whose echo a person waits for: taken when they come, unless they need more."""
        frame = parse_frame(message) if self._is_listening else None
        if frame is None or frame.kind is not Kind.INPUT or frame.stream not in self._streams:
            return False
        try:
            self._streams[frame.stream].type(frame.data)
        except DuettyError as error:
            self._socket.tasks.start_soon(partial(self._tell, error, stream=frame.stream))
        return True

    async def _take_frame(self, message: bytes) -> None:
        frame = parse_frame(message)
        if frame is None or frame.kind is not Kind.INPUT:
            await self._tell(BadArguments("a binary frame of a viewer is input: kind 3"))
            return
        if self._machines.has(frame.stream):
            await self._machines.pass_on(frame.stream, message, {})
            return
        try:
            self._stream(frame.stream).type(frame.data)
        except DuettyError as error:
            await self._tell(error, stream=frame.stream)

    async def _take_text(self, text: str) -> None:
        fields: dict[str, Any] = {}
        try:
            fields = parsed(text)
            if self._machines.has(fields.get("stream")) and fields.get("type") in _OF_STREAM:
                messages.VIEWER_MESSAGES[fields["type"]].model_validate(fields)
                await self._machines.pass_on(fields["stream"], text, fields)
                return
            take = self._on.get(str(fields.get("type")))
            if take is None:
                raise BadArguments(
                    f"no message type {str(fields.get('type'))[:40]!r}",
                    hint=f"one of {', '.join(self._on)}",
                )
            await take(messages.VIEWER_MESSAGES[fields["type"]].model_validate(fields))
        except ValidationError as error:
            await self._tell(messages.bad_fields(error), **_error_subject(fields))
        except DuettyError as error:
            await self._tell(error, **_error_subject(fields))

    async def _tell(self, error: DuettyError, **named: Any) -> None:
        await self._socket.send_json({"type": "error", **named, "error": error_shape(error)})

    def _stream(self, number: int) -> Stream:
        stream = self._streams.get(number)
        if stream is None:
            raise BadArguments(f"no stream {number} is open")
        return stream

    async def _open(self, wanted: messages.Open) -> None:
        if wanted.stream in self._streams or self._machines.has(wanted.stream):
            raise BadArguments(f"stream {wanted.stream} is open already", hint="close it first")
        if len(self._streams) + self._machines.streams >= MAX_STREAMS:
            raise Exhausted(f"{MAX_STREAMS} streams are open on this connection")
        if await self._machines.open(wanted):
            return
        stream = Stream(self._dispatcher, self._socket, wanted)
        self._streams[wanted.stream] = stream
        self._socket.tasks.start_soon(self._follow, stream)

    async def _follow(self, stream: Stream) -> None:
        try:
            await stream.run()
        except DuettyError as error:
            await self._tell(error, stream=stream.number)
        finally:
            if self._streams.get(stream.number) is stream:
                del self._streams[stream.number]

    async def _ack(self, wanted: messages.Ack) -> None:
        # One that was ended meanwhile may still be acknowledged: that is no mistake.
        if (stream := self._streams.get(wanted.stream)) is not None:
            stream.ack(wanted.offset)

    async def _size(self, wanted: messages.StreamSize) -> None:
        self._stream(wanted.stream).view.set_size(cols=wanted.cols, rows=wanted.rows)

    async def _hold(self, wanted: messages.Hold) -> None:
        self._stream(wanted.stream).view.hold(on=wanted.on)

    async def _mode(self, wanted: messages.ChangeMode) -> None:
        self._stream(wanted.stream).change_mode(wanted.mode)

    async def _close(self, wanted: messages.OfStream) -> None:
        if (stream := self._streams.pop(wanted.stream, None)) is not None:
            stream.scope.cancel()

    async def _watch(self, wanted: messages.Watch) -> None:
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
        if wanted.on:
            self._watching = anyio.CancelScope()
            self._socket.tasks.start_soon(self._follow_list, self._watching)
        await self._machines.watch("watch", on=wanted.on)
        await self._approvals(wanted)

    async def _approvals_alone(self, wanted: messages.Watch) -> None:
        """Questions alone: a viewer of one session does not count as a viewer of the list."""
        await self._machines.watch("approvals", on=wanted.on)
        await self._approvals(wanted)

    async def _approvals(self, wanted: messages.Watch) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
        if wanted.on:
            self._asking = anyio.CancelScope()
            self._socket.tasks.start_soon(self._follow_approvals, self._asking)

    async def _prove(self, wanted: messages.Prove) -> None:
        """A page shows that it holds the key of its sign-in; what it says from here on is a person's."""
        challenge, self._challenge = self._challenge, None
        if challenge is None:
            raise BadArguments("there is nothing to prove here, or it was tried already")
        self._socket.actor = await self._access.prove(
            self._socket.actor, challenge=challenge, key=wanted.key, proof=wanted.proof
        )
        await self._socket.send_json({"type": "proved"})

    async def _call(self, wanted: messages.Call) -> None:
        if self._calls >= MAX_CALLS:
            raise Exhausted(f"{MAX_CALLS} calls are under way on this connection")
        self._calls += 1
        self._socket.tasks.start_soon(self._answer, wanted)

    async def _answer(self, call: messages.Call) -> None:
        try:
            calling = self._dispatcher.call(self._socket.actor, call.operation, call.arguments)
            reply = await self._socket.timed(outcome(calling))
            type_ = "error" if "error" in reply else "result"
            await self._socket.send_json({"type": type_, "id": call.id, **reply})
        finally:
            self._calls -= 1

    # --- the list of sessions -----------------------------------------------------

    async def _follow_list(self, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                await self._tell_list()
            except DuettyError as error:
                await self._tell(error)

    async def _tell_list(self) -> None:
        """The whole list, then every change of it; the list again after falling behind."""
        with self._dispatcher.watch(self._socket.actor) as watch, suppress(anyio.EndOfStream):
            self._list = watch
            await self._tell_all("sessions")
            while True:
                entry = await watch.receive()
                if isinstance(entry, Lagged):
                    await self._tell_all("sessions")
                elif (shape := watch.change_shape(entry)) is not None:
                    await self._socket.send_json({"type": "session", **shape})

    async def _tell_all(self, kind: str) -> None:
        """A whole list, as it is now: of what is here, and of machines that joined."""
        machines, own = self._machines, self._questions
        match kind:
            case "sessions" if self._list is not None:
                message = {"sessions": [*self._list.sessions(), *machines.sessions()]}
            case "approvals" if own is not None:
                message = {"approvals": [*own.pending(), *machines.approvals()]}
            case "standing" if own is not None:
                message = {"standing": [*own.standing(), *machines.standing()]}
            case _:
                return
        await self._socket.send_json({"type": kind, **message})

    # --- questions to a person ------------------------------------------------------

    async def _follow_approvals(self, scope: anyio.CancelScope) -> None:
        """What waits for an answer, then each question as it is asked and settled."""
        with (
            scope,
            suppress(
                anyio.EndOfStream, ScopeMissing
            ),  # the list's own answer names the missing scope
            self._dispatcher.approval_feed(self._socket.actor) as asked,
        ):
            self._questions = asked
            await self._tell_all("approvals")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._follow_standing, asked)
                try:
                    while True:
                        if (changed := await asked.receive()) is not None:
                            await self._socket.send_json({"type": "approval", "approval": changed})
                        else:
                            await self._tell_all("approvals")
                except anyio.EndOfStream:
                    tasks.cancel_scope.cancel()

    async def _follow_standing(self, asked: ApprovalFeed) -> None:
        """The answers that cover later calls, whole, after each change."""
        while True:
            standing = asked.standing()
            await self._tell_all("standing")
            if asked.standing() == standing:
                await asked.standing_changed()


_OF_STREAM = frozenset({"ack", "size", "hold", "mode", "close"})


def _error_subject(fields: dict[str, Any]) -> dict[str, Any]:
    """What an error is about, as the viewer itself called it."""
    return {name: fields[name] for name in ("id", "stream") if name in fields}
