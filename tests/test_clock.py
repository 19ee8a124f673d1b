"""Clocks that somebody may set."""

from dataclasses import dataclass

from duetty.clock import ForwardClock, SteadyClock

S = 10**9


@dataclass
class SetClock:
    """Time passes; whoever sets the clock changes only what it shows."""

    passed_s: float = 100.0
    set_by_s: float = 0.0

    def monotonic_s(self) -> float:
        return self.passed_s

    def wall_ns(self) -> int:
        return int((1_000_000 + self.passed_s + self.set_by_s) * S)


def test_a_steady_clock_follows_nobody_who_sets_it() -> None:
    clock = SetClock()
    steady = SteadyClock(clock)
    began_ns = steady.wall_ns()

    clock.passed_s += 2
    clock.set_by_s = 3600
    later_ns = steady.wall_ns()
    clock.set_by_s = -3600

    assert (later_ns - began_ns, steady.wall_ns() - began_ns) == (2 * S, 2 * S)


def test_a_forward_clock_is_never_behind_what_passed() -> None:
    clock = SetClock()
    forward = ForwardClock(clock)
    began_ns = forward.wall_ns()

    clock.passed_s += 5
    clock.set_by_s = -3600
    set_back_ns = forward.wall_ns() - began_ns
    clock.set_by_s = 3600
    set_forward_ns = forward.wall_ns() - began_ns

    assert set_back_ns == 5 * S
    assert set_forward_ns == 3605 * S
