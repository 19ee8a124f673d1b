"""Arithmetic, which assigns: what a shell computes may set a variable that no word of the line names.

Not only `((…))`: operands of `-eq` in `[[`, subscripts, `${x:…}`, `let` and variables that are declared as
numbers are computed too, and what an expansion leaves there is read as text of it. So a name that is put
together there is not told, nor is one that is assigned to and expanded; plain numbers, names and `$x` are.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from duetty.policy.scanning.reading import UNKNOWN, Reading

_QUOTES = str.maketrans("", "", "'\"\\")
_PAIRS = {"(": ")", "{": "}", "[": "]"}
_NAME = re.compile(r"\w+", re.ASCII)
_VARIABLE = re.compile(r"\$(?:\w+|[@*#?$!-])", re.ASCII)
_ASSIGNS = re.compile(
    r"(?:\[[^][]{0,200}\])?\s{0,20}(?:\+\+|--|(?:[-+*/%&|^]|<<|>>|\*\*|&&|\|\||\^\^)?=(?![=~]))"
)
_STEPS = re.compile(r"(?:\+\+|--)\s{0,20}\Z")
_BASE = re.compile(r"(?<!\w)\d{1,2}#\Z")

_COMPARES = frozenset(["-eq", "-ne", "-lt", "-le", "-gt", "-ge"])
_NAMED = frozenset(["-v", "-R"])
_NUMBERS = {"bash": "i", "zsh": "iEF", None: "iEF"}
_DECLARES = frozenset(["declare", "typeset", "local", "export", "readonly"])
_SUBSCRIPTED = frozenset(
    ["read", "unset", "printf", "mapfile", "readarray", "getopts", "wait", *_DECLARES]
)

IsWatched = Callable[[str], bool]
"""Whether a text that is computed assigns to a variable that must not be."""


def counts_untold(reading: Reading, shell: str | None, is_watched: IsWatched) -> bool:
    """Whether a line computes what assigns to a watched variable, or to one whose name is not told."""
    for text in reading.counted:
        if _of_counted(text, shell) or is_watched(text):
            return True
    for text in reading.tested:
        for operand, joins in _operands(_words(text)):
            if assigns_untold(operand, joins=joins) or is_watched(operand):
                return True
    return False


def given_to_count(
    name: str, given: Sequence[str], shell: str | None
) -> Iterator[tuple[str, bool]]:
    """Words of a builtin that it computes, and whether names in them may not be put together."""
    if name == "let":
        yield from ((word, True) for word in given)
    elif name in ("test", "["):
        # `-eq` of this one computes in zsh only.
        yield from (each for each in _operands(given) if shell != "bash" or not each[1])
    elif name in ("integer", "float") or (
        name in _DECLARES and _declares_number(given, _NUMBERS.get(shell, ""))
    ):
        yield from ((word.partition("=")[2], True) for word in given if "=" in word)
    if name in _SUBSCRIPTED:
        yield from ((_subscript(word), False) for word in given if _SUBSCRIPT.match(word))


_SUBSCRIPT = re.compile(r"\w+\[", re.ASCII)


def _declares_number(given: Sequence[str], letters: str) -> bool:
    flags = "".join(word[1:] for word in given if word[:1] in "-" and "=" not in word)
    return not {*flags}.isdisjoint(letters)


def _subscript(word: str) -> str:
    begins = word.index("[")
    return word[begins + 1 : _end_of_pair(word, begins) - 1]


def _of_counted(text: str, shell: str | None) -> bool:
    if text[:1] == "[":
        end = _end_of_pair(text, 0)
        # Keys of a table are put together every day.
        if assigns_untold(text[1 : end - 1], joins=False):
            return True
        text = text[end:]
        if text[:1] != ":" or text[1:2] in "-=+?":
            return False
    if text[:1] == ":" and shell == "zsh" and text[1:2].isalpha():
        return False  # `${x:h}`
    return assigns_untold(text, joins=True)


def _operands(words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    for at, word in enumerate(words):
        if word in _COMPARES:
            yield from ((each, True) for each in words[max(at - 1, 0) : at + 2] if each != word)
        elif word in _NAMED and at + 1 < len(words) and _SUBSCRIPT.match(words[at + 1]):
            yield _subscript(words[at + 1]), False


def _words(text: str) -> list[str]:
    """Words of a test, without their quotes."""
    words, word, at = list[str](), "", 0
    while at < len(text):
        char = text[at]
        end = at + 1
        if char.isspace():
            words, word = ([*words, word], "") if word else (words, "")
        elif char in "$`":
            end = max(_end_of_expansion(text, at), end)
        elif char == "'":
            end = text.find("'", at + 1) + 1 or len(text)
        elif char == '"':
            end = _end_of_double(text, at)
        elif char == "\\":
            end = at + 2
        if not char.isspace():
            word += text[at:end].translate(_QUOTES)
        at = end
    return [*words, word] if word else words


def _end_of_double(text: str, at: int) -> int:
    at += 1
    while at < len(text) and text[at] != '"':
        if text[at] in "$`":
            at = max(_end_of_expansion(text, at), at + 1)
        else:
            at += 2 if text[at] == "\\" else 1
    return at + 1


def assigns_untold(text: str, *, joins: bool) -> bool:
    """Whether what is computed here assigns to an expansion or, with `joins`, has a name in parts."""
    text = text.translate(_QUOTES)
    at = 0
    while at < len(text):
        begins, parts = at, 0
        while (end := _end_of_part(text, at)) > at:
            at, parts = end, parts + 1
        if not parts:
            at += 1
            continue
        run, before = text[begins:at], text[max(begins - 40, 0) : begins]
        if _NAME.fullmatch(run) or (run[0].isdigit() or _BASE.search(before)):
            continue
        if (joins and parts > 1) or _ASSIGNS.match(text, at) or _STEPS.search(before):
            return True
    return False


def _end_of_part(text: str, at: int) -> int:
    """Where the name, number or expansion that begins here ends; here, if none does."""
    if at >= len(text):
        return at
    if text[at] in "$`":
        return _end_of_expansion(text, at)
    if text[at] == UNKNOWN:
        return at + 1
    found = _NAME.match(text, at)
    return found.end() if found else at


def _end_of_expansion(text: str, at: int) -> int:
    if text[at] == "`":
        return text.find("`", at + 1) + 1 or len(text)
    if text[at + 1 : at + 2] in ("(", "{", "["):
        return _end_of_pair(text, at + 1)
    found = _VARIABLE.match(text, at)
    return found.end() if found else at


def _end_of_pair(text: str, at: int) -> int:
    opening, closing, level = text[at], _PAIRS[text[at]], 0
    for index in range(at, len(text)):
        if text[index] == opening:
            level += 1
        elif text[index] == closing:
            level -= 1
            if not level:
                return index + 1
    return len(text)
