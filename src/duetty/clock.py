"""Time, from one place.

Waits and durations use `monotonic_s`, which a clock jump or a suspend cannot
move backwards; what people read uses `wall_ns`.
"""

import time
from typing import Protocol


class Clock(Protocol):
    def monotonic_s(self) -> float: ...
    def wall_ns(self) -> int: ...


class SystemClock:
    monotonic_s = staticmethod(time.monotonic)
    wall_ns = staticmethod(time.time_ns)


class SteadyClock:
    """Wall time as it was at first, and since then as much more as really passed.

    For recordings: setting the system's clock makes no pause in them, and no step back.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_s, self._began_ns = clock.monotonic_s(), clock.wall_ns()

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()

    def wall_ns(self) -> int:
        return self._began_ns + 1_000 * round((self._clock.monotonic_s() - self._began_s) * 1e6)


class ForwardClock(SteadyClock):
    """Wall time that is never less than what really passed since it was made.

    For what expires: a clock that is set back extends nothing, one that is set forward ends
    it sooner.
    """

    def wall_ns(self) -> int:
        wall_ns = self._clock.wall_ns()
        steady_ns = super().wall_ns()
        return steady_ns if steady_ns - wall_ns > SLEWED_NS else wall_ns


SLEWED_NS = 1_000_000
"""Less than this is rounding."""
