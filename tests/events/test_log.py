from dataclasses import dataclass

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.events import (
    SUBSCRIBER_BYTES,
    SUBSCRIBER_ENTRIES,
    Bell,
    Entry,
    EventLog,
    Lagged,
    Output,
)
from duetty.ids import Offset, Seq

pytestmark = pytest.mark.anyio


@dataclass
class FakeClock:
    at_s: float = 0.0

    def monotonic_s(self) -> float:
        return self.at_s

    def wall_ns(self) -> int:
        return int(self.at_s * 1e9)


def output(data: bytes = b".") -> Output:
    return Output(start=Offset(0), data=data)


async def test_a_subscriber_sees_every_entry_after_it_came_in_order() -> None:
    log = EventLog(FakeClock())
    log.append(Bell(count=1))

    with log.subscribe() as entries, anyio.fail_after(5):
        log.append(Bell(count=2))
        log.append(output())
        seen = [await entries.receive(), await entries.receive()]

    assert seen == [
        Entry(seq=Seq(2), at_ns=0, event=Bell(count=2)),
        Entry(seq=Seq(3), at_ns=0, event=output()),
    ]


async def test_a_subscriber_that_falls_behind_is_told_what_it_missed() -> None:
    log = EventLog(FakeClock())

    with log.subscribe() as entries, anyio.fail_after(5):
        for _ in range(SUBSCRIBER_ENTRIES + 2):
            log.append(output())
        seen = [await entries.receive() for _ in range(SUBSCRIBER_ENTRIES)]
        after = await entries.receive()
        log.append(Bell(count=1))
        again = await entries.receive()

    assert all(isinstance(item, Entry) for item in seen)
    assert after == Lagged(missed_through=Seq(SUBSCRIBER_ENTRIES + 2))
    assert again == Entry(seq=Seq(SUBSCRIBER_ENTRIES + 3), at_ns=0, event=Bell(count=1))


async def test_few_large_entries_fill_a_subscription_too() -> None:
    log = EventLog(FakeClock())

    with log.subscribe() as entries, anyio.fail_after(5):
        log.append(output(b"x" * SUBSCRIBER_BYTES))
        log.append(output(b"y"))
        first, second = await entries.receive(), await entries.receive()

    assert isinstance(first, Entry)
    assert second == Lagged(missed_through=Seq(2))


async def test_a_closed_log_ends_its_subscriptions_after_the_last_entry() -> None:
    log = EventLog(FakeClock())

    with log.subscribe() as entries, anyio.fail_after(5):
        log.append(Bell(count=1))
        log.close()
        assert isinstance(await entries.receive(), Entry)
        with pytest.raises(anyio.EndOfStream):
            await entries.receive()


async def test_output_is_copied_only_when_somebody_follows_it() -> None:
    log = EventLog(FakeClock())

    with log.subscribe(wants_output=False):
        assert not log.wants_output
        with log.subscribe():
            assert log.wants_output
        assert not log.wants_output
    assert log.followers == 0


@given(st.lists(st.sampled_from(["append", "receive"]), max_size=800))
def test_the_log_is_a_prefix_then_lagged_then_a_suffix_without_gaps(steps: list[str]) -> None:
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
