"""What each caller was shown last of a screen, so that it can be told only what has changed."""

from collections.abc import Sequence

MAX_CALLERS = 32
"""The one that has not looked for longest is forgotten: it is shown everything again."""


class LastShown:
    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, ...]] = {}

    def changes(self, caller: str, rows: Sequence[str]) -> dict[int, str]:
        """Rows that differ from what this caller was shown, by number; it has seen all of them then."""
        before = self._rows.pop(caller, ())
        self._rows[caller] = tuple(rows)
        if len(self._rows) > MAX_CALLERS:
            del self._rows[next(iter(self._rows))]
        return {
            number: row
            for number, row in enumerate(rows)
            if (before[number] if number < len(before) else "") != row
        }
