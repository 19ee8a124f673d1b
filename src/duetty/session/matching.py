"""A text that is waited for: literal, or a regular expression that cannot hold up the server.

The pattern is the caller's and the text is a program's, so either may be hostile;
Python's own `re` would hold the loop for as long as the two of them like.
"""

import regex

from duetty.errors import BadArguments

SEARCH_S = 0.1
"""For one search of a screenful. An honest pattern takes microseconds."""


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

    def find(self, haystack: str) -> str | None:
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
        return found.group(0) if found is not None else None
