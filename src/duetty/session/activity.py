"""When a session was last touched, and how often: what idle waits look at."""

from duetty.clock import Clock


class Activity:
    """`generation` counts touches; it starts at 0 and only grows."""

    __slots__ = ("_clock", "generation", "last_s")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.generation = 0
        self.last_s = clock.monotonic_s()

    def touch(self) -> None:
        self.generation += 1
        self.last_s = self._clock.monotonic_s()

    def quiet_s(self) -> float:
        return self._clock.monotonic_s() - self.last_s
