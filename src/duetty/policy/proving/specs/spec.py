"""What a read-only use of a program looks like: its options, their values, its operands.

A specification lists what is allowed; everything else is not proven. Options are
written as in a manual page, in one line:

    "-abc -n:count -u?text --all --lines=count --color?text"

`-abc` are flags, `-n:count` and `--lines=count` need a value, `-u?` and `--color?`
may have one attached. Values and operands have a kind (see `_KINDS`). Long options
are matched whole: an abbreviation is another option as far as we know.

A glob becomes any number of words. So it may stand only where any number of words of
one kind may: among the files to read of a program that takes as many as there are, or
(`--include=*.py`) as one of the patterns that may be given again and again. Never as
an option's value, a pattern, a script, a name of something that is not a file, or
where the program counts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from duetty.policy.late_pattern import late_pattern
from duetty.policy.proving.paths import Place, content_problem, pathspec_problem
from duetty.policy.proving.recogniser import Glob
from duetty.policy.values import new

Check = Callable[["Use"], "str | None"]

ANY_NUMBER = 64
"""Operands of a program that takes as many as there are."""


class Use(NamedTuple):
    """One use of a program, taken apart."""

    options: tuple[tuple[str, str | None], ...]
    operands: tuple[str, ...]
    place: Place

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The uses of a program, or of one of its subcommands, that only read and only show."""

    short: Mapping[str, str] = field(default_factory=dict[str, str])
    """Letter to the kind of its value: "" has none, "?…" may have one attached."""
    long: Mapping[str, str] = field(default_factory=dict[str, str])
    operands: str = "none"
    """Kind of every operand, or `first+rest`."""
    at_most: int = ANY_NUMBER
    at_least: int = 0
    digits: bool = False
    """Whether `-20` is an option."""
    check: Check | None = None
    subcommands: Mapping[str, "Spec"] = field(default_factory=dict[str, "Spec"])
    bare: bool = True
    """Whether it may be used without a subcommand, where it has some."""
    hardened: tuple[str, ...] = ()
    """Words put before the others when it runs."""
    hardened_options: tuple[str, ...] = ()
    """Options put right after the last subcommand when it runs."""
    hardened_last: tuple[str, ...] = ()
    """Options put after all words when it runs, where the last one given counts."""
    hardened_when: Callable[[Sequence[str]], bool] | None = None
    """Which words need those; all do, unless it says."""
    variables: tuple[str, ...] = ()
    """Variables that it runs with."""
    plain: bool = False
    """A subcommand that needs nothing of this, and would show it."""


def spec(
    options: str = "",
    operands: str = "none",
    *,
    at_most: int = ANY_NUMBER,
    at_least: int = 0,
    digits: bool = False,
    check: Check | None = None,
    subcommands: Mapping[str, Spec] | None = None,
    bare: bool = True,
    hardened: tuple[str, ...] = (),
    hardened_options: tuple[str, ...] = (),
    hardened_last: tuple[str, ...] = (),
    hardened_when: Callable[[Sequence[str]], bool] | None = None,
    variables: tuple[str, ...] = (),
    plain: bool = False,
) -> Spec:
    short: dict[str, str] = {}
    long: dict[str, str] = {}
    for option in options.split():
        if option.startswith("--"):
            name, sign, kind = _cut(option, "=?")
            long[name] = ("?" if sign == "?" else "") + (kind or ("text" if sign else ""))
        else:
            letters, sign, kind = _cut(option[1:], ":?")
            value = ("?" if sign == "?" else "") + (kind or ("text" if sign else ""))
            short.update(dict.fromkeys(letters, value))
    return Spec(
        short=short,
        long=long,
        operands=operands,
        at_most=at_most,
        at_least=at_least,
        digits=digits,
        check=check,
        subcommands=subcommands or {},
        bare=bare,
        hardened=hardened,
        hardened_options=hardened_options,
        hardened_last=hardened_last,
        hardened_when=hardened_when,
        variables=variables,
        plain=plain,
    )


def _cut(option: str, signs: str) -> tuple[str, str, str]:
    for sign in signs:
        name, found, kind = option.partition(sign)
        if found:
            return name, sign, kind
    return option, "", ""


def problem(found: Spec, words: Sequence[str], place: Place) -> str | None:
    """Why these words (without the program) are not a use that the specification knows."""
    options: list[tuple[str, str | None]] = []
    operands: list[str] = []
    remaining = iter(words)
    ended = False
    for word in remaining:
        if ended or word[:1] != "-" or word == "-":
            if word in found.subcommands and not operands and not ended:
                return problem(found.subcommands[word], list(remaining), place)
            operands.append(word)
        elif word == "--":
            ended = True
        elif found.digits and word[1:].isdigit():
            options.append((word, None))
        else:
            read = _long if word[1] == "-" else _short
            if why := read(found, word, remaining, options, place):
                return why
    if ended and found.hardened_last and (not found.hardened_when or found.hardened_when(words)):
        return "-- leaves no place for the options that it must end with"
    if found.subcommands and (why := _no_subcommand(found, operands, bool(options), ended)):
        return why
    return _operands(found, new(Use, (tuple(options), tuple(operands), place)))


def _no_subcommand(found: Spec, operands: list[str], optioned: bool, ended: bool) -> str | None:
    """Why a program with subcommands may not go without one, or with another."""
    if operands and not ended and (not found.bare or found.operands == "none"):
        return f"{operands[0]!r} is not among the subcommands that only read"
    return None if operands or optioned or found.bare else "no subcommand"


def deepest(found: Spec, words: Sequence[str], place: Place) -> tuple[Spec, int]:
    """The specification of the last subcommand, and how many words lead to it."""
    remaining = iter(words)
    for word in remaining:
        if not found.subcommands or word == "--":
            break
        if word[:1] != "-" or word == "-":
            below = found.subcommands.get(word)
            if below is None:
                break
            rest = list(remaining)
            last, further = deepest(below, rest, place)
            return last, len(words) - len(rest) + further
        if not (found.digits and word[1:].isdigit()):  # what takes the next word for its value
            (_long if word.startswith("--") else _short)(found, word, remaining, [], place)
    return found, 0


def _long(
    found: Spec,
    word: str,
    remaining: "Sequence[str] | object",
    options: list[tuple[str, str | None]],
    place: Place,
) -> str | None:
    name, sign, value = word.partition("=")
    kind = found.long.get(name)
    if kind is None:
        return f"option {name} is not known to only read"
    if kind == "":
        if sign:
            return f"option {name} takes no value"
        options.append((name, None))
        return None
    if not sign:
        if kind[0] == "?":
            options.append((name, None))
            return None
        following = next(remaining, None)  # type: ignore[call-overload]
        if following is None:
            return f"option {name} needs a value"
        value = following
        if type(value) is Glob:
            return f"a glob where option {name} takes one value"
    elif type(word) is Glob and kind != "patterns":
        return f"a glob where option {name} takes one value"
    options.append((name, value))
    return _KINDS[kind.removeprefix("?")](value, place)


def _short(
    found: Spec,
    word: str,
    remaining: "Sequence[str] | object",
    options: list[tuple[str, str | None]],
    place: Place,
) -> str | None:
    index = 1
    while index < len(word):
        letter = word[index]
        kind = found.short.get(letter)
        if kind is None:
            return f"option -{letter} is not known to only read"
        index += 1
        if kind == "":
            options.append(("-" + letter, None))
            continue
        value: str | None = word[index:]
        if not value:
            if kind[0] == "?":
                options.append(("-" + letter, None))
                return None
            value = next(remaining, None)  # type: ignore[call-overload]
            if value is None:
                return f"option -{letter} needs a value"
        if type(value) is Glob or type(word) is Glob:
            return f"a glob where option -{letter} takes one value"
        options.append(("-" + letter, value))
        return _KINDS[kind.removeprefix("?")](value, place)
    return None


def _operands(found: Spec, use: Use) -> str | None:
    if not found.at_least <= len(use.operands) <= found.at_most:
        return "not the number of operands that only reads"
    if use.operands:
        kind, _, rest = found.operands.partition("+")
        for operand in use.operands:
            if type(operand) is Glob and (kind not in _MANY or found.at_most < ANY_NUMBER):
                return f"a glob where {operand!r} may be more or other words than one file"
            why = _KINDS[kind](operand, use.place)
            if why:
                return why
            kind = rest or kind
    return found.check(use) if found.check else None


_COUNT = late_pattern(r"[+-]?[0-9]{1,18}[A-Za-z]{0,3}")
_CODE = late_pattern(r"[A-Za-z0-9_.,:+%/@=-]{0,120}")


def _text(value: str, place: Place) -> str | None:
    del value, place
    return None


def _count(value: str, place: Place) -> str | None:
    del place
    return None if _COUNT.fullmatch(value) else f"{value!r} is not a number"


def _code(value: str, place: Place) -> str | None:
    del place
    return None if _CODE.fullmatch(value) else f"{value!r} is not a plain word"


def _none(value: str, place: Place) -> str | None:
    del place
    return f"operand {value!r} is not known to only read"


def revision_problem(value: str, place: Place) -> str | None:
    """What git takes for a commit or a path of the repository; outside of one it reads any file."""
    if value.startswith(("/", "../")) or value == "..":
        return f"{value!r} is outside the workspace"
    if value.startswith(":("):
        return f"{value!r} may name a file in another way"
    path = value.rpartition(":")[2]
    return content_problem(path, place) or pathspec_problem(path)


def _lines(value: str, place: Place) -> str | None:
    """`10,20:FILE` and `:FUNCTION:FILE` of git, or `10,20` alone."""
    return revision_problem(value, place) if ":" in value else None


_KINDS: dict[str, Callable[[str, Place], str | None]] = {
    "text": _text,
    "names": _text,  # a path of which only name and attributes are shown
    "content": content_problem,  # a path of which the content is shown
    "count": _count,
    "code": _code,
    "revision": revision_problem,
    "lines": _lines,
    "patterns": _text,  # globs for the program itself, as many as are given
    "listed": _text,  # operands of which the program's own check judges each
    "none": _none,
}

_MANY = frozenset({"content", "names", "listed"})
"""Kinds of operands of which a glob may be any number."""
