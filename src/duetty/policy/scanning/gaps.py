"""Words that a line fills in elsewhere: arguments of functions, and what pipes and bodies bring.

`g() { git "$@"; }; g reset --hard` and `echo reset --hard | xargs git` are the same
command. Which gap gets which text is not followed up: each may be filled by any.
"""

import re
from collections.abc import Iterator, Sequence, Set
from itertools import islice, product

from duetty.policy.scanning.commands import program_name
from duetty.policy.scanning.printed import decode_ansi, printed
from duetty.policy.scanning.reading import UNKNOWN, Simple, Word, exact

MAX_FILLED = 16
"""Ways to fill gaps that are tried for one line."""

_BLANKS = re.compile(r"[\s\0]+")
_ADDERS = frozenset(["xargs", "parallel"])
"""Programs that put what they read behind the words they have."""


def filled(commands: Sequence[Simple], functions: Set[str] = frozenset()) -> Iterator[list[Word]]:
    """Commands with the words in their gaps that the same line may put there."""
    fillings = _fillings(commands, functions)
    if fillings and (gapped := [each.words for each in commands if _has_gap(each.words)]):
        for words, filling in islice(product(gapped, fillings), MAX_FILLED):
            yield _fill(words, filling)


def _fillings(commands: Sequence[Simple], functions: Set[str]) -> list[list[Word]]:
    found: list[list[Word]] = []
    for simple in commands:
        words = simple.words
        if functions and len(words) > 1 and words[0].text in functions:
            found.append(words[1:])
        if not (simple.bodies or simple.producers):
            continue
        texts = [*simple.bodies]
        if simple.producers:
            # None stands for a group: any of its commands may be the one that prints.
            nearest = simple.producers[-1]
            texts += _said(commands if nearest is None else [nearest])
        between = _between([word.text for word in words])
        split = ([exact(word) for word in between.split(text) if word] for text in texts)
        found += filter(None, split)
    return found


def _between(texts: Sequence[str]) -> "re.Pattern[str]":
    """What stands between the words of what is read: NUL for `-0`, and what `-d` says."""
    for index, text in enumerate(texts):
        if text in ("-d", "--delimiter") and index + 1 < len(texts):
            sign = texts[index + 1]
        elif text.startswith("-d") and len(text) > 2 and program_name(texts[0]) in _ADDERS:
            sign = text[2:]
        elif text.startswith("--delimiter="):
            sign = text.partition("=")[2]
        else:
            continue
        return re.compile(rf"[\s\0{re.escape(decode_ansi(sign)[:1])}]+")
    return _BLANKS


def _said(commands: Sequence[Simple]) -> list[str]:
    # A pipe or a file of its own behind a command changes nothing about what it prints.
    said = (printed(Simple(each.words)) for each in commands if each.words)
    return [text for text in said if text]


def _has_gap(words: Sequence[Word]) -> bool:
    for word in words:
        if word.text in _ADDERS or (UNKNOWN in word.text and not word.inner):
            return True
    return bool(words) and program_name(words[0].text) in _ADDERS


def _fill(words: Sequence[Word], filling: list[Word]) -> list[Word]:
    found: list[Word] = []
    placeholder = placeholder_of([word.text for word in words])
    is_filled = False
    before = ""
    for word in words:
        text = word.text
        if text == UNKNOWN or (text == placeholder and before != "-I"):
            found += filling
            is_filled = True
        elif UNKNOWN in text or (placeholder in text and before != "-I" and text[:2] != "-I"):
            for gap in (UNKNOWN, placeholder):
                text = text.replace(gap, filling[0].text)
            found.append(exact(text))
            is_filled = True
        else:
            found.append(word)
        before = word.text
    return found if is_filled else [*found, *filling]


def placeholder_of(texts: Sequence[str]) -> str:
    """What `xargs -I` calls the words it has read."""
    for index, text in enumerate(texts[:-1]):
        if text == "-I":
            return texts[index + 1]
        if text.startswith(("-I", "-i")) and len(text) > 2:
            return text[2:]
        if text.startswith("--replace="):
            return text.partition("=")[2]
    return "{}"
