"""What can happen in a session, as values.

A closed union: code that follows a session matches over `Event` and the type
checker says which one was forgotten.

An event is defined once, here: `WIRE` is what names it in JSON, and its fields are the fields of that.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from duetty.ids import BlockId, Seq, StateWord
from duetty.vt.key_decoder import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Resized:
    """The surface has another size, or panels leave other rows of it to the program."""

    WIRE: ClassVar = {"event": "resize"}
    cols: int
    rows: int
    program_rows: int
    top: int
    """Where the program's rows begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanged:
    WIRE: ClassVar = {"event": "state"}
    state: StateWord
    known_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStarted:
    WIRE: ClassVar = {"event": "block", "change": "started"}
    block: BlockId
    command_line: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockFinished:
    WIRE: ClassVar = {"event": "block", "change": "finished"}
    block: BlockId
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleChanged:
    WIRE: ClassVar = {"event": "title"}
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bell:
    WIRE: ClassVar = {"event": "bell"}
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Degraded:
    """Something no longer works as promised (journal, keeper, terminal); None when it is mended."""

    WIRE: ClassVar = {"event": "degraded"}
    part: Literal["journal", "keeper", "store", "terminal", "workspace", "memory"]
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewersChanged:
    """A viewer came or went, or another viewer sets the size."""

    WIRE: ClassVar = {"event": "viewers"}
    viewers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementsChanged:
    """Overlays, panels, focus or screen mode are others: read all of them anew."""

    WIRE: ClassVar = {"event": "elements"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InputModeChanged:
    """The keyboard was captured or released, and how."""

    WIRE: ClassVar = {"event": "mode"}
    mode: Literal["passthrough", "capture"]
    reason: Literal["capture", "release", "toggle", "lease"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysTyped:
    """What a person typed at a viewer; never a password."""

    WIRE: ClassVar = {"event": "input"}
    raw: bytes
    keys: tuple[Key, ...]
    """The same bytes as keys."""

    mode: Literal["passthrough", "capture"]
    """Whether the program got them."""

    target: str | None
    """The element that had the focus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    WIRE: ClassVar = {"event": "exit"}
    exit_code: int | None
    signal: int | None


Event = (
    Resized
    | StateChanged
    | BlockStarted
    | BlockFinished
    | TitleChanged
    | Bell
    | Degraded
    | ViewersChanged
    | ElementsChanged
    | InputModeChanged
    | KeysTyped
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
