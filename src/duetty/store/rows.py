"""How values become columns and come back."""

import json
from collections.abc import Iterable


def storable(text: str) -> str:
    """The text as SQLite can hold it: a lone surrogate (a byte that was no UTF-8) becomes "?"."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def storable_or_none(text: str | None) -> str | None:
    return None if text is None else storable(text)


def from_strings(strings: Iterable[str]) -> str:
    """A list of strings as one column. JSON escapes surrogates, so odd file names survive."""
    return json.dumps(list(strings))


def to_strings(column: str) -> tuple[str, ...]:
    return tuple(json.loads(column))
