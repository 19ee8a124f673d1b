"""Directories that a line may be in while it runs, as far as its words tell.

Pure: no file is looked at, so links are not followed. More directories than a shell
would really enter may come out, never fewer of those that are written there.
"""

from collections.abc import Sequence
from posixpath import join, normpath
from typing import NamedTuple

from duetty.policy.analysis import analyse
from duetty.policy.proving.recogniser import Line
from duetty.policy.scanning.findings import UNKNOWN, program_name

MAX_DIRECTORIES = 256
"""Beyond that the directory of a line is unknown."""

MAX_TURNED = 3
"""So many relative directories are tried in any order: a function is entered where it is called."""

_ENTERING = frozenset({"cd", "chdir", "pushd"})
_OPTIONS = ("-C", "-D", "--chdir", "--directory", "--prefix", "--dir", "--cwd")
_GOING = frozenset("env sudo git make gmake ninja cargo go tar npm pnpm yarn".split())
"""Programs that go where one of these options says."""

_WANDERING = frozenset({"-execdir", "-okdir"})


class Entered(NamedTuple):
    places: tuple[str, ...]
    """Where it begins, and whatever it enters."""
    is_open: bool = False
    """Whether it may be somewhere else besides."""


def entered(line: str | None, cwd: str, *, shell: str = "") -> Entered:
    """`shell`: who reads the line."""
    if line is None:
        return Entered((cwd,))
    analysis = analyse(line, cwd, shell)
    recognised = analysis.recognised
    if isinstance(recognised, Line) and all(
        program_name(each.words[0]) in _ENTERING for each in recognised.commands
    ):
        return Entered((cwd,))  # nothing runs where it goes
    targets: list[str] = []
    left = 0
    is_open = "CDPATH" in line or bool(analysis.scan.unreadable)
    for words in analysis.commands:
        if not words:
            continue
        found = _targets(words)
        targets += found
        name = program_name(words[0])
        left += (name == "pushd") - (name == "popd")
        is_open |= left < 0 or (name == "find" and not _WANDERING.isdisjoint(words))
    literal = [each for each in targets if _is_literal(each)]
    is_open |= len(literal) < len(targets)
    places = _places(literal, cwd)
    return Entered(places[:MAX_DIRECTORIES], is_open or len(places) > MAX_DIRECTORIES)


def _targets(words: Sequence[str]) -> list[str]:
    """Where one command goes; an empty text where it names none."""
    name, given = program_name(words[0]), words[1:]
    if name in _ENTERING:
        operands = [each for each in given if each == "-" or each[:1] not in ("-", "+")]
        return list(operands) if len(operands) == 1 else [*operands, ""]
    if name in _GOING:
        return _valued(_OPTIONS, given)
    if not given and (words[0].endswith("/") or words[0] == ".."):
        return [words[0]]  # some shells go to a directory that stands alone
    return []


def _valued(options: Sequence[str], given: Sequence[str]) -> list[str]:
    found: list[str] = []
    for number, word in enumerate(given):
        for option in options:
            if word == option:
                found.append(given[number + 1] if number + 1 < len(given) else "")
            elif word.startswith("--") and word.startswith(f"{option}="):
                found.append(word.partition("=")[2])
            elif not option.startswith("--") and word.startswith(option):
                found.append(word[len(option) :])
    return found


def _is_literal(target: str) -> bool:
    return (
        target not in ("", "-")
        and target[0] != "~"
        and not any(char in target for char in f"*?[{{{UNKNOWN}")
    )


def _places(targets: Sequence[str], cwd: str) -> tuple[str, ...]:
    places = {cwd: None}
    relative = sum(not each.startswith("/") for each in targets)
    for _ in range(2 if 1 < relative <= MAX_TURNED else 1):
        for target in targets:
            if target.startswith("/"):
                places[normpath(target)] = None
            elif cwd.startswith("/"):
                places |= {normpath(join(place, target)): None for place in [*places]}
            if len(places) > MAX_DIRECTORIES:
                return tuple(places)
    return tuple(places)
