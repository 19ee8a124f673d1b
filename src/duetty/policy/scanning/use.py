"""One command as the scan sees it, and where its findings go."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from duetty.policy.scanning.findings import Finding
from duetty.policy.scanning.reading import Simple, Word

UNPACKED = "*"
"""Among the downloaded: an archive that was unpacked on the way."""


class Scanner(Protocol):
    """Where findings go."""

    downloaded: set[str]
    made: dict[str, str]
    """Files that the line itself writes, with their text; UNKNOWN where it is not known."""
    unreadable: list[str]
    awaits_code: bool
    """Whether a shell or an interpreter runs that nothing beside it tells what it will read."""
    awaits_sql: bool
    """The same of a database client, which may as well read from whoever types."""
    findings: list[Finding]
    whole: bool
    """Whether what has a class is searched for others all the same."""
    bases: list[str]
    """Directories that the line enters."""
    is_elsewhere: bool
    """Whether this runs as somebody else, on another machine, or in a container."""

    def find(self, name: str, what: str) -> None: ...

    def has_run(self, *names: str) -> bool:
        """Whether the line runs one of these programs before."""
        ...

    def enter(self, directory: str) -> None:
        """From here on paths may begin there."""
        ...

    def class_of(self, path: str) -> str | None:
        """The class of writing to this path, wherever the line goes; None for an ordinary file."""
        ...

    def written(self, path: str, what: str, *, empties: bool = False) -> None: ...

    def text(self, text: str, depth: int) -> None:
        """Look at text that a shell will read."""
        ...

    def text_of(self, part: Sequence[Word], depth: int) -> None:
        """The same for words that are joined to such a text."""
        ...

    def try_text(self, text: str, depth: int) -> None:
        """Look at text that may be run; only what is found counts."""
        ...

    def sweep(self, text: str, depth: int) -> None:
        """Look for commands of the catalogue anywhere in it."""
        ...


class Use(NamedTuple):
    """One command, as the functions for single programs see it."""

    name: str
    words: Sequence[Word]
    texts: list[str]
    simple: Simple
    depth: int

    @property
    def what(self) -> str:
        return " ".join(self.texts)

    def operands(self) -> list[str]:
        """Words that are not options; after `--`, all of them."""
        found: list[str] = []
        ended = False
        for text in self.texts[1:]:
            if not ended and text == "--":
                ended = True
            elif ended or text[:1] != "-" or text == "-":
                found.append(text)
        return found

    def has(self, letters: str, *names: str) -> bool:
        for text in self.texts[1:]:
            if text[:1] != "-":
                continue
            if text == "--":
                return False
            if text[:2] != "--":
                for letter in letters:
                    if letter in text:
                        return True
            elif len(text) > 3:
                given = text.partition("=")[0]
                for name in names:
                    if name.startswith(given):
                        return True
        return False

    def clustered(self, letter: str) -> str | None:
        """The value of a letter at the end of a cluster: `-qO FILE`."""
        for text, following in pairwise([*self.texts[1:], ""]):
            if text[:1] == "-" and text[:2] != "--" and text[-1] == letter and len(text) > 2:
                return following or None
        return None

    def value(self, *options: str) -> str | None:
        """The value of the first of these options, which all begin with a dash."""
        for index, text in enumerate(self.texts):
            if text[:1] != "-":
                continue
            name, sign, value = text.partition("=")
            if name in options:
                return (
                    value
                    if sign
                    else (self.texts[index + 1] if index + 1 < len(self.texts) else None)
                )
            for option in options:
                if len(option) == 2 and text.startswith(option) and len(text) > 2:
                    return text[2:]
        return None
