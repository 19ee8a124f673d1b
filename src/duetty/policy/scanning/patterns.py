"""One line of the catalogue, compiled: does this command match it?"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache, lru_cache

from duetty.policy.scanning.catalogue import CATALOGUE
from duetty.policy.scanning.reading import UNKNOWN

SUBCOMMAND_WITHIN = 4
"""Operands among which the first subcommand is looked for: values of global options stand before it."""


class Alternatives:
    """Words of which any one makes a command match, sorted so that each word is looked up once."""

    __slots__ = ("_globs", "_letters", "_literals", "_long_globs", "_longs", "_names", "_valued")

    def __init__(self, texts: Sequence[str]) -> None:
        letters: set[str] = set()
        longs: set[str] = set()
        long_globs: list[str] = []
        literals: set[str] = set()
        globs: list[str] = []
        valued: list[tuple[str, str]] = []
        for text in texts:
            option, sign, value = text.partition("=")
            if text == "--":
                longs.add(text)
            elif text[:1] != "-" or text == "-":
                if _is_glob(text):
                    globs.append(text)
                else:
                    literals.add(text)
            elif sign and value:
                valued.append((option, value))
            elif len(option) == 2:
                letters.add(option[1])
            elif _is_glob(option):
                long_globs.append(option)
            else:
                longs.add(option)
        self._letters = frozenset(letters)
        self._longs = frozenset(longs)
        self._names = tuple(
            sorted(name for name in longs if name[:2] == "--" and len(name) > 2)
        ) + tuple(long_globs)
        self._long_globs = _globs(long_globs)
        self._literals = frozenset(literals)
        self._globs = _globs(globs)
        self._valued = tuple((option, _globs([value])) for option, value in valued)

    def found_in(self, words: Sequence[str]) -> bool:
        for index, word in enumerate(words):
            if word[:1] != "-":
                if word in self._literals or (self._globs and self._globs.fullmatch(word)):
                    return True
            elif self._is_option(word) or (
                self._valued
                and self._has_value(word, words[index + 1] if index + 1 < len(words) else "")
            ):
                return True
        return False

    def _is_option(self, word: str) -> bool:
        name = word.partition("=")[0]
        if name in self._longs or word in self._longs:
            return True
        if self._long_globs and (
            self._long_globs.fullmatch(name) or self._long_globs.fullmatch(word)
        ):
            return True
        if word[1:2] != "-":
            return not self._letters.isdisjoint(word) and len(word) > 1
        # Most programs take an unambiguous beginning of a long option for the whole.
        return len(name) > 3 and any(known.startswith(name) for known in self._names)

    def _has_value(self, word: str, following: str) -> bool:
        name, sign, attached = word.partition("=")
        for option, glob in self._valued:
            assert glob is not None
            if len(option) == 2:
                if word[1:2] != "-" and option[1] in word:
                    value = word.partition(option[1])[2] or following
                    if glob.fullmatch(value):
                        return True
            elif (
                name == option or (len(name) > 3 and name[:2] == "--" and option.startswith(name))
            ) and glob.fullmatch(attached if sign else following):
                return True
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    name: str
    """Of the class it belongs to."""
    source: str
    program: "re.Pattern[str]"
    subcommands: tuple["re.Pattern[str]", ...]
    plain_subcommands: tuple[str, ...]
    """The same as words, where none of them is a glob: looked up instead of matched."""
    any_of: Alternatives | None
    none_of: Alternatives | None

    def matches(self, words: Sequence[str], operands: Sequence[str]) -> bool:
        """Whether the words, the program left out, are such a use; `operands` are those that are no options."""
        if self.subcommands and not self._subcommanded(operands):
            return False
        if self.any_of is not None and not self.any_of.found_in(words):
            return False
        return self.none_of is None or not self.none_of.found_in(words)

    def _subcommanded(self, operands: Sequence[str]) -> bool:
        if plain := self.plain_subcommands:
            if plain[0] not in operands[:SUBCOMMAND_WITHIN]:
                return False
            if len(plain) == 1:
                return True
            # A value of an option may stand between them.
            remaining = iter(operands[operands.index(plain[0]) + 1 :])
            return all(word in remaining for word in plain[1:])
        for start in range(min(SUBCOMMAND_WITHIN, len(operands))):
            if self.subcommands[0].fullmatch(operands[start]):
                later = iter(operands[start + 1 :])
                if all(
                    any(glob.fullmatch(word) for word in later) for glob in self.subcommands[1:]
                ):
                    return True
        return False


def _is_glob(text: str) -> bool:
    return any(char in text for char in "*?[")


def _globs(texts: Sequence[str]) -> "re.Pattern[str] | None":
    return re.compile("|".join(map(translate, texts))) if texts else None


@cache
def _glob(text: str) -> "re.Pattern[str]":
    return re.compile(translate(text))


def compile_pattern(name: str, source: str) -> Pattern:
    head, _, tail = source.partition("  ")
    program, *subcommands = head.split()
    wanted = [each for each in tail.split() if each[0] != "!"]
    unwanted = [each[1:] for each in tail.split() if each[0] == "!"]
    return Pattern(
        name=name,
        source=source,
        program=_glob(program),
        subcommands=tuple(_glob(each) for each in subcommands),
        plain_subcommands=() if any(map(_is_glob, subcommands)) else tuple(subcommands),
        any_of=Alternatives(wanted) if wanted else None,
        none_of=Alternatives(unwanted) if unwanted else None,
    )


@dataclass(slots=True)
class _Patterns:
    """The patterns of one program, by their first subcommand where that is plain."""

    by_subcommand: dict[str, list[Pattern]] = field(default_factory=dict[str, list[Pattern]])
    others: list[Pattern] = field(default_factory=list[Pattern])


def _index() -> tuple[dict[str, list[tuple[str, str]]], list[tuple[str, str]]]:
    """Names and sources by program; those of globbed programs apart."""
    by_program: dict[str, list[tuple[str, str]]] = {}
    globbed: list[tuple[str, str]] = []
    for each in CATALOGUE:
        for source in each.commands:
            program = source.split(maxsplit=1)[0]
            known = globbed if "*" in program else by_program.setdefault(program, [])
            known.append((each.name, source))
    return by_program, globbed


BY_PROGRAM, _GLOBBED = _index()
"""Compiled by program when one is first met: all at once takes longer than the rest of a start."""


@cache
def _patterns_of(program: str) -> _Patterns:
    found = _Patterns()
    for name, source in BY_PROGRAM[program]:
        pattern = compile_pattern(name, source)
        subcommands = source.partition("  ")[0].split()[1:]
        if subcommands and not _is_glob(subcommands[0]):
            found.by_subcommand.setdefault(subcommands[0], []).append(pattern)
        else:
            found.others.append(pattern)
    return found


@cache
def _globbed() -> tuple[Pattern, ...]:
    return tuple(compile_pattern(name, source) for name, source in _GLOBBED)


@lru_cache(maxsize=2_048)
def globbed(program: str) -> tuple[Pattern, ...]:
    """The patterns for all programs whose names are like this one."""
    return tuple(each for each in _globbed() if each.program.fullmatch(program))


def matching(program: str, words: Sequence[str]) -> list[Pattern]:
    """Every pattern of the catalogue that this command matches."""
    found: list[Pattern] = []
    if program in BY_PROGRAM:
        known = _patterns_of(program)
        operands = [word for word in words if word[:1] not in ("-", "")]
        possible = known.others
        if known.by_subcommand:
            for operand in dict.fromkeys(operands[:SUBCOMMAND_WITHIN]):
                below = known.by_subcommand.get(operand)
                if below is not None:
                    possible = possible + below
        found = [each for each in possible if each.matches(words, operands)]
    if others := globbed(program):
        operands = [word for word in words if word[:1] not in ("-", "")]
        found += [each for each in others if each.matches(words, operands)]
    return found


def has_open_subcommand(program: str, words: Sequence[str]) -> bool:
    """Whether the program's patterns go by subcommand, and which one it is given is not known."""
    if program not in BY_PROGRAM or not _patterns_of(program).by_subcommand:
        return False
    before = ""
    operand = ""
    for word in words:
        if word[:1] != "-":
            operand = word
            # Behind an option it may be that one's value.
            if before[:1] != "-" or "=" in before:
                break
        before = word
    return UNKNOWN in operand
