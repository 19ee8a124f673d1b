"""The screen that each caller got last, so that an answer can have only the changed rows."""

from collections.abc import Sequence

MAX_CALLERS = 32
"""The one that has not looked for longest is forgotten: it is shown everything again."""


class LastShown:
    def __init__(self) -> None:
        self._rows: dict[tuple[str, bool], tuple[str, ...]] = {}

    def changes(self, caller: str, rows: Sequence[str], *, alternate: bool) -> dict[int, str]:
        """Rows that differ from what this caller was shown of this screen, by number; it has seen all of
        them then. What stood on the other screen meanwhile is no change of this one.
        """
        key = (caller, alternate)
        before = self._rows.pop(key, ())
        self._rows[key] = tuple(rows)
        if len(self._rows) > MAX_CALLERS:
            del self._rows[next(iter(self._rows))]
        return {
            number: row
            for number, row in enumerate(rows)
            if (before[number] if number < len(before) else "") != row
        }
