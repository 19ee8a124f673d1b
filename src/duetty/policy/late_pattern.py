"""Patterns that are compiled at their first use: compiling all of the policy is a tenth of a start."""

import re
from typing import Any, cast

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "split")
_all: list["_Late"] = []


class _Late:
    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """The first method asked for; from then on all of them are plain attributes."""
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        self.__dict__.update({each: getattr(compiled, each) for each in _METHODS})
        return self.__dict__[name]


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    late = _Late(text, flags)
    _all.append(late)
    return cast("re.Pattern[str]", late)


def compile_patterns() -> None:
    """Compile all now, for a server that has time: its first decision does not wait for them."""
    for late in _all:
        late.match  # noqa: B018  # compiles it
