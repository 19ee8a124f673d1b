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
    def monotonic_s(self) -> float:
        return time.monotonic()

    def wall_ns(self) -> int:
        return time.time_ns()
