"""A block as the session keeps it: the tracker's facts with times, actor and a permanent id."""

from dataclasses import dataclass

from duetty.calls import Actor
from duetty.ids import BlockId


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    id: BlockId
    number: int
    command_line: str | None
    cwd: str | None
    """Where the command line began."""

    start: int
    end: int | None
    """Journal offsets of the output; `end` is None while it runs."""

    started_at_ns: int
    finished_at_ns: int | None
    exit_code: int | None
    actor: Actor

    @property
    def is_open(self) -> bool:
        return self.end is None

    @property
    def duration_ms(self) -> float | None:
        """None while it runs, and where both marks were read at once without times."""
        if self.finished_at_ns is None or self.finished_at_ns <= self.started_at_ns:
            return None
        return round((self.finished_at_ns - self.started_at_ns) / 1e6, 3)
