"""Variables that are reached by a name which another one holds, or by how their names begin.

What the shell asks with stands in variables of its own. No line names them unasked, so none may reach
them by `${!x}`, where nothing tells what `x` is, or list them to find out.
"""

import re
from collections.abc import Sequence

from duetty.policy.scanning.reading import UNKNOWN, Reading

REACHES = "it reads a variable whose name is not told"

_OWN = "_duetty"
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9]+", re.ASCII)
_OF_ZSH = re.compile(r"\$\{\([^)]{0,40}P[^)]{0,40}\)\s*[^}]{0,200}")
_OF_FISH = re.compile(r"\$\$+[A-Za-z_(]")
_SETTERS = frozenset(
    [
        "read",
        "printf",
        "mapfile",
        "readarray",
        "getopts",
        "let",
        "wait",
        "unset",
        "declare",
        "typeset",
        "local",
        "export",
        "readonly",
    ]
)
_LISTS = re.compile(r"-\w*v|variable|-Avariable|arrayvar|-Aarrayvar")


def reached(reading: Reading, text: str, shell: str | None) -> str | None:
    """Whether a line reads variables whose names it does not tell."""
    if shell == "fish":
        return REACHES if _OF_FISH.search(text) else None
    if shell == "zsh":
        return REACHES if _OF_ZSH.search(text) else None
    return REACHES if any(not _is_told(*each, reading) for each in reading.pointed) else None


def _is_told(inside: str, known: str | None, reading: Reading) -> bool:
    found = _NAME.match(inside)
    if found is None:
        return False
    name, rest = found[0], inside[found.end() :]
    if rest in ("*", "@"):
        return not may_list_own(name)
    values = _values(name, reading)
    if values is not None and not values and known is not None:
        values = [known]
    return bool(values) and not any(value.startswith(_OWN) for value in values or ())


def _values(name: str, reading: Reading) -> list[str] | None:
    """All that a line makes of a variable; None where only a shell knows."""
    listed = reading.loops.get(name, ())
    if listed is None:
        return None
    values = [*listed]
    for simple in reading.commands:
        set_here = [value.known for assigned, value in simple.assignments if assigned == name]
        values += [value.text for assigned, value in simple.assignments if assigned == name]
        if simple.words and simple.words[0].text in _SETTERS:
            for word in simple.words[1:]:
                assigned, sign, value = word.text.partition("=")
                if assigned == name:
                    set_here.append(bool(sign) and word.known)
                    values.append(value)
        if not all(set_here):
            return None
    return values


def may_list_own(beginning: str) -> bool:
    """Whether variables of our own are among those whose names begin so."""
    told = beginning.partition(UNKNOWN)[0]
    return told.startswith(_OWN) or _OWN.startswith(told)


def lists_names(given: Sequence[str]) -> str | None:
    """Whether `compgen` is told to list variables, ours among them."""
    if not any(_LISTS.fullmatch(word) or UNKNOWN in word for word in given):
        return None
    beginning = given[-1] if given[-1][:1] != "-" and not _LISTS.fullmatch(given[-1]) else ""
    return "it lists the shell's variables" if may_list_own(beginning) else None
