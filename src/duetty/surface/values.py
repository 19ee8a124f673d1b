"""What is drawn over and beside a program's screen: overlays and panels, as values.

Frozen, so that a change is a new value and drawing code can compare by identity.
Text is kept as it was given; what of it may be shown is decided where it is drawn.
"""

from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

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


@dataclass(frozen=True, slots=True)
class Attribute:
    """Marks a field of an element that is defined nowhere else: the arguments of operations, their
    answers, the file on disk, the page's types and the docs take it from its line below.

    The field is a flag, a number, a text or one of some words. It has a default, which JSON leaves out.
    """

    description: str = ""
    given: bool = True
    """Whether callers may give it."""


class NamedAttribute(NamedTuple):
    name: str
    type: Any
    default: Any
    description: str
    given: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What overlays and panels have in common."""

    id: str
    z: int
    background: ElementColour | None = None
    spans: tuple[TextSpan, ...] = ()
    region_writes: tuple[RegionWrite, ...] = ()
    made: int = 0
    """Counts elements of a session: between equal z the later one is above."""

    focusable: Annotated[bool, Attribute()] = False
    screen_mode: Annotated[ScreenMode, Attribute(given=False)] = "normal"
    owner: Annotated[str | None, Attribute("the actor that made it", given=False)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay(Drawn):
    """Drawn above the screen and the panels; takes no rows.

    Without a background, what is under it shows wherever it has no text.
    """

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel(Drawn):
    """Rows at an edge of the screen that the program does not get."""

    position: Edge
    height: int


Element = Overlay | Panel


@cache
def attributes_of(kind: type[Element]) -> tuple[NamedAttribute, ...]:
    """The attributes of this kind of element, in their order."""
    types = get_type_hints(kind, include_extras=True)
    return tuple(
        NamedAttribute(each.name, of, each.default, marked.description, marked.given)
        for each in fields(kind)
        if get_origin(types[each.name]) is Annotated
        for of, marked in [get_args(types[each.name])]
    )


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
