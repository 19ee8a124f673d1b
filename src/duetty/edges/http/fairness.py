"""How much of the loop, and of what it reads, one credential may have while others want some.

Paid for afterwards: who has used more than its share waits for its next answer or message until that
is made up for. One that owes too much, or goes on for too long, is refused and its connection closed.
A connection that has shown no credential answers for itself.
"""

import math
from collections.abc import Awaitable, Callable, Generator
from itertools import count
from time import perf_counter, thread_time
from types import coroutine
from typing import Any, TypeVar

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from duetty.calls import Actor
from duetty.clock import Clock
from duetty.edges.http.errors import error_response
from duetty.edges.http.limits import Bucket
from duetty.edges.http.peer import ADMITTED, CONNECTION
from duetty.errors import Exhausted, RateLimited
from duetty.ops import Shares

LOOP_SHARE, LOOP_AT_ONCE_S = 0.5, 0.5
"""Seconds of the loop's time a second. Alone, a credential may have all of it."""

OTHERS_S = 1.0
"""Who asked for something so long ago still counts as another user who is there."""

BYTES_PER_S, BYTES_AT_ONCE = 16 * 1024 * 1024, 64 * 1024 * 1024
MESSAGES_PER_S = 2_000
"""Requests and WebSocket messages; a quick typist sends twenty."""

MAX_OWED_S = 5.0
"""Who owes more is refused."""

GREEDY_S = 30.0
"""A WebSocket that has to wait at every message for so long is closed."""

T = TypeVar("T")


class Fairness:
    """What each owner has used: a credential, or a connection without one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._time = Bucket(LOOP_SHARE, clock, at_once=LOOP_AT_ONCE_S)
        self._bytes = Bucket(BYTES_PER_S, clock, at_once=BYTES_AT_ONCE)
        self._messages = Bucket(MESSAGES_PER_S, clock)
        self._last = self._before = ("", -math.inf)
        """The two owners who were heard last, and when."""

    def heard(self, owner: str) -> None:
        now_s = self._clock.monotonic_s()
        if self._last[0] != owner:
            self._before = self._last
        self._last = (owner, now_s)

    def asked(self, owner: str, size: int = 0) -> None:
        """A request or a message came."""
        self.heard(owner)
        self._messages.spend(owner, 1)
        if size:
            self._bytes.spend(owner, size)

    def read(self, owner: str, size: int) -> None:
        self._bytes.spend(owner, size)

    def ran(self, owner: str, seconds: float) -> None:
        self._time.spend(owner, seconds)

    def owed_s(self, owner: str) -> float:
        """How long it has to wait until it has what it used."""
        owed_s = max(self._bytes.owed_s(owner), self._messages.owed_s(owner))
        return max(owed_s, self._time.owed_s(owner)) if self._has_others(owner) else owed_s

    def _has_others(self, owner: str) -> bool:
        other = self._before if self._last[0] == owner else self._last
        return self._clock.monotonic_s() - other[1] < OTHERS_S


def is_free(actor: Actor) -> bool:
    """Whether it skips the queue: the person at this machine."""
    return actor.kind == "person" and actor.token is None


SHORT_S, KNOWN_S = 0.001, 0.01
"""A turn that took no longer than the first was hardly interrupted; the second: so old may the last reading of
the processor's clock be, by which the longer ones are judged."""


class _Spent:
    """What a turn of the loop cost. The clock of a thread's processor time is a call of the kernel, which for a
    short turn takes longer than the turn: it is asked only where the loop may have been interrupted.
    """

    def __init__(self) -> None:
        self._read_s = -math.inf
        self._spent_s = 0.0

    def since(self, began_s: float) -> float:
        now_s = perf_counter()
        took_s = now_s - began_s
        if took_s <= SHORT_S and now_s - self._read_s <= KNOWN_S:
            return took_s
        before_s, self._spent_s, self._read_s = self._spent_s, thread_time(), now_s
        return took_s if took_s <= SHORT_S else min(took_s, self._spent_s - before_s)


_spent = _Spent()


@coroutine
def timed(awaited: Awaitable[T], ran: Callable[[float], object]) -> Generator[Any, Any, T]:
    """The same; `ran` gets the processor time of each turn."""
    steps = awaited.__await__()
    sent: Any = None
    error: BaseException | None = None
    while True:
        began_s = perf_counter()
        try:
            if error is not None:
                waited_for = steps.throw(error)
            else:
                waited_for = next(steps) if sent is None else steps.send(sent)
        except StopIteration as ended:
            return ended.value
        finally:
            ran(_spent.since(began_s))
        sent = error = None
        try:
            sent = yield waited_for
        except BaseException as thrown:  # noqa: BLE001 - whatever it is, it is theirs to see
            error = thrown


_numbers = count(1)

TURN = "duetty.turn"
"""In the state of a request or a WebSocket: its `Turn`."""


class Fair:
    """Around the whole application: each request is its credential's, from when that is known."""

    def __init__(self, app: ASGIApp, fairness: Fairness, uploads: Shares) -> None:
        self._app = app
        self._fairness = fairness
        self._uploads = uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        turn = Turn(self._fairness, self._uploads, scope)
        try:
            await timed(self._app(scope, *turn.between(receive, send)), turn.ran)
        finally:
            turn.hold(0)


class Turn:
    """One request, or one WebSocket: whose it is, and what it holds."""

    def __init__(self, fairness: Fairness, uploads: Shares, scope: Scope) -> None:
        self._fairness = fairness
        self._uploads = uploads
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

    def _admitted(self, actor: Actor) -> None:
        """Raises:
        Exhausted: if it holds its share of connections already.
        RateLimited: if it owes too much.
        """
        if self._on_connection is not None:
            self._on_connection(actor)
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
        if not self._is_free:
            self._fairness.ran(self._owner, seconds)

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
                    self.hold(self._body_bytes)
                except Exhausted as error:
                    await error_response(error)(self._scope, receive, send)
                    self._is_refused = True
                    return {"type": "http.disconnect"}
                await self._wait()
            return message

        async def sent(message: Message) -> None:
            if self._is_refused:
                return
            if message["type"] == "http.response.start":
                await self._wait()
            await send(message)

        return received, sent

    async def _wait(self) -> None:
        if not self._is_free and (owed_s := self._fairness.owed_s(self._owner)) > 0:
            await anyio.sleep(min(owed_s, MAX_OWED_S))
