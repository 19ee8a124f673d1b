"""Words as one command line, so that a shell reads back the same words."""

import re
from collections.abc import Callable, Sequence

HEADLESS_SHELL = "bash"
"""For which words are quoted where there is no terminal."""

_PLAIN = re.compile(r"[A-Za-z0-9_@+:,./=-]+")
"""Read as it stands by every shell, but for what follows."""

_ZSH_EQUALS = re.compile(r"(?:^|[=:])=")
"""`=ls` is where ls is, and with MAGIC_EQUAL_SUBST so it is behind `=` and `:`."""

_RESERVED = frozenset(
    {"if", "then", "elif", "else", "fi", "do", "done", "case", "esac", "while", "until", "for", "in",
     "select", "function", "time", "coproc", "repeat", "foreach", "end", "nocorrect", "noglob"}
)  # fmt: skip
_FISH_RESERVED = frozenset(
    {"if", "else", "end", "while", "for", "in", "function", "begin", "switch", "case", "and", "or",
     "not", "time"}
)  # fmt: skip
"""Words that mean something else where a command stands."""


def line_of(words: Sequence[str], shell: str | None) -> str:
    """For this shell; fish alone reads backslashes between single quotes."""
    quoted = _fish if shell == "fish" else _posix
    program, *arguments = words
    line = [_program(program, shell, quoted)]
    line += [each if _is_plain(each, shell) else quoted(each) for each in arguments]
    return " ".join(line)


def _program(word: str, shell: str | None, quoted: Callable[[str], str]) -> str:
    if shell == "fish" and word in _FISH_RESERVED:
        return f"command {word}"  # quotes do not make it a plain word there
    if "=" in word or word in _RESERVED or not _is_plain(word, shell):
        return quoted(word)
    return word


def _is_plain(word: str, shell: str | None) -> bool:
    if _PLAIN.fullmatch(word) is None:
        return False
    return shell != "zsh" or _ZSH_EQUALS.search(word) is None


def _posix(word: str) -> str:
    escaped = word.replace("'", "'\"'\"'")
    return f"'{escaped}'"


def _fish(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
