"""What a terminal tells: changes, screens, scrollback, spans, modes.

Frozen values. They know nothing of the emulator that made them.
"""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What one `feed` or `resize` did."""

    replies: bytes = b""
    """Answers the program asked for (cursor position, device attributes).

    Empty while the terminal is silent, whatever was fed.
    """
    bells: int = 0
    title_changed: bool = False
    cwd_changed: bool = False
    alternate_changed: bool = False
    """The screen after is another one than before; there and back again is no change."""


NOTHING = Changes()
"""Shared by every feed that printed and did nothing else."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """A colour of the palette, 0 to 255."""

    index: int


@dataclass(frozen=True, slots=True)
class Rgb:
    r: int
    g: int
    b: int


Colour = Indexed | Rgb


class Span(NamedTuple):
    """Neighbouring cells of one row that look the same. `None` is the default colour.

    A tuple, because a screen has hundreds and a frozen dataclass takes four times as long to make.
    """

    text: str
    fg: Colour | None = None
    bg: Colour | None = None
    bold: bool = False
    faint: bool = False
    italic: bool = False
    underline: bool = False
    strikethrough: bool = False
    blink: bool = False
    inverse: bool = False
    link: str | None = None


Line = str | tuple[Span, ...]
"""One row: plain and right-trimmed, or styled. A blank row is `""` or `()`."""


def text_of(line: Line) -> str:
    """The characters of a row, whichever way it was read."""
    if isinstance(line, str):
        return line
    return "".join(span.text for span in line)


@dataclass(frozen=True, slots=True)
class Cursor:
    row: int
    col: int
    visible: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """The grid of cells visible at one moment. `lines` has exactly `rows` entries."""

    lines: tuple[Line, ...]
    cursor: Cursor
    cols: int
    rows: int
    first_line_index: int
    total_lines: int
    alternate_active: bool
    epoch: int

    @property
    def text_lines(self) -> tuple[str, ...]:
        return tuple(text_of(line) for line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrollback:
    """A part of scrollback and screen, read as one sequence. `offset` counts from the oldest."""

    lines: tuple[Line, ...]
    offset: int
    total_lines: int
    epoch: int

    @property
    def text_lines(self) -> tuple[str, ...]:
        return tuple(text_of(line) for line in self.lines)


class MouseTracking(Enum):
    """Which mouse events the program asked for. The value is the DEC private mode."""

    NONE = 0
    PRESS = 9
    CLICK = 1000
    DRAG = 1002
    MOTION = 1003


class MouseFormat(Enum):
    """How mouse events are to be encoded. The value is the DEC private mode."""

    X10 = 0
    UTF8 = 1005
    SGR = 1006
    URXVT = 1015
    SGR_PIXELS = 1016


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """What the program asked of the terminal, as far as input and viewers care."""

    application_cursor: bool
    application_keypad: bool
    bracketed_paste: bool
    focus_reporting: bool
    mouse_tracking: MouseTracking
    mouse_format: MouseFormat
    alternate_scroll: bool
    kitty_keyboard: int
    """Flags of the kitty keyboard protocol; 0 is the legacy keyboard."""
    cursor_visible: bool
    wraparound: bool
    insert: bool
    origin: bool
    reverse_video: bool
    synchronized_output: bool
    grapheme_clusters: bool
    in_band_resize: bool
