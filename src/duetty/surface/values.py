"""What is drawn over and beside a program's screen: overlays and panels, as values.

Frozen, so that a change is a new value and whoever draws can compare by identity.
Text is kept as it was given; what of it may be shown is decided where it is drawn.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from duetty.vt import Rgb

ColourName = Literal["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]
COLOUR_NAMES: tuple[ColourName, ...] = get_args(ColourName)
"""In the order of the palette."""

ElementColour = ColourName | Rgb
Edge = Literal["top", "bottom"]
ScreenMode = Literal["normal", "alt"]
"""Which set of elements is shown. Has nothing to do with the program's alternate screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSpan:
    """A stretch of text that looks the same; a line end in it begins the element's next row."""

    text: str
    id: str | None = None
    """Names it for later changes; several spans may share a name."""

    fg: ElementColour | None = None
    bg: ElementColour | None = None
    bold: bool = False
    italic: bool = False
    underline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionWrite:
    """Text at a place of the element, drawn above its spans."""

    row: int
    col: int
    text: str
    fg: ElementColour | None = None
    bg: ElementColour | None = None
    bold: bool = False
    italic: bool = False
    underline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """Drawn above the screen and the panels; takes no rows.

    Without a background, what is under it shows wherever it has no text.
    """

    id: str
    x: int
    y: int
    z: int
    width: int
    height: int
    background: ElementColour | None = None
    spans: tuple[TextSpan, ...] = ()
    region_writes: tuple[RegionWrite, ...] = ()
    focusable: bool = False
    screen_mode: ScreenMode = "normal"
    owner: str | None = None
    """Name of the actor that made it."""

    made: int = 0
    """Counts elements of a session: between equal z the later one is above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Rows at an edge of the screen that the program does not get."""

    id: str
    position: Edge
    height: int
    z: int
    background: ElementColour | None = None
    spans: tuple[TextSpan, ...] = ()
    region_writes: tuple[RegionWrite, ...] = ()
    focusable: bool = False
    screen_mode: ScreenMode = "normal"
    owner: str | None = None
    made: int = 0


Element = Overlay | Panel


def written(
    before: tuple[RegionWrite, ...], more: tuple[RegionWrite, ...]
) -> tuple[RegionWrite, ...]:
    """The writes with more of them: one that begins at the same place replaces the earlier one."""
    by_place = {(write.row, write.col): write for write in before}
    for write in more:
        # Taken out first, so that what was written last is drawn last.
        by_place.pop((write.row, write.col), None)
        by_place[write.row, write.col] = write
    return tuple(by_place.values())


def with_spans(before: tuple[TextSpan, ...], more: tuple[TextSpan, ...]) -> tuple[TextSpan, ...]:
    """The spans with those replaced whose name is in `more`; a name that is not there is ignored."""
    by_id = {span.id: span for span in more if span.id is not None}
    return tuple(by_id.get(span.id, span) if span.id is not None else span for span in before)
