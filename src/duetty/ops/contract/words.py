"""Words as one command line, so that a shell reads back the same words."""

import shlex
from collections.abc import Iterable


def line_of(words: Iterable[str], shell: str | None) -> str:
    """For this shell; fish alone reads backslashes between single quotes."""
    if shell != "fish":
        return shlex.join(words)
    return " ".join(_fish(word) for word in words)


def _fish(word: str) -> str:
    if shlex.quote(word) == word:
        return word
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
