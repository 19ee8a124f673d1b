"""So many requests a second, really a second, for each address."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from duetty.edges.http.limits import is_loopback
from duetty.ops.fairness import MAX_OWNERS, Bucket


@dataclass
class FakeClock:
    now_s: float = 0.0

    def monotonic_s(self) -> float:
        return self.now_s

    def wall_ns(self) -> int:
        return int(self.now_s * 1e9)


def test_a_steady_hundred_a_second_is_never_refused() -> None:
    clock = FakeClock()
    bucket = Bucket(100, clock)

    refused = 0
    for _ in range(10_000):
        refused += bucket.take("a") > 0
        clock.now_s += 0.01

    assert refused == 0


def test_a_burst_is_answered_up_to_a_seconds_worth() -> None:
    bucket = Bucket(100, FakeClock())

    taken = [bucket.take("a") for _ in range(101)]

    assert taken[:100] == [0.0] * 100
    assert 0 < taken[100] <= 0.01


def test_after_the_time_it_was_told_a_caller_is_answered() -> None:
    clock = FakeClock()
    bucket = Bucket(10, clock)
    while (wait_s := bucket.take("a")) == 0:
        pass

    clock.now_s += wait_s + 1e-9

    assert bucket.take("a") == 0


@given(st.lists(st.floats(0, 2), max_size=200), st.integers(1, 20))
def test_no_pattern_gets_more_than_burst_and_rate_together(pauses: list[float], per_s: int) -> None:
    clock = FakeClock()
    bucket = Bucket(per_s, clock)
    answered = 0
    for pause_s in pauses:
        clock.now_s += pause_s
        answered += bucket.take("a") == 0

    assert answered <= per_s + per_s * sum(pauses) + 1e-6


def test_one_address_does_not_use_up_anothers_share() -> None:
    bucket = Bucket(1, FakeClock())

    assert (bucket.take("a"), bucket.take("b")) == (0.0, 0.0)
    assert bucket.take("a") > 0


def test_addresses_are_remembered_within_a_bound() -> None:
    bucket = Bucket(1, FakeClock())
    for number in range(MAX_OWNERS + 10):
        bucket.take(str(number))

    assert bucket.take(str(MAX_OWNERS + 9)) > 0
    assert bucket.take("0") == 0


def test_loopback_is_known_however_it_is_written() -> None:
    assert [is_loopback(each) for each in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [
        True
    ] * 4
    assert [is_loopback(each) for each in ("0.0.0.0", "::", "10.0.0.1", "example.org", "")] == [
        False
    ] * 5
