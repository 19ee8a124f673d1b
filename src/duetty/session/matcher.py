"""Texts that are waited for: literal, or regular expressions that cannot hold up the server.

The pattern is the caller's and the text is a program's, so either may be hostile. RE2 takes time
in proportion to the two, never more; how much of that one search may take is bounded here.
"""

import re
from collections.abc import Generator, Sequence
from functools import cache
from time import monotonic
from typing import Any, NamedTuple, Protocol

import anyio
import re2 as _untyped  # pyright: ignore[reportMissingTypeStubs] - it has none

from duetty.errors import BadArguments
from duetty.workers import in_worker

MAX_LINE = 1_000
"""Of the line around a match."""

INLINE_S = 0.02
"""For one search that others wait for. An honest pattern takes microseconds."""

SEARCH_S = 0.5
"""For one search in a worker, which holds up no other call."""

MAX_INSTRUCTIONS = 4_000
"""Of a compiled pattern. `\\pL+` has 1,200; a word has one for each byte."""

STEP_S = 4e-9
"""What one instruction takes at one byte, at worst, as measured."""

WINDOW_S = 0.005
"""A search cannot be stopped, so a long one is made in pieces of this."""

MAX_MEMORY_BYTES = 2 * 1024 * 1024
SIZING_BYTES = MAX_MEMORY_BYTES // 4
"""Tried first: enough for the largest pattern that is taken. Others end in two milliseconds instead of thirty."""

WORKERS = 2

TOO_LARGE = "the regular expression is too large"
FEWER = "repeat fewer things fewer times: x{0,1000} is a thousand x?"


class _Pattern(Protocol):
    @property
    def programsize(self) -> int: ...
    def search(self, text: str) -> re.Match[str] | None: ...


_re2: Any = _untyped

_LACKING = {
    "(?=": "lookahead",
    "(?!": "lookahead",
    "(?<": "lookbehind",
    "(?>": "an atomic group",
    "(?(": "a conditional group",
    "(?#": "a comment",
    "(?P": "a named backreference",
    "(?x": "the verbose flag",
    "\\Z": "\\Z (write \\z)",
}


class Found(NamedTuple):
    text: str
    line: str
    """All of the line that it stands in."""

    wanted: str
    """The text or pattern that it is a match of."""


class Needle:
    """What to look for: one text or pattern, or any of several."""

    def __init__(
        self,
        *,
        text: str | Sequence[str] | None = None,
        pattern: str | Sequence[str] | None = None,
    ) -> None:
        """At least one.

        Raises:
            BadArguments: if a pattern cannot be compiled.
        """
        self._parts = [
            *(_Part(each, None) for each in _several(text)),
            *(_Part(each, _compiled(each)) for each in _several(pattern)),
        ]
        self._step_s = sum(part.step_s for part in self._parts)

    def find(self, haystack: str, *, within_s: float = INLINE_S) -> Found | None:
        """The first match; of several texts and patterns, the one that begins first.

        Raises:
            BadArguments: if the search takes too long.
        """
        deadline_s = monotonic() + within_s
        matches = [(part.find(haystack, deadline_s), part) for part in self._parts]
        first = min(
            ((found, part) for found, part in matches if found is not None),
            key=lambda each: each[0][0],
            default=None,
        )
        if first is None:
            return None
        (start, end), part = first
        return _match_of(haystack, start, end, part.wanted)

    async def find_aside(self, haystack: str) -> Found | None:
        """The same, in a worker if it may take long.

        Raises:
            BadArguments: if it takes too long even so.
        """
        if len(haystack) * self._step_s <= WINDOW_S:
            return self.find(haystack)
        return await in_worker(lambda: self.find(haystack, within_s=SEARCH_S), limiter=_workers())


class _Part:
    """One text or pattern."""

    def __init__(self, wanted: str, pattern: _Pattern | None) -> None:
        self.wanted = wanted
        self._pattern = pattern
        self.step_s = 0.0 if pattern is None else pattern.programsize * STEP_S

    def find(self, haystack: str, deadline_s: float) -> tuple[int, int] | None:
        """Start and end of the first match."""
        if self._pattern is None:
            at = haystack.find(self.wanted)
            return None if at < 0 else (at, at + len(self.wanted))
        haystack = _valid(haystack)
        for start, window in _windows(haystack, max(1, int(WINDOW_S / self.step_s))):
            if (found := self._pattern.search(window)) is not None:
                return start + found.start(), start + found.end()
            if window is not haystack and monotonic() > deadline_s:
                raise BadArguments(
                    "the regular expression takes too long to search this output",
                    hint=FEWER,
                )
        return None


def _several(given: str | Sequence[str] | None) -> Sequence[str]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else given


def _match_of(text: str, start: int, end: int, wanted: str) -> Found:
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    line = text[first : last if last >= 0 else None][:MAX_LINE]
    return Found(text[start:end], line, wanted)


@cache
def _workers() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(WORKERS)


def _compiled(pattern: str) -> _Pattern:
    if _made(pattern, SIZING_BYTES).programsize > MAX_INSTRUCTIONS:
        raise BadArguments(TOO_LARGE, hint=FEWER)
    return _made(pattern, MAX_MEMORY_BYTES)


def _made(pattern: str, memory_bytes: int) -> _Pattern:
    options = _re2.Options()
    options.max_mem = memory_bytes
    options.log_errors = False
    options.never_capture = True
    try:
        return _re2.compile(f"(?m){_valid(pattern)}", options)
    except _re2.error as error:
        raise _refusal(error.args[0]) from error
    finally:
        _re2.purge()  # its cache would keep the patterns of 128 callers


def _refusal(answer: bytes | str) -> BadArguments:
    reason = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    kind, _, what = reason.partition(": ")
    if reason.startswith("pattern too large"):
        return BadArguments(TOO_LARGE, hint=FEWER)
    feature = _LACKING.get(what[:3])
    if feature is None and kind == "invalid escape sequence":
        feature = "a backreference" if what[1:].isdigit() else what
    elif feature is None and kind == "bad repetition operator":
        feature = "a possessive or doubled repetition"
    elif feature is None and kind == "invalid repetition size":
        feature = "a count over 1000"
    if feature is None:
        return BadArguments(f"not a regular expression: {reason}")
    return BadArguments(
        f"regular expressions here have no {feature.removeprefix('a ').removeprefix('an ')}: "
        f"{what[:40]}",
        hint="the syntax is that of RE2: github.com/google/re2/wiki/Syntax",
        details={"feature": feature},
    )


def _valid(text: str) -> str:
    """Without lone surrogates, which no UTF-8 has."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _windows(text: str, size: int) -> Generator[tuple[int, str]]:
    """The text, or pieces of it that overlap by half, cut where a line ends if there is one; with their places."""
    if len(text) <= size:
        yield 0, text
        return
    start = 0
    while start < len(text):
        end = start + size
        if end < len(text):
            end = text.rfind("\n", start + size // 2, end) + 1 or end
        yield start, text[start:end]
        if end >= len(text):
            return
        half = start + max(1, (end - start) // 2)
        start = text.rfind("\n", start, half) + 1 or half
