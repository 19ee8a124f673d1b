"""What a configuration of git's names that git runs, or reads as its own: hooks, programs, included files.

Pure and total. Reads a broken file as far as it goes: git refuses it, and obeys nothing of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(
    r"""\s*(?:
        (?P<header>\[[^\S\n]*(?P<section>[-.\w]+)(?:[^\S\n]+"(?:[^"\\\n]|\\.)*")?[^\S\n]*\])
        | (?P<key>[A-Za-z][-A-Za-z0-9]*)(?:[^\S\n]*=
          (?P<value>(?:\\\r?\n|\\.|"(?:\\\r?\n|\\.|[^"\\\n])*"|[^"\\\n\#;])*))?
    )""",
    re.VERBOSE,
)
_PART = re.compile(r'(?P<quoted>")|\\(?P<escape>\r?\n|.)|(?P<plain>[^"\\]+)')
MAX_VALUE = 8_192
"""Characters of one value; a longer one names nothing that the system could open."""

PROGRAMS = frozenset(
    {"askpass", "browser", "cccmd", "clean", "cmd", "command", "defaultkeycommand", "difffilter",
     "driver", "editor", "external", "fsmonitor", "gitproxy", "headercmd", "helper", "pager", "path",
     "process", "program", "receivepack", "recentobjectshook", "smtpserver", "smudge", "sshcommand",
     "textconv", "tocmd", "tunnel", "update", "uploadpack", "alternaterefscommand"}
)  # fmt: skip
"""Keys whose values are command lines, in whatever section."""

OF_COMMANDS = frozenset({"alias", "pager", "hook"})
"""Sections in which every value is one."""

NO_COMMANDS = frozenset({"branch", "user", "url"})
"""Many, and names of other things."""

_SWITCHES = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0"})
_OFF = frozenset({"false", "no", "off", "0", ""})
_VARIABLE = re.compile(r"\$\{?\w+\}?|\$\(.*?\)|`.*?`")
_BETWEEN = re.compile(r"[\s;|&()<>\"'`$={},!:]+")

_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Paths as they are written, with `~/` in them."""

    hooks: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    """On whatever condition."""

    worktrees: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """Of command lines, and whatever else could be a path: most are none."""

    has_worktree_config: bool = False
    """Whether `config.worktree` is obeyed beside it."""

    runs: bool = False
    """Whether it has a command line, or a program of the usual names."""


def parse_named(raw: bytes) -> Named:
    found: dict[str, list[str]] = {"hookspath": [], "path": [], "worktree": []}
    words: dict[str, None] = {}
    has_worktree_config = runs = False
    for section, key, written in _settings(raw.decode("utf-8", "surrogateescape")):
        if written is None:  # a switch, which is on
            has_worktree_config |= (section, key) == ("extensions", "worktreeconfig")
            continue
        if len(written) > MAX_VALUE:
            continue
        # To git a name ends where a string of C does.
        value = _plain(written).split("\0", maxsplit=1)[0]
        kind = section.split(".")[0]
        if (key == "path" and kind in ("include", "includeif")) or (
            section == "core" and key in found and key != "path"
        ):
            found[key].append(value)
        elif kind == "extensions" and key == "worktreeconfig":
            has_worktree_config = value.lower() not in _OFF
        elif kind not in NO_COMMANDS:
            is_command = kind in OF_COMMANDS or key in PROGRAMS
            runs |= is_command and value.lower() not in _SWITCHES
            words |= dict.fromkeys(each for each in _words(value) if is_command or "/" in each)
    return Named(
        hooks=tuple(filter(None, found["hookspath"])),
        includes=tuple(filter(None, found["path"])),
        worktrees=tuple(filter(None, found["worktree"])),
        words=tuple(words),
        has_worktree_config=has_worktree_config,
        runs=runs,
    )


def _words(value: str) -> Iterator[str]:
    """The value itself, and what a shell could make of it; not what is plainly no file.

    What a variable or another command puts before a path (`$(git rev-parse --show-toplevel)/x`)
    is taken for the top of the work tree, which it nearly always is.
    """
    if "://" in value or value.startswith(("refs/", "+refs/")) or value.lower() in _SWITCHES:
        return
    yield value
    if any(mark in value for mark in " \t;|&()<>\"'`$={},!:"):
        for word in _BETWEEN.split(_VARIABLE.sub("$", value).replace("$/", " ./")):
            if word and not word.startswith("-"):
                yield word


def _settings(text: str) -> Iterator[tuple[str, str, str | None]]:
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
