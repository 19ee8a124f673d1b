"""What a configuration of git's names that git runs, or reads as its own: hooks and included files.

Pure and total. Reads a broken file as far as it goes: git refuses it, and obeys nothing of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(
    r"""\s*(?:
        (?P<header>\[[^\S\n]*(?P<section>[-.\w]+)(?:[^\S\n]+"(?:[^"\\\n]|\\.)*")?[^\S\n]*\])
        | (?P<key>[A-Za-z][-A-Za-z0-9]*)[^\S\n]*=
          (?P<value>(?:\\\r?\n|\\.|"(?:\\\r?\n|\\.|[^"\\\n])*"|[^"\\\n\#;])*)
    )""",
    re.VERBOSE,
)
_PART = re.compile(r'(?P<quoted>")|\\(?P<escape>\r?\n|.)|(?P<plain>[^"\\]+)')
MAX_VALUE = 8_192
"""Characters of one value; a longer one names nothing that the system could open."""

_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Paths as they are written, with `~/` in them."""

    hooks: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    """On whatever condition."""

    worktrees: tuple[str, ...] = ()


def parse_named(raw: bytes) -> Named:
    lowered = raw.lower()
    if b"path" not in lowered and b"worktree" not in lowered:
        return Named()
    found: dict[str, list[str]] = {"hookspath": [], "path": [], "worktree": []}
    for section, key, value in _settings(raw.decode("utf-8", "surrogateescape")):
        is_include = section == "include" or section.split(".")[0] == "includeif"
        if (key == "path" and is_include) or (section == "core" and key in found and key != "path"):
            if len(value) > MAX_VALUE:
                continue
            # To git a name ends where a string of C does.
            found[key].append(_plain(value).split("\0", maxsplit=1)[0])
    return Named(
        hooks=tuple(filter(None, found["hookspath"])),
        includes=tuple(filter(None, found["path"])),
        worktrees=tuple(filter(None, found["worktree"])),
    )


def _settings(text: str) -> Iterator[tuple[str, str, str]]:
    section, at = "", 0
    while at < len(text):
        found = _LINE.match(text, at)
        if found is not None and found["header"]:
            section, at = found["section"].lower(), found.end()
            continue  # a key may follow in the same line
        if found is not None:
            yield section, found["key"].lower(), found["value"]
            at = found.end()
        end = text.find("\n", at)  # past a comment, or what cannot be read
        at = len(text) if end < 0 else end + 1


def _plain(value: str) -> str:
    """Without quotes, escapes, and blanks around it that are not quoted."""
    text, kept, in_quotes = "", 0, False
    for part in _PART.finditer(value):
        if part["quoted"]:
            in_quotes = not in_quotes
            kept = len(text)
        elif (escape := part["escape"]) is not None:
            text += "" if escape.endswith("\n") else _ESCAPES.get(escape, escape)
            kept = len(text)
        else:
            plain = part["plain"] if text or in_quotes else part["plain"].lstrip()
            text += plain
            kept = len(text) if in_quotes else max(kept, len(text.rstrip()))
    return text[:kept]
