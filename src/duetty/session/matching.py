"""A text that is waited for: literal, or a regular expression that cannot hold up the server.

The pattern is the caller's and the text is a program's, so either may be hostile;
Python's own `re` would hold the loop for as long as the two of them like.
"""

from typing import NamedTuple

import regex

from duetty.errors import BadArguments

MAX_LINE = 1_000
"""Of the line around a match."""

SEARCH_S = 0.1
"""For one search of a screenful. An honest pattern takes microseconds."""


class Found(NamedTuple):
    text: str
    line: str
    """All of the line that it stands in."""


class Needle:
    """What to look for."""

    def __init__(self, *, text: str | None = None, pattern: str | None = None) -> None:
        """Exactly one of the two.

        Raises:
            BadArguments: if the pattern cannot be compiled.
        """
        try:
            self._pattern = regex.compile(
                pattern if pattern is not None else regex.escape(text or ""),
                regex.MULTILINE if pattern is not None else 0,
            )
        except (regex.error, RecursionError, OverflowError, ValueError) as error:
            raise BadArguments(f"not a regular expression: {error}") from error

    def find(self, haystack: str) -> "Found | None":
        """The first match.

        Raises:
            BadArguments: if the search takes too long.
        """
        try:
            found = self._pattern.search(haystack, timeout=SEARCH_S)
        except TimeoutError:
            raise BadArguments(
                "the regular expression takes too long to search this output",
                hint="avoid nested repetition such as (a+)+",
            ) from None
        if found is None:
            return None
        start = haystack.rfind("\n", 0, found.start()) + 1
        end = haystack.find("\n", found.end())
        return Found(found.group(0), haystack[start : end if end >= 0 else None][:MAX_LINE])
