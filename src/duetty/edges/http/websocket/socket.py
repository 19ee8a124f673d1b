"""What every WebSocket here has in common: who may come, bounded sends, an end with a reason."""

import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple, TypeVar, cast

import anyio
import anyio.abc
import anyio.lowlevel
from pydantic_core import PydanticSerializationError, to_json
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from duetty.calls import Actor
from duetty.edges.http.arguments import no_constant
from duetty.edges.http.auth import Guard
from duetty.edges.http.errors import error_response
from duetty.edges.http.stopping import Stopping
from duetty.errors import BadArguments, DuettyError
from duetty.ops import GREEDY_S, Access, Dispatcher, Fairness, is_free, timed
from duetty.wire.json_values import MAX_VALUES, has_few_values

log = logging.getLogger("duetty.websocket")

T = TypeVar("T")

SEND_S = 5.0
"""How long one message may wait for a peer that does not read; then the connection ends."""

CLOSE_S = 2.0

ABORT = "duetty.abort"
"""The extension of the scope that drops the connection at once."""

SEND_NOW = "duetty.send_now"
"""The extension of the scope that sends a message without waiting, if that can be done."""

TAKE_NOW = "duetty.take_now"
"""The extension of the scope to which one can give a function that takes binary messages as they come."""

LONGEST_SLEEP_S = 1.0
"""Until one that has to wait is looked at again."""

TURN_MESSAGES = 32
"""Taken in a row before other connections have a turn."""


class Closing(NamedTuple):
    code: int
    reason: str


SESSION_ENDED = Closing(1000, "session ended")
DONE = Closing(1000, "done")
STOPPING = Closing(1001, "server stopping")
REVOKED = Closing(1008, "credential revoked")
TOO_SLOW = Closing(1013, "too slow")
TOO_GREEDY = Closing(1008, "more than its share")
CRASHED = Closing(1011, "internal error")
DETACHED = Closing(1000, "detached")


class Socket:
    """An accepted WebSocket. Sending never fails: it ends the whole connection instead."""

    def __init__(
        self, websocket: WebSocket, actor: Actor, tasks: anyio.abc.TaskGroup, fairness: Fairness
    ) -> None:
        self.actor = actor
        self._fairness = fairness
        self._waits_since_s: float | None = None
        self._taken = 0
        self.tasks = tasks
        self.closing = DONE
        self._websocket = websocket
        now = websocket.scope["extensions"].get(SEND_NOW)
        self.send_now: Callable[[bytes | str], bool] = _not_now if now is None else now["call"]
        """Send a message in this turn of the loop; False if the peer is behind or gone."""

    def end(self, closing: Closing) -> None:
        """Close for this reason; everything that serves the connection is cancelled."""
        if not self.tasks.cancel_scope.cancel_called:
            self.closing = closing
            self.tasks.cancel_scope.cancel()

    async def send_json(self, message: object) -> None:
        await self._send({"type": "websocket.send", "text": encoded(message)})

    async def send_bytes(self, data: bytes) -> None:
        await self._send({"type": "websocket.send", "bytes": data})

    async def _send(self, message: dict[str, Any]) -> None:
        with anyio.move_on_after(SEND_S) as bound:
            try:
                await self._websocket.send(message)
            except (WebSocketDisconnect, RuntimeError):
                self.end(DONE)
        if bound.cancelled_caught:
            self.end(TOO_SLOW)
        if self.tasks.cancel_scope.cancel_called:
            await anyio.lowlevel.checkpoint()

    def take_now(self, take: Callable[[bytes], bool]) -> None:
        """Offer each binary message to this one first, in the turn of the loop in which it came.

        What it does not take (False), and what comes behind a message that waits, is received.
        """
        offer = self._websocket.scope["extensions"].get(TAKE_NOW)
        if offer is None:
            return

        def taken(message: bytes) -> bool:
            self._fairness.heard(self.actor.identity)
            return take(message)

        offer["call"](taken)

    async def timed(self, call: Awaitable[T]) -> T:
        """A call that a task of its own makes for this connection."""
        return await timed(call, lambda seconds: self._fairness.ran(self.actor.identity, seconds))

    async def receive(self) -> str | bytes | None:
        """The next message; None when the peer has gone. One that sends too many waits for its turn."""
        await self._wait_for_turn()
        self._taken += 1
        if self._taken % TURN_MESSAGES == 0:
            await anyio.lowlevel.checkpoint()
        return await self._next()

    async def receive_streams(self) -> str | bytes | None:
        """For a peer that speaks for many: as many messages and bytes as its streams have windows
        for, and beside others its share of the loop.
        """
        while (owed_s := self._fairness.owed_time_s(self.actor.identity)) > 0:  # noqa: ASYNC110 - time alone pays it
            await anyio.sleep(min(owed_s, LONGEST_SLEEP_S))
        return await self._next()

    async def _next(self) -> str | bytes | None:
        message = await self._websocket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        text = message.get("text")
        content: str | bytes = text if text is not None else message["bytes"]
        self._fairness.asked(self.actor.identity, len(content))
        return content

    async def _wait_for_turn(self) -> None:
        if is_free(self.actor) or not self._fairness.owed_s(self.actor.identity):
            self._waits_since_s = None
            return
        self._waits_since_s = self._waits_since_s or anyio.current_time()
        while (owed_s := self._fairness.owed_s(self.actor.identity)) > 0:
            if anyio.current_time() - self._waits_since_s > GREEDY_S:
                self.end(TOO_GREEDY)
            await anyio.sleep(min(owed_s, LONGEST_SLEEP_S))

    async def send(self, message: str | bytes) -> None:
        if not self.send_now(message):
            kind = "text" if isinstance(message, str) else "bytes"
            await self._send({"type": "websocket.send", kind: message})

    async def close(self) -> None:
        """Say why and go; from a peer that does not take even that, without a word."""
        with anyio.move_on_after(CLOSE_S, shield=True) as bound:
            if self._websocket.client_state is WebSocketState.CONNECTED:
                with suppress(WebSocketDisconnect, RuntimeError):  # the peer was faster
                    await self._websocket.close(self.closing.code, self.closing.reason)
        if bound.cancelled_caught:
            self._websocket.scope["extensions"][ABORT]["call"]()


def _not_now(data: bytes | str) -> bool:
    return False


def encoded(message: object) -> str:
    try:
        return to_json(message, inf_nan_mode="null").decode()
    except PydanticSerializationError:  # a lone surrogate in a name or a path
        plain = to_json(message, inf_nan_mode="null", fallback=str, serialize_unknown=True)
        return plain.decode("utf-8", "replace")


def parsed(text: str | bytes) -> dict[str, Any]:
    """The JSON object in a message.

    Raises:
        BadArguments: if there is none.
    """
    if not has_few_values(text):
        raise BadArguments(f"the message has more than {MAX_VALUES} values")
    try:
        message = json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise BadArguments("the message is not JSON") from error
    if not isinstance(message, dict):
        raise BadArguments("the message is not a JSON object")
    return cast("dict[str, Any]", message)


def error_shape(error: DuettyError) -> dict[str, Any]:
    shape: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.hint:
        shape["hint"] = error.hint
    if error.details:
        shape["details"] = error.details
    return shape


async def outcome(call: Awaitable[Any]) -> dict[str, Any]:
    """`result` or `error` of a call; the connection outlives a call that crashes."""
    try:
        return {"result": await call}
    except DuettyError as error:
        return {"error": error_shape(error)}
    except Exception:
        log.exception("call_crashed")
        message = "something went wrong here; the server's log says what"
        return {"error": {"code": DuettyError.code, "message": message}}


Serve = Callable[[Socket], Awaitable[None]]


class Doors:
    """What the endpoints share: who decides, who answers, how many may stay."""

    def __init__(self, dispatcher: Dispatcher, guard: Guard, stopping: Stopping) -> None:
        self.dispatcher = dispatcher
        self._guard = guard
        self._stopping = stopping

    @property
    def access(self) -> Access:
        return self._guard.access

    def counted(self, actor: Actor) -> AbstractContextManager[None]:
        """One of the connections that belong to no session.

        Raises:
            Exhausted: if there are too many, when it is entered.
        """
        return self.access.bounds["websockets"].taken(actor)

    def admit(self, websocket: WebSocket) -> Actor:
        """Who it is.

        Raises:
            DuettyError: if it may not come in.
        """
        return self._guard.admit(websocket)

    async def serve(self, websocket: WebSocket, actor: Actor, serve: Serve) -> None:
        """Accept, serve until either side ends it, close with the reason."""
        await websocket.accept()
        socket: Socket | None = None
        try:
            async with anyio.create_task_group() as tasks:
                socket = served = Socket(websocket, actor, tasks, self._guard.fairness)
                with (
                    self._stopping.joined(lambda: served.end(STOPPING)),
                    self._guard.live.joined(actor, lambda: served.end(REVOKED)),
                ):
                    await serve(served)
                served.end(served.closing)
        except Exception:
            if socket is not None:
                socket.closing = CRASHED
            raise
        finally:
            if socket is not None:
                await socket.close()


async def refuse(websocket: WebSocket, error: DuettyError) -> None:
    """Answer an upgrade with the error, as any other request."""
    await websocket.send_denial_response(error_response(error))
