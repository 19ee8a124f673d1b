"""Words as one command line, so that a shell reads back the same words."""

import re
from collections.abc import Sequence

from duetty.shell import ShellKind

_PLAIN = re.compile(r"[A-Za-z0-9_@+:,./=-]+")
"""Read as it stands by every shell, but for what its kind says."""


def line_of(words: Sequence[str], shell: ShellKind) -> str:
    """The line that this shell reads as these words."""
    program, *arguments = words
    line = [_program(program, shell)]
    line += [each if _is_plain(each, shell) else shell.quote(each) for each in arguments]
    return " ".join(line)


def _program(word: str, shell: ShellKind) -> str:
    if word in shell.reserved_words and shell.before_reserved is not None:
        return f"{shell.before_reserved} {word}"
    if "=" in word or word in shell.reserved_words or not _is_plain(word, shell):
        return shell.quote(word)
    return word


def _is_plain(word: str, shell: ShellKind) -> bool:
    if _PLAIN.fullmatch(word) is None:
        return False
    return shell.changes_words is None or shell.changes_words.search(word) is None
