"""What a scan found in a line."""

from typing import NamedTuple


class Finding(NamedTuple):
    """A class of the catalogue, and the words that made us think of it."""

    name: str
    what: str


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
