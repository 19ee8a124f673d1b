"""One line of the catalogue, compiled: does this command match it?"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache

from duetty.policy.catalogue import CATALOGUE

SUBCOMMAND_WITHIN = 4
"""Operands among which the first subcommand is looked for: values of global options stand before it."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One word that makes a command match: a flag, an option with a value, or an operand."""

    text: str
    letter: str = ""
    """A one-letter flag, found within a cluster."""
    option: str = ""
    """A long option, or `-word`; may be abbreviated when it begins with two dashes."""
    value: str = ""
    """Glob over the option's value."""
    glob: "re.Pattern[str] | None" = None

    def found_in(self, words: Sequence[str]) -> bool:
        return any(
            self._is(word, words[index + 1] if index + 1 < len(words) else "")
            for index, word in enumerate(words)
        )

    def _is(self, word: str, following: str) -> bool:
        if self.letter:
            if len(word) < 2 or word[0] != "-" or word[1] == "-" or self.letter not in word:
                return False
            if not self.value:
                return True
            attached = word.partition(self.letter)[2]
            return _glob(self.value).fullmatch(attached or following) is not None
        if self.option:
            if word[:1] != "-":
                return False
            name, sign, attached = word.partition("=")
            if not self._names(name, word):
                return False
            return (
                not self.value
                or _glob(self.value).fullmatch(attached if sign else following) is not None
            )
        assert self.glob is not None
        return (word[:1] != "-" or self.text == "--") and self.glob.fullmatch(word) is not None

    def _names(self, name: str, word: str) -> bool:
        if _glob(self.option).fullmatch(name) or _glob(self.option).fullmatch(word):
            return True
        # Most programs take an unambiguous beginning of a long option for the whole.
        return len(name) > 3 and name[:2] == "--" and self.option.startswith(name)


@dataclass(frozen=True, slots=True)
class Pattern:
    name: str
    """Of the class it belongs to."""
    source: str
    program: "re.Pattern[str]"
    subcommands: tuple["re.Pattern[str]", ...]
    any_of: tuple[Alternative, ...]
    none_of: tuple[Alternative, ...]

    def matches(self, words: Sequence[str], operands: Sequence[str]) -> bool:
        """Whether the words, the program left out, are such a use; `operands` are those that are no options."""
        if self.subcommands and not self._subcommanded(operands):
            return False
        if self.any_of and not any(each.found_in(words) for each in self.any_of):
            return False
        return not any(each.found_in(words) for each in self.none_of)

    def _subcommanded(self, operands: Sequence[str]) -> bool:
        for start in range(min(SUBCOMMAND_WITHIN, len(operands))):
            if self.subcommands[0].fullmatch(operands[start]):
                # A value of an option may stand between them.
                later = iter(operands[start + 1 :])
                if all(
                    any(glob.fullmatch(word) for word in later) for glob in self.subcommands[1:]
                ):
                    return True
        return False


@cache
def _glob(text: str) -> "re.Pattern[str]":
    return re.compile(translate(text))


def compile_alternative(text: str) -> Alternative:
    if text.startswith("-") and text not in ("-", "--"):
        option, _, value = text.partition("=")
        if len(option) == 2:
            return Alternative(text, letter=option[1], value=value)
        return Alternative(text, option=option, value=value)
    return Alternative(text, glob=_glob(text))


def compile_pattern(name: str, source: str) -> Pattern:
    head, _, tail = source.partition("  ")
    program, *subcommands = head.split()
    alternatives = tail.split()
    return Pattern(
        name=name,
        source=source,
        program=_glob(program),
        subcommands=tuple(_glob(each) for each in subcommands),
        any_of=tuple(compile_alternative(each) for each in alternatives if each[0] != "!"),
        none_of=tuple(compile_alternative(each[1:]) for each in alternatives if each[0] == "!"),
    )


@dataclass(slots=True)
class _Patterns:
    """The patterns of one program, by their first subcommand where that is plain."""

    by_subcommand: dict[str, list[Pattern]] = field(default_factory=dict[str, list[Pattern]])
    others: list[Pattern] = field(default_factory=list[Pattern])


def _index() -> tuple[dict[str, _Patterns], list[Pattern]]:
    by_program: dict[str, _Patterns] = {}
    globbed: list[Pattern] = []
    for each in CATALOGUE:
        for source in each.commands:
            program, *subcommands = source.partition("  ")[0].split()
            pattern = compile_pattern(each.name, source)
            if "*" in program:
                globbed.append(pattern)
                continue
            known = by_program.setdefault(program, _Patterns())
            if subcommands and not any(char in subcommands[0] for char in "*?["):
                known.by_subcommand.setdefault(subcommands[0], []).append(pattern)
            else:
                known.others.append(pattern)
    return by_program, globbed


BY_PROGRAM, _GLOBBED = _index()
_GLOBBED_PROGRAMS = re.compile("|".join(each.program.pattern for each in _GLOBBED))


def is_globbed(program: str) -> bool:
    """Whether a pattern is for all programs whose names are like this one."""
    return _GLOBBED_PROGRAMS.fullmatch(program) is not None


def matching(program: str, words: Sequence[str]) -> list[Pattern]:
    """Every pattern of the catalogue that this command matches."""
    found: list[Pattern] = []
    known = BY_PROGRAM.get(program)
    if known is not None:
        operands = [word for word in words if word[:1] not in ("-", "")]
        possible = [*known.others]
        for operand in dict.fromkeys(operands[:SUBCOMMAND_WITHIN]):
            possible += known.by_subcommand.get(operand, ())
        found = [each for each in possible if each.matches(words, operands)]
    if is_globbed(program):
        operands = [word for word in words if word[:1] not in ("-", "")]
        found += [
            each
            for each in _GLOBBED
            if each.program.fullmatch(program) and each.matches(words, operands)
        ]
    return found
