"""Around the whole application: each request and WebSocket is its credential's (`ops/fairness.py`)."""

import math
from collections.abc import Callable
from itertools import count

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duetty.calls import Actor
from duetty.edges.http.errors import error_response
from duetty.edges.http.peer import ADMITTED, CONNECTION
from duetty.errors import Exhausted, RateLimited
from duetty.ops import MAX_OWED_S, Bounds, is_free, timed

_numbers = count(1)

PART_BYTES = 256 * 1024
"""Of an answer, given to the connection at once."""

SMALL_BYTES = 16 * 1024
"""A body that is whole and no larger takes no more memory than its connection, which is counted."""

PUT_DOWN_S = 0.001
"""Of the loop's time: so much, and less, may be put down later."""

TURN = "duetty.turn"
"""In the state of a request or a WebSocket: its `Turn`."""


class Fair:
    """Each request is its credential's, from when that is known."""

    def __init__(self, app: ASGIApp, bounds: Bounds) -> None:
        self._app = app
        self._bounds = bounds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        turn = Turn(self._bounds, scope)
        try:
            await timed(self._app(scope, *turn.between(receive, send)), turn.ran)
        finally:
            turn.put_down()
            turn.hold(0)


class Turn:
    """One request, or one WebSocket: whose it is, and what it holds."""

    def __init__(self, bounds: Bounds, scope: Scope) -> None:
        self._fairness = bounds.fairness
        self._uploads = bounds["uploads"]
        self._answers = bounds["answers"]
        self._scope = scope
        self._actor: Actor | None = None
        self._body_bytes = 0
        self._give_back: Callable[[], None] = lambda: None
        self._is_refused = False
        state = scope.setdefault("state", {})
        state[TURN] = self
        self._on_connection: Callable[[Actor], None] | None = state.get(ADMITTED)
        state[ADMITTED] = self._admitted
        self._owner = f"connection:{state.get(CONNECTION) or next(_numbers)}"
        self._is_free = False
        self._ran_s = 0.0

    def _admitted(self, actor: Actor) -> None:
        """Raises:
        Exhausted: if it holds its share of connections already.
        RateLimited: if it owes too much.
        """
        if self._on_connection is not None:
            self._on_connection(actor)
        self.put_down()  # what was before is the connection's
        self._actor = actor
        self._owner = actor.identity
        self._is_free = is_free(actor)
        self._fairness.asked(self._owner)
        owed_s = 0.0 if self._is_free else self._fairness.owed_s(self._owner)
        if owed_s > MAX_OWED_S:
            self._is_free = True  # to hear at once why
            raise RateLimited(
                "this credential used more than its share of the server's time",
                hint="wait for Retry-After seconds; to follow a session, use a WebSocket",
                details={"retry_after_s": math.ceil(owed_s)},
            )

    def ran(self, seconds: float) -> None:
        """Short turns are put down together: most requests have two of them."""
        self._ran_s += seconds
        if self._ran_s > PUT_DOWN_S:
            self.put_down()

    def put_down(self) -> None:
        if self._ran_s and not self._is_free:
            self._fairness.ran(self._owner, self._ran_s)
        self._ran_s = 0.0

    def hold(self, size: int) -> None:
        """So many bytes of what it says are in memory, and were not taken yet.

        Raises:
            Exhausted: if that is more than the share of this credential.
        """
        self._give_back()
        self._give_back = lambda: None
        if size and self._actor is not None:
            self._give_back = self._uploads.take(self._actor, amount=size)

    def between(self, receive: Receive, send: Send) -> tuple[Receive, Send]:
        async def received() -> Message:
            if self._is_refused:
                return {"type": "http.disconnect"}
            message = await receive()
            if message["type"] == "http.request" and (body := message.get("body")):
                self._body_bytes += len(body)
                self._fairness.read(self._owner, len(body))
                try:
                    if message.get("more_body") or self._body_bytes > SMALL_BYTES:
                        self.hold(self._body_bytes)
                except Exhausted as error:
                    await error_response(error)(self._scope, receive, send)
                    self._is_refused = True
                    return {"type": "http.disconnect"}
                await self._wait()
            return message

        begun: Message | None = None

        async def sent(message: Message) -> None:
            nonlocal begun
            if self._is_refused:
                return
            if message["type"] == "http.response.start":
                await self._wait()
                if not self._is_free and _is_large(message):
                    begun = message  # sent with its body, or not at all
                    return
            elif begun is not None:
                start, begun = begun, None
                if not message.get("more_body"):
                    await self._send_large(start, message.get("body", b""), receive, send)
                    return
                await send(start)
            await send(message)

        return received, sent

    async def _send_large(self, start: Message, body: bytes, receive: Receive, send: Send) -> None:
        """In parts, as the client reads them: what it does not read counts as its own."""
        # One that is larger than the share has all of it, and is sent alone.
        size = min(len(body), self._answers.each)
        try:
            give_back = self._answers.take(self._actor, amount=size) if self._actor else None
        except Exhausted as error:
            self._is_refused = True
            await error_response(error)(self._scope, receive, send)
            return
        try:
            await send(start)
            for place in range(0, len(body), PART_BYTES):
                part = body[place : place + PART_BYTES]
                more = place + PART_BYTES < len(body)
                await send({"type": "http.response.body", "body": part, "more_body": more})
        finally:
            if give_back is not None:
                give_back()

    async def _wait(self) -> None:
        if not self._is_free and (owed_s := self._fairness.owed_s(self._owner)) > 0:
            await anyio.sleep(min(owed_s, MAX_OWED_S))


def _is_large(start: Message) -> bool:
    for name, value in start["headers"]:
        if name == b"content-length":
            return value.isdigit() and int(value) > PART_BYTES
    return False
