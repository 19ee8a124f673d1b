"""The shipped specifications, and the proof that a recognised line keeps to them.

Knows words, options and paths of programs; nothing of rules or profiles.
"""

from collections.abc import Callable, Container
from typing import NamedTuple

from duetty.policy.proving.paths import Place
from duetty.policy.proving.recogniser import Command, Glob, Line
from duetty.policy.proving.specs.coreutils import (
    COREUTILS,
    echo_problem,
    find_problem,
    printf_problem,
    test_problem,
)
from duetty.policy.proving.specs.git import GIT
from duetty.policy.proving.specs.spec import Spec, deepest, problem
from duetty.policy.proving.specs.tools import EXACT, EXACT_VARIABLES, TOOLS
from duetty.policy.values import new

__all__ = ["PROGRAMS", "Proof", "Refuted", "prove", "use_problem"]

PROGRAMS: dict[str, Spec] = {**TOOLS, **COREUTILS, "git": GIT}

MAX_PLACES = 8
"""Directories a line may have moved to, when each `cd` may also have failed."""

_BY_WORDS: dict[str, Callable[[tuple[str, ...]], str | None]] = {
    "find": find_problem,
    "echo": echo_problem,
    "printf": printf_problem,
    "test": test_problem,
    "[": lambda words: test_problem(words[:-1]) if words[-1:] == ("]",) else "no closing ]",
}

_EXACT_PROGRAMS = frozenset(words[0] for words in EXACT)
"""Programs of which some line is known as a whole."""

_ELSEWHERE = "git after cd: the settings of another repository may be there, and run programs"
"""Below the call's directory too, as `git -C`: what was unpacked or cloned there has its own."""

_HELPFUL = frozenset({*COREUTILS, "find"})
"""Programs whose `--help` and `--version` print and end."""


class Proof(NamedTuple):
    """Every command of the line only reads and only shows."""

    line: Line
    hardened: tuple[Command, ...]
    """What to run: the same words, and those that keep a program from doing more."""


class Refuted(NamedTuple):
    """The first command that is not known to only read, and why."""

    command: Command
    why: str


def prove(
    line: Line, cwd: str = "", *, allowed: Container[Command] = frozenset()
) -> Proof | Refuted:
    """`allowed`: commands that a rule allows as they are, whatever they do."""
    start = new(Place, (cwd, ""))
    if not line.joins:
        command = line.commands[0]
        why = use_problem(command.words, start)
        if why:
            return new(Refuted, (command, why))
        return new(Proof, (line, (_harden(command),)))
    places = [start]
    hardened: list[Command] = []
    for command in line.commands:
        is_allowed = command in allowed
        for place in () if is_allowed else places:
            why = use_problem(command.words, place)
            if why:
                return new(Refuted, (command, why))
        if command.words[0] == "cd":
            target = command.words[-1] if len(command.words) > 1 else "~"
            # It may fail, and in a pipeline it changes no directory: what follows is judged in both places.
            places += [place.after_cd(target) for place in places]
            if len(places) > MAX_PLACES:
                return Refuted(command, "moves too often")
        hardened.append(command if is_allowed else _harden(command))
    return new(Proof, (line, tuple(hardened)))


def use_problem(words: tuple[str, ...], place: Place) -> str | None:
    """Why this use of a program is not known to only read; None when it is."""
    program = words[0]
    if program[0] == "/":
        program = program.rpartition("/")[2]
    given = words[1:]
    found = PROGRAMS.get(program)
    if found is not None:
        if program == "cd" and given in ((), ("-",)):
            return "cd without a plain directory"
        why = problem(found, given, place)
        if why is None:
            return _ELSEWHERE if program == "git" and place.is_elsewhere else None
        if given in (("--help",), ("--version",)) and program in _HELPFUL:
            return None
    elif (by_words := _BY_WORDS.get(program)) is not None:
        if any(type(word) is Glob and word[:1] == "-" for word in words):
            return "an option with a glob"
        why = by_words(given)
    else:
        why = f"{program} is not among the programs known to only read"
    return None if program in _EXACT_PROGRAMS and (program, *given) in EXACT else why


def _harden(command: Command) -> Command:
    words = command.words
    program = words[0].rpartition("/")[2]
    if program in _EXACT_PROGRAMS and (program, *words[1:]) in EXACT:
        variables = EXACT_VARIABLES.get(program)
        return Command(("env", *variables, *words), command.redirects) if variables else command
    found = PROGRAMS.get(program)
    if found is None or program not in _HARDENED:
        return command
    last, count = deepest(found, words[1:], _NOWHERE)
    if last.plain:
        return command
    at = count + 1
    ending = last.hardened_last
    if ending and last.hardened_when and not last.hardened_when(words[1:]):
        ending = ()
    before = ("env", *found.variables) if found.variables else ()
    options = last.hardened_options
    made = (
        *before, words[0], *found.hardened, *words[1:at], *options, *words[at:], *ending
    )  # fmt: skip
    return command if made == words else Command(made, command.redirects)


def _is_hardened(found: Spec) -> bool:
    return bool(
        found.hardened or found.hardened_options or found.hardened_last or found.variables
    ) or any(map(_is_hardened, found.subcommands.values()))


_NOWHERE = Place()
_HARDENED = frozenset(name for name, found in PROGRAMS.items() if _is_hardened(found))
"""Programs that run with more words than they were given."""
