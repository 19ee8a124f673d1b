"""Asking the kernel whether a program waits for a person, as seldom as will do.

Only while a command runs and a viewer or call needs it; soon after output stops,
then less and less often.
"""

FIRST_LOOK_S = 0.015
"""A program that just printed its question is reading an instant later."""

LAST_LOOK_S = 0.12
"""Between two looks at a program that runs on; a wait is known within 200 ms."""


class Looks:
    """The pauses between looks: they grow while nothing changes."""

    __slots__ = ("_pause_s",)

    def __init__(self) -> None:
        self._pause_s = FIRST_LOOK_S

    def again_soon(self) -> None:
        self._pause_s = FIRST_LOOK_S

    def next_s(self) -> float:
        pause_s, self._pause_s = self._pause_s, min(self._pause_s * 2, LAST_LOOK_S)
        return pause_s
