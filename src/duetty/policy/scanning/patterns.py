"""One line of the catalogue, compiled: does this command match it?"""

import re
from collections.abc import Callable, Sequence
from fnmatch import translate
from functools import cache, lru_cache
from typing import NamedTuple

from duetty.policy.scanning.catalogue import CATALOGUE

SUBCOMMAND_WITHIN = 4
"""Operands among which the first subcommand is looked for: values of global options stand before it."""

_Matches = Callable[[str], object]


def _is_glob(text: str) -> bool:
    return "*" in text or "?" in text or "[" in text


@cache
def _matches(text: str) -> _Matches:
    if not _is_glob(text):
        return text.__eq__
    return re.compile(translate(text)).fullmatch


class _AnyOf:
    """Words of which any one makes a command match, sorted so that each word is looked up once."""

    __slots__ = ("globs", "letters", "long_globs", "longs", "valued", "words")

    def __init__(self, texts: Sequence[str]) -> None:
        options = [text for text in texts if text[0] == "-"]
        valued = [text for text in options if text.partition("=")[2]]
        plain = [text.partition("=")[0] for text in options if text not in valued]
        long = [name for name in plain if len(name) != 2 or name == "--"]
        operands = [text for text in texts if text[0] != "-"]
        self.letters = frozenset(name[1] for name in plain if name not in long)
        self.longs = tuple(name for name in long if not _is_glob(name))
        self.long_globs = tuple(_matches(name) for name in long if _is_glob(name))
        self.valued = tuple((text.partition("=")[0], text.partition("=")[2]) for text in valued)
        self.words = frozenset(text for text in operands if not _is_glob(text))
        self.globs = tuple(_matches(text) for text in operands if _is_glob(text))

    def found_in(self, words: Sequence[str]) -> bool:
        for index, word in enumerate(words):
            if word[:1] != "-":
                if word in self.words:
                    return True
                for matches in self.globs:
                    if matches(word):
                        return True
            elif self._is_option(word) or (self.valued and self._has_value(words, index)):
                return True
        return False

    def _is_option(self, word: str) -> bool:
        name = word.partition("=")[0]
        if name in self.longs or any(matches(name) or matches(word) for matches in self.long_globs):
            return True
        if word[1:2] != "-":
            return not self.letters.isdisjoint(word) and len(word) > 1
        # Most programs take an unambiguous beginning of a long option for the whole.
        return len(name) > 3 and any(known.startswith(name) for known in self.longs)

    def _has_value(self, words: Sequence[str], index: int) -> bool:
        word = words[index]
        following = words[index + 1] if index + 1 < len(words) else ""
        name, sign, attached = word.partition("=")
        for option, glob in self.valued:
            if len(option) == 2:
                if word[1:2] == "-" or option[1] not in word:
                    continue
                value = word.partition(option[1])[2] or following
            elif name == option or (len(name) > 3 and name[:2] == "--" and option.startswith(name)):
                value = attached if sign else following
            else:
                continue
            if _matches(glob)(value):
                return True
        return False


class Pattern(NamedTuple):
    name: str
    """Of the class it belongs to."""
    program: _Matches
    subcommands: tuple[_Matches, ...]
    any_of: _AnyOf | None
    none_of: _AnyOf | None

    def matches(self, words: Sequence[str], operands: Sequence[str]) -> bool:
        """Whether the words, the program left out, are such a use; `operands` are those that are no options."""
        return self._is_about(words, operands) and not self._is_excused(words)

    def excuses(self, words: Sequence[str], operands: Sequence[str]) -> bool:
        """Whether they would be such a use but for one word, as `-s` in `apt-get -s remove`."""
        return self._is_about(words, operands) and self._is_excused(words)

    def _is_about(self, words: Sequence[str], operands: Sequence[str]) -> bool:
        if self.subcommands and not self._subcommanded(operands):
            return False
        return self.any_of is None or self.any_of.found_in(words)

    def _is_excused(self, words: Sequence[str]) -> bool:
        return self.none_of is not None and self.none_of.found_in(words)

    def _subcommanded(self, operands: Sequence[str]) -> bool:
        first, *others = self.subcommands
        for start, operand in enumerate(operands[:SUBCOMMAND_WITHIN], 1):
            if first(operand):
                # A value of an option may stand between them.
                later = iter(operands[start:])
                if all(any(map(matches, later)) for matches in others):
                    return True
        return False


def compile_pattern(name: str, source: str) -> Pattern:
    head, _, tail = source.partition("  ")
    program, *subcommands = head.split()
    wanted = [each for each in tail.split() if each[0] != "!"]
    unwanted = [each[1:] for each in tail.split() if each[0] == "!"]
    return Pattern(
        name,
        _matches(program),
        tuple(map(_matches, subcommands)),
        _AnyOf(wanted) if wanted else None,
        _AnyOf(unwanted) if unwanted else None,
    )


BY_PROGRAM: dict[str, list[tuple[str, str]]] = {}
"""Names and sources; compiled by program when one is first met: all at once takes longer than the rest of a start."""

_GLOBBED: list[tuple[str, str]] = []
for _class in CATALOGUE:
    for _source in _class.commands:
        _program = _source.split(maxsplit=1)[0]
        _known = _GLOBBED if "*" in _program else BY_PROGRAM.setdefault(_program, [])
        _known.append((_class.name, _source))


@cache
def _patterns_of(program: str) -> tuple[dict[str, list[Pattern]], list[Pattern]]:
    """The patterns of one program: by their first subcommand where that is plain, and the others."""
    by_subcommand: dict[str, list[Pattern]] = {}
    others: list[Pattern] = []
    for name, source in BY_PROGRAM.get(program, ()):
        pattern = compile_pattern(name, source)
        subcommands = source.partition("  ")[0].split()[1:]
        if subcommands and not _is_glob(subcommands[0]):
            by_subcommand.setdefault(subcommands[0], []).append(pattern)
        else:
            others.append(pattern)
    return by_subcommand, others


@cache
def _globbed() -> tuple[Pattern, ...]:
    return tuple(compile_pattern(name, source) for name, source in _GLOBBED)


@lru_cache(maxsize=2_048)
def globbed(program: str) -> tuple[Pattern, ...]:
    """The patterns for all programs whose names are like this one."""
    return tuple(each for each in _globbed() if each.program(program))


def matching(program: str, words: Sequence[str]) -> list[Pattern]:
    """Every pattern of the catalogue that this command matches."""
    operands = _operands(words)
    return [each for each in _possible(program, operands) if each.matches(words, operands)]


def is_excused(program: str, words: Sequence[str]) -> bool:
    """Whether the catalogue knows this use and leaves it alone."""
    operands = _operands(words)
    return any(each.excuses(words, operands) for each in _possible(program, operands))


def _operands(words: Sequence[str]) -> list[str]:
    return [word for word in words if word[:1] not in ("-", "")]


def _possible(program: str, operands: Sequence[str]) -> Sequence[Pattern]:
    by_subcommand, possible = _patterns_of(program)
    for operand in dict.fromkeys(operands[:SUBCOMMAND_WITHIN]):
        if operand in by_subcommand:
            possible = possible + by_subcommand[operand]
    return (*possible, *globbed(program))
