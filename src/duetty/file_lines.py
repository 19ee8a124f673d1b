"""On which line of a settings file something stands, or is wrong, for messages. Pure."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import cast

IS_TOML = "the file is TOML: name = value"
MAX_TRIES = 200
"""Beginnings of a file that are read; beyond them the line of what is around counts."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\],:]|[^\s{}\[\],:"/]+', re.DOTALL)


_PLACE = re.compile(r"(?:: line | \(at line )(\d+)")


def toml_line(text: str, keys: Sequence[str]) -> int:
    """Where these keys stand, or as many of the first of them as there are; 1 if none does.

    The text can be parsed. Its beginnings are, until one has the keys: so every way to
    write them is known.
    """
    while keys:
        if (line := _first_with(text, keys)) is not None:
            return line
        keys = keys[:-1]
    return 1


def _first_with(text: str, keys: Sequence[str]) -> int | None:
    import tomllib  # not for every command that has settings

    rows = text.split("\n")
    tries = 0
    for at, row in enumerate(rows):
        if keys[-1] not in row:
            continue
        for end in range(at + 1, len(rows) + 1):  # a value may go over lines
            tries += 1
            if tries > MAX_TRIES:
                return None
            try:
                beginning = tomllib.loads("\n".join(rows[:end]))
            except ValueError:
                continue
            if _has(beginning, keys):
                return at + 1
            break
    return None


def _has(document: object, keys: Sequence[str]) -> bool:
    for key in keys:
        if not isinstance(document, Mapping) or key not in document:
            return False
        document = cast("Mapping[str, object]", document)[key]
    return True


def json_line(text: str, keys: Sequence[str]) -> int:
    """The same for JSON, with comments or without."""
    if not keys:
        return 1
    depth, matched, place = 0, 0, 0
    word: re.Match[str] | None = None
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in ("{", "["):
            depth += 1
        elif sign in ("}", "]"):
            depth -= 1
            if depth <= matched:
                break
        elif sign == "," and depth == matched:
            break  # what was found last has ended
        elif sign == ":" and depth == matched + 1 and word is not None:
            if _read(word[0]) != keys[matched]:
                continue
            matched, place = matched + 1, word.start()
            if matched == len(keys):
                break
        if sign[0] == '"':
            word = token
    return text.count("\n", 0, place) + 1


def _read(word: str) -> str | None:
    try:
        return str(json.loads(word))
    except ValueError:
        return None


def mistake(file: object, text: str, error: Exception) -> str:
    """Why such a file cannot be parsed, and where."""
    if isinstance(error, RecursionError):
        return f"{file}: it has tables within tables within tables"
    words = str(error)
    if (place := _PLACE.search(words)) is not None:
        return f"{file}:{place[1]}: {words[: place.start()]}"
    if "end of document" in words:
        return f"{file}:{text.rstrip().count(chr(10)) + 1}: {words}"
    return f"{file}: {words}"
