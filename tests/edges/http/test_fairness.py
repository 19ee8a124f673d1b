"""Time and bytes of each credential: alone it may have all, beside others its share."""

from dataclasses import dataclass

import anyio
import anyio.lowlevel
import pytest

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
