"""What a reader finds in a text, and what a scan finds in that."""

from typing import NamedTuple

UNKNOWN = "\ufffc"
"""Stands in a word for what only a shell would know."""

GIVEN = f"{UNKNOWN}@"
"""The word that `$@` becomes where there are functions."""

PIPED = f"/dev/fd/{UNKNOWN}"
"""The word that `<(…)` and `>(…)` become."""


class Simple:
    """One simple command, where it was found."""

    __slots__ = ("assigned", "bodies", "inner", "producers", "redirects", "scope", "words")

    def __init__(self, words: list[str] | None = None, scope: int = 0) -> None:
        self.words: list[str] = words or []
        self.assigned: list[tuple[str, str]] = []
        self.redirects: list[tuple[str, str]] = []
        self.bodies: list[str] = []
        """Here-documents and here-strings that it reads."""
        self.inner: list[Simple] = []
        """Commands of the substitutions in its words."""
        self.producers: list[Simple] = []
        """What is piped into it, the nearest last."""
        self.scope = scope
        """The subshell it stands in: what `cd` does there ends with it."""


class Reading:
    """Everything that was found in one text."""

    __slots__ = ("commands", "functions", "parents", "unreadable")

    def __init__(self) -> None:
        self.commands: list[Simple] = []
        self.unreadable: list[str] = []
        self.functions: set[str] = set()
        self.parents: list[int] = [0]
        """Of each scope, the one around it."""


class Finding(NamedTuple):
    """A class of the catalogue, and the words that made us think of it."""

    name: str
    what: str
    leaves: bool = False
    """Whether it does something beyond this machine, which no sandbox contains."""


class Scan(NamedTuple):
    findings: tuple[Finding, ...] = ()
    unreadable: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    """Every command that was seen, with the program's own name first."""

    @property
    def classes(self) -> tuple[str, ...]:
        if len(self.findings) < 2:  # nearly always
            return (self.findings[0].name,) if self.findings else ()
        return tuple(dict.fromkeys(finding.name for finding in self.findings))


def program_name(text: str) -> str:
    """The program's own name: without its directory, zsh's `=` and Windows' ending."""
    name = text.rpartition("/")[2] or text
    if name[:1] == "=" and len(name) > 1:
        name = name[1:]
    return name.removesuffix(".exe")


def shown(what: str) -> str:
    """Short, on one line, with nothing a terminal would obey."""
    text = what[:200].replace(UNKNOWN, "…")
    if not text.isprintable():
        text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return text if len(text) <= 120 else text[:119] + "…"
