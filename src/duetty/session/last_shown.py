"""The screen that each caller got last, so that an answer can have only the changed rows."""

from collections.abc import Callable, Sequence
from typing import Any

MAX_CALLERS = 32
"""The one that has not looked for longest is forgotten: it is shown everything again."""


class LastShown:
    def __init__(self) -> None:
        self._rows: dict[tuple[str, bool], tuple[str, ...]] = {}
        self._had_output: dict[str, int] = {}
        """Callers without a screen yet who got the output of a run, and the generation of then."""

    def changes(self, caller: str, rows: Sequence[str], *, alternate: bool) -> dict[int, str]:
        """Rows that differ from what this caller was shown of this screen, by number; it has seen all of
        them then. What stood on the other screen meanwhile is no change of this one.
        """
        before = self._rows.get((caller, alternate), ())
        self._keep(caller, tuple(rows), alternate)
        if not alternate:
            before = before[_scrolled(before, rows) :]  # text that only moved up is nothing new
        return {
            number: row
            for number, row in enumerate(rows)
            if (before[number] if number < len(before) else "") != row
        }

    def saw(self, caller: str, lines: Sequence[Any], *, alternate: bool) -> None:
        """It was shown the whole screen: lines of texts, or of spans."""
        rows = [
            line if isinstance(line, str) else "".join([span["text"] for span in line])
            for line in lines
        ]
        self._keep(caller, tuple([row.rstrip() for row in rows]), alternate)

    def had_output(
        self, caller: str, rows: Callable[[], Sequence[str]], generation: int, *, alternate: bool
    ) -> None:
        """Its run's output has what the rows have. They are read for those who press keys only."""
        if (caller, alternate) in self._rows:
            self._keep(caller, tuple(rows()), alternate)
            return
        self._had_output.pop(caller, None)
        self._had_output[caller] = generation
        if len(self._had_output) > MAX_CALLERS:
            del self._had_output[next(iter(self._had_output))]

    def presses(
        self, caller: str, rows: Callable[[], Sequence[str]], generation: int, *, alternate: bool
    ) -> None:
        """It is about to press a key: what it had in a run's output is no news, if that is all there is."""
        had = self._had_output.pop(caller, None)
        if had == generation and (caller, alternate) not in self._rows:
            self._keep(caller, tuple(rows()), alternate)

    def _keep(self, caller: str, rows: tuple[str, ...], alternate: bool) -> None:
        key = (caller, alternate)
        self._rows.pop(key, None)  # the newest stands last
        self._rows[key] = rows
        if len(self._rows) > MAX_CALLERS:
            del self._rows[next(iter(self._rows))]


def _scrolled(before: Sequence[str], rows: Sequence[str]) -> int:
    """By how many rows all that was shown moved up, but for the last row, which may have been typed on."""
    shown = len(before)
    while shown and not before[shown - 1]:
        shown -= 1
    kept = tuple(rows[:shown])
    by = (up for up in range(shown - 1) if kept[: shown - 1 - up] == before[up : shown - 1])
    return next(by, 0)
