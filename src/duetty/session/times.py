"""When which byte was read: the journal's index, asked many times in a row."""

from bisect import bisect_right
from collections.abc import Sequence

from duetty.journal import Moment


class Times:
    """Moments of a stretch of the journal, in order."""

    def __init__(self, moments: Sequence[Moment], *, default_ns: int) -> None:
        self._offsets = [int(moment.offset) for moment in moments]
        self._moments = moments
        self._default_ns = default_ns

    def at(self, offset: int) -> int:
        place = bisect_right(self._offsets, offset) - 1
        return self._moments[place].wall_ns if place >= 0 else self._default_ns
