"""What the reader finds in a text: words, simple commands, and what could not be read."""

from typing import NamedTuple

from duetty.policy.values import new

UNKNOWN = "\ufffc"
"""Stands in a word's text for what only a shell would know."""


class Word(NamedTuple):
    """One word: its text as far as it can be known."""

    text: str
    glob: bool = False
    inner: tuple["Reading", ...] = ()
    """Commands whose output is part of it, or that read or write it (`<(…)`)."""
    guessed: bool = False
    """Whether the text is one of several it could be."""

    @property
    def known(self) -> bool:
        return not self.guessed and UNKNOWN not in self.text


def exact(text: str, glob: bool = False) -> Word:
    """A word of which all is known; made without the detour of a named tuple's own constructor."""
    return new(Word, (text, glob, (), False))


class Redirect(NamedTuple):
    sign: str
    target: Word


class Simple:
    """One simple command, where it was found."""

    __slots__ = ("assignments", "bodies", "joined_by", "producers", "redirects", "words")

    def __init__(
        self,
        words: list[Word] | None = None,
        bodies: list[str] | None = None,
        producers: "list[Simple | None] | None" = None,
        joined_by: str = "",
    ) -> None:
        self.words: list[Word] = words or []
        self.assignments: list[tuple[str, Word]] = []
        self.redirects: list[Redirect] = []
        self.bodies: list[str] = bodies or []
        """Here-documents and here-strings that it reads."""
        self.producers: list[Simple | None] = producers or []
        """Commands piped into it, the nearest last; None stands for one that cannot be named."""
        self.joined_by = joined_by
        """What stood before it: `|`, `&&`, `;` …"""


class Reading:
    """Everything that was found in one text."""

    __slots__ = (
        "commands",
        "counted",
        "functions",
        "loops",
        "pointed",
        "sources",
        "tested",
        "unreadable",
    )

    def __init__(self) -> None:
        self.commands: list[Simple] = []
        self.unreadable: list[str] = []
        self.functions: set[str] = set()
        self.sources: set[str] = set()
        """Each command as it was written."""
        self.counted: list[str] = []
        """What a shell would compute, as it was written: `((…))`, `$((…))`, `${x:…}`, `${a[…]}`."""
        self.tested: list[str] = []
        """What stands between `[[` and `]]`, as it was written."""
        self.pointed: list[tuple[str, str | None]] = []
        """What is read by the name that another variable holds (`${!x}`), with that name where it is known."""
        self.loops: dict[str, tuple[str, ...] | None] = {}
        """Variables of loops, with all they will be; None where only a shell knows."""
