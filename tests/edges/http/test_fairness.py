"""Time and bytes of each credential: alone it may have all, beside others its share."""

import json
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from starlette.responses import Response

from duetty.calls import Actor
from duetty.edges.http.fairness import Fair
from duetty.edges.http.peer import ADMITTED
from duetty.ops.bounds import Bounds
from duetty.ops.fairness import (
    BYTES_AT_ONCE,
    BYTES_PER_S,
    LOOP_AT_ONCE_S,
    LOOP_SHARE,
    MESSAGES_PER_S,
    OTHERS_S,
    Fairness,
    timed,
)


@dataclass
class FakeClock:
    now_s: float = 0.0

    def monotonic_s(self) -> float:
        return self.now_s

    def wall_ns(self) -> int:
        return int(self.now_s * 1e9)


def test_alone_a_credential_may_have_all_of_the_loop() -> None:
    fairness = Fairness(FakeClock())
    fairness.asked("a")
    fairness.ran("a", 10)

    assert fairness.owed_s("a") == 0


def test_beside_another_it_waits_for_what_it_used_beyond_its_share() -> None:
    clock = FakeClock()
    fairness = Fairness(clock)
    for owner in ("a", "b"):
        fairness.asked(owner)
    fairness.ran("a", LOOP_AT_ONCE_S + 1)

    assert fairness.owed_s("a") == pytest.approx(1 / LOOP_SHARE)
    assert fairness.owed_s("b") == 0
    clock.now_s += OTHERS_S + 0.1
    assert fairness.owed_s("a") == 0, "the other has gone"


def test_a_person_who_types_is_somebody_else_who_is_there() -> None:
    fairness = Fairness(FakeClock())
    fairness.heard("person")
    fairness.asked("a")
    fairness.ran("a", 2)

    assert fairness.owed_s("a") > 0


def test_bytes_and_messages_are_paid_for_whoever_is_there() -> None:
    fairness = Fairness(FakeClock())
    fairness.asked("a", size=BYTES_AT_ONCE + BYTES_PER_S)
    for _ in range(MESSAGES_PER_S * 3):
        fairness.asked("b")

    assert fairness.owed_s("a") == pytest.approx(1)
    assert fairness.owed_s("b") == pytest.approx(2)


@pytest.mark.anyio
async def test_the_time_of_a_call_is_that_of_its_turns_and_not_of_its_waits() -> None:
    ran: list[float] = []

    async def call() -> str:
        await anyio.sleep(0.2)
        sum(range(200_000))
        return "done"

    assert await timed(call(), ran.append) == "done"
    assert len(ran) >= 2
    assert 0.0005 < sum(ran) < 0.15


@pytest.mark.anyio
async def test_errors_and_cancellation_pass_through_a_timed_call() -> None:
    ended: list[str] = []

    async def failing() -> None:
        await anyio.lowlevel.checkpoint()
        raise KeyError

    async def waiting() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cleaned up")

    with pytest.raises(KeyError):
        await timed(failing(), ended.append)  # type: ignore[arg-type]
    ended.clear()
    with anyio.move_on_after(0.01) as scope:
        await timed(waiting(), lambda _: None)

    assert scope.cancelled_caught
    assert ended == ["cleaned up"]


@dataclass
class Reader:
    """A client that takes the head of its answer, and the rest when it may."""

    bounds: Bounds
    actor: Actor
    reads: anyio.Event = field(default_factory=anyio.Event)
    status: int = 0
    body: bytes = b""

    async def ask(self, size: int) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            scope["state"][ADMITTED](self.actor)
            await Response(bytes(size))(scope, receive, send)

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                return
            if self.status == 200:
                await self.reads.wait()
            self.body += message["body"]

        async def receive() -> Any:
            await anyio.sleep_forever()

        scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/", "headers": []}
        await Fair(app, self.bounds)(scope, receive, send)


@pytest.mark.anyio
async def test_answers_that_are_not_read_take_no_more_than_their_credentials_share() -> None:
    bounds = Bounds()
    share, held = bounds["answers"].each, 0
    greedy, other = (Actor(kind="agent", name=name, token=name) for name in ("greedy", "other"))
    unread, refused, of_another, later = (
        Reader(bounds, actor) for actor in (greedy, greedy, other, greedy)
    )
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(unread.ask, share * 3 // 4)
            await anyio.wait_all_tasks_blocked()
            await refused.ask(share // 2)
            tasks.start_soon(of_another.ask, share * 2)  # more than a share: alone it is sent
            await anyio.wait_all_tasks_blocked()
            held = bounds.held("answers")
            for each in (unread, of_another, later):
                each.reads.set()
        await later.ask(share // 2)

    assert (refused.status, json.loads(refused.body)["error"]["code"]) == (
        429,
        "resource_limit_reached",
    )
    assert held == share * 3 // 4 + share
    assert (unread.status, len(unread.body)) == (200, share * 3 // 4)
    assert (of_another.status, len(of_another.body)) == (200, share * 2)
    assert (later.status, bounds.held("answers")) == (200, 0)
