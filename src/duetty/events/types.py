"""What can happen in a session, as values.

A closed union: whoever follows a session matches over `Event` and the type
checker says which one was forgotten.
"""

from dataclasses import dataclass
from typing import Literal

from duetty.ids import BlockId, Offset, Seq, StateWord


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Bytes the program printed; `start` is the offset of the first one."""

    start: Offset
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Resized:
    cols: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanged:
    state: StateWord
    known_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStarted:
    block: BlockId
    command_line: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockFinished:
    block: BlockId
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleChanged:
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bell:
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Degraded:
    """Something no longer works as promised (journal, keeper); None when it is mended."""

    part: Literal["journal", "keeper", "store"]
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    exit_code: int | None
    signal: int | None


Event = (
    Output
    | Resized
    | StateChanged
    | BlockStarted
    | BlockFinished
    | TitleChanged
    | Bell
    | Degraded
    | Exited
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An event in the log, with its place and time."""

    seq: Seq
    at_ns: int
    event: Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Lagged:
    """Entries up to and including `missed_through` were dropped: take a new snapshot."""

    missed_through: Seq
