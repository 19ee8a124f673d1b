from dataclasses import dataclass

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from duetty.events import (
    SUBSCRIBER_ENTRIES,
    Bell,
    Entry,
    Event,
    EventLog,
    Lagged,
    SessionCreated,
    SessionsEntry,
    SessionsLog,
    TitleChanged,
)
from duetty.ids import Seq, SessionId

pytestmark = pytest.mark.anyio


@dataclass
class FakeClock:
    at_s: float = 0.0

    def monotonic_s(self) -> float:
        return self.at_s

    def wall_ns(self) -> int:
        return int(self.at_s * 1e9)


async def test_a_subscriber_sees_every_entry_after_it_came_in_order() -> None:
    log = EventLog(FakeClock())
    log.append(Bell(count=1))

    with log.subscribe() as entries, anyio.fail_after(60):
        log.append(Bell(count=2))
        log.append(TitleChanged(title="t"))
        seen = [await entries.receive(), await entries.receive()]

    assert seen == [
        Entry(seq=Seq(2), at_ns=0, event=Bell(count=2)),
        Entry(seq=Seq(3), at_ns=0, event=TitleChanged(title="t")),
    ]


async def test_a_subscriber_that_falls_behind_is_told_what_it_missed() -> None:
    log = EventLog(FakeClock())

    with log.subscribe() as entries, anyio.fail_after(60):
        for _ in range(SUBSCRIBER_ENTRIES + 2):
            log.append(Bell(count=1))
        seen = [await entries.receive() for _ in range(SUBSCRIBER_ENTRIES)]
        after = await entries.receive()
        log.append(Bell(count=1))
        again = await entries.receive()

    assert all(isinstance(item, Entry) for item in seen)
    assert after == Lagged(missed_through=Seq(SUBSCRIBER_ENTRIES + 2))
    assert again == Entry(seq=Seq(SUBSCRIBER_ENTRIES + 3), at_ns=0, event=Bell(count=1))


async def test_a_closed_log_ends_its_subscriptions_after_the_last_entry() -> None:
    log = EventLog(FakeClock())

    with log.subscribe() as entries, anyio.fail_after(60):
        log.append(Bell(count=1))
        log.close()
        assert isinstance(await entries.receive(), Entry)
        with pytest.raises(anyio.EndOfStream):
            await entries.receive()


async def test_output_wakes_only_those_who_can_take_it() -> None:
    log = EventLog(FakeClock())

    with log.subscribe() as reader, log.subscribe() as full, anyio.fail_after(60):
        full.wants_output = False
        log.printed()
        await reader.wait()
        with anyio.move_on_after(0) as bound:
            await full.wait()

    assert reader.take() is None
    assert bound.cancelled_caught
    assert log.followers == 0


async def test_whoever_taps_the_log_sees_each_event_at_once() -> None:
    seen: list[Event] = []
    log = EventLog(FakeClock(), tap=seen.append)

    log.append(Bell(count=1))

    assert seen == [Bell(count=1)]


async def test_the_log_of_all_sessions_tells_who_lagged_too() -> None:
    log = SessionsLog(FakeClock())
    created = SessionCreated(id=SessionId("1"), name="a")

    with log.subscribe() as entries, anyio.fail_after(60):
        for _ in range(SUBSCRIBER_ENTRIES + 1):
            log.append(created)
        seen = [await entries.receive() for _ in range(SUBSCRIBER_ENTRIES)]
        after = await entries.receive()

    assert seen[0] == SessionsEntry(seq=Seq(1), at_ns=0, event=created)
    assert after == Lagged(missed_through=Seq(SUBSCRIBER_ENTRIES + 1))


STRETCHES = st.tuples(
    st.sampled_from(["append", "receive"]), st.integers(1, 2 * SUBSCRIBER_ENTRIES)
)
"""Of one kind each, and long: a subscriber falls behind, catches up and falls behind again."""


@given(st.lists(STRETCHES, max_size=8))
@example([("append", SUBSCRIBER_ENTRIES + 1), ("receive", 1), ("append", 1)])
def test_the_log_is_a_prefix_then_lagged_then_a_suffix_without_gaps(
    stretches: list[tuple[str, int]],
) -> None:
    steps = [step for step, count in stretches for _ in range(count)]

    async def scenario() -> None:
        log = EventLog(FakeClock())
        last, pending = 0, 0
        with log.subscribe() as entries:
            for step in [*steps, *["receive"] * SUBSCRIBER_ENTRIES]:
                if step == "append":
                    log.append(Bell(count=1))
                    pending += 1
                elif pending:
                    with anyio.move_on_after(0) as bound:
                        got = await entries.receive()
                        if isinstance(got, Lagged):
                            assert got.missed_through > last
                            last = got.missed_through
                        else:
                            assert got.seq == last + 1
                            last = got.seq
                    if bound.cancelled_caught:
                        pending = 0
            assert log.seq == steps.count("append")

    anyio.run(scenario)


async def test_output_that_is_taken_at_once_wakes_nobody() -> None:
    log = EventLog(FakeClock())
    told: list[str] = []

    def take() -> bool:
        told.append("output")
        return len(told) < 2

    with log.subscribe() as entries:
        entries.tell_output(take)
        log.printed()
        with anyio.move_on_after(0) as first:
            await entries.wait()
        log.printed()
        with anyio.fail_after(60):
            await entries.wait()

    assert first.cancelled_caught
    assert told == ["output", "output"]


async def test_output_is_not_taken_before_what_arrived_earlier() -> None:
    log = EventLog(FakeClock())
    told: list[str] = []

    def take() -> bool:
        told.append("output")
        return True

    with log.subscribe() as entries, anyio.fail_after(60):
        entries.tell_output(take)
        log.append(Bell(count=1))
        log.printed()
        await entries.wait()

    assert told == []


async def test_a_subscriber_is_neither_told_nor_woken_by_what_it_skips() -> None:
    log = EventLog(FakeClock())

    with log.subscribe() as entries:
        entries.skips = Bell
        wanted = log.is_wanted(Bell), log.is_wanted(TitleChanged)
        log.append(Bell(count=1))
        with anyio.move_on_after(0) as waiting:
            await entries.wait()
        log.append(TitleChanged(title="t"))
        with anyio.fail_after(60):
            seen = await entries.receive()
        with log.subscribe():
            wanted_by_another = log.is_wanted(Bell)

    assert wanted == (False, True)
    assert wanted_by_another
    assert waiting.cancelled_caught
    assert seen == Entry(seq=Seq(2), at_ns=0, event=TitleChanged(title="t"))


async def test_output_that_was_passed_on_wakes_nobody_and_the_next_is_told_again() -> None:
    log = EventLog(FakeClock())
    told: list[str] = []

    def passes() -> bool:
        told.append("passed")
        return True

    with log.subscribe() as entries:
        entries.tell_output(passes)
        log.pass_on()
        log.printed()
        with anyio.move_on_after(0.05) as bound:
            await entries.wait()
        first = list(told)
        log.printed()

    assert bound.cancelled_caught
    assert (first, told) == (["passed"], ["passed", "passed"])


async def test_output_that_cannot_be_passed_on_wakes_whoever_waits_once_it_was_taken_in() -> None:
    log = EventLog(FakeClock())

    with log.subscribe() as entries, anyio.fail_after(60):
        entries.tell_output(lambda: False)
        log.pass_on()
        with anyio.move_on_after(0.05) as bound:
            await entries.wait()
        log.printed()
        await entries.wait()

    assert bound.cancelled_caught
