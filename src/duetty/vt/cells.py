"""Rows of native cells as runs of equal style, and runs as spans.

A cell is 64 bits, lowest first: 2 content tag, 24 content, 16 style, 2 width,
1 protected, 1 hyperlink, then what we do not read. The property test that
compares spans with the emulator's own plain text notices when that moves.
"""

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import NamedTuple, Protocol

from duetty.vt.values import Colour, Indexed, Rgb, Span

_CONTENT_SHIFT = 2
_CONTENT = 0xFF_FFFF
_TAG = 0b11
_TAG_CODEPOINT = 0
_TAG_GRAPHEME = 1
_TAG_PALETTE = 2
_STYLE_SHIFT = 26
_STYLE = 0xFFFF
_SPACER = 1 << 43
"""Set for both spacers: after a wide character, and before one that did not fit."""
_LINK = 1 << 45
_ERASED = _TAG | _CONTENT << _CONTENT_SHIFT

_UNUSUAL = _TAG | _STYLE << _STYLE_SHIFT | 0b11 << 42 | _LINK
"""A cell with none of these bits is one code point in the default style."""


@dataclass(frozen=True, slots=True)
class Style:
    """Everything SGR can say of a cell. `underline` is the kind: 0 none, 1 single, … 5 dashed."""

    fg: Colour | None = None
    bg: Colour | None = None
    underline_colour: Colour | None = None
    bold: bool = False
    faint: bool = False
    italic: bool = False
    blink: bool = False
    inverse: bool = False
    invisible: bool = False
    strikethrough: bool = False
    overline: bool = False
    underline: int = 0


PLAIN = Style()


class Row(Protocol):
    """One row as the emulator gives it."""

    @property
    def cells(self) -> bytes: ...
    @property
    def is_wrapped(self) -> bool: ...
    def style(self, col: int) -> Style: ...
    def grapheme(self, col: int) -> str: ...
    def link(self, col: int) -> str | None: ...


class Run(NamedTuple):
    """Neighbouring cells of one style and link."""

    text: str
    style: Style
    link: str | None


def runs(row: Row) -> list[Run]:
    """The whole row, to its last column, as runs of one style and link each."""
    raw = row.cells
    bits = int.from_bytes(raw, "little")
    if not bits & _lanes(_UNUSUAL, len(raw)):
        return [Run(_text(bits, len(raw)), PLAIN, None)]
    return _mixed_runs(row, bits, len(raw))


def spans(row: Row) -> tuple[Span, ...]:
    """The row as it is shown to readers.

    Trailing whitespace goes only while the last span looks like the default.
    """
    merged: list[Span] = []
    look, parts, link = _LOOK_PLAIN, list[str](), None
    for run in runs(row):
        run_look = _look(run.style)
        if parts and (run_look != look or run.link != link):
            merged.append(_span("".join(parts), look, link))
            parts = []
        look, link = run_look, run.link
        parts.append(run.text)
    last = "".join(parts)
    if look == _LOOK_PLAIN and link is None:
        last = last.rstrip()
    if last:
        merged.append(_span(last, look, link))
    return tuple(merged)


def _mixed_runs(row: Row, bits: int, size: int) -> list[Run]:
    """Group cells that say the same besides their character; per-cell Python is too slow."""
    keys = _quads(bits & _lanes(_UNUSUAL, size), size)
    if bits & _lanes(_TAG_PALETTE, size):
        # The content of an erased cell is its colour.
        cells = _quads(bits, size)
        keys = [
            cell & _ERASED if cell & _TAG_PALETTE else keys[at] for at, cell in enumerate(cells)
        ]
    characters = _text(bits, size)
    styles: dict[int, Style] = {0: PLAIN}
    found: list[Run] = []
    start = 0
    for key, group in groupby(keys):
        end = start + len(list(group))
        if not key & _SPACER:
            for piece in _group_runs(row, key, characters, start, end, styles):
                _append(found, piece)
        start = end
    return found


def _group_runs(
    row: Row, key: int, characters: str, start: int, end: int, styles: dict[int, Style]
) -> list[Run]:
    tag = key & _TAG
    if tag > _TAG_GRAPHEME:
        return [Run(" " * (end - start), _background(tag, key >> _CONTENT_SHIFT), None)]
    style_id = key >> _STYLE_SHIFT & _STYLE
    style = styles.get(style_id)
    if style is None:
        style = styles[style_id] = row.style(start)
    if tag == _TAG_CODEPOINT and not key & _LINK:
        return [Run(characters[start:end], style, None)]
    return [
        Run(
            row.grapheme(col) if tag == _TAG_GRAPHEME else characters[col],
            style,
            row.link(col) if key & _LINK else None,
        )
        for col in range(start, end)
    ]


def _append(found: list[Run], run: Run) -> None:
    if found:
        last = found[-1]
        if last.style is run.style and last.link == run.link:
            found[-1] = Run(last.text + run.text, run.style, run.link)
            return
    found.append(run)


def _quads(bits: int, size: int) -> list[int]:
    return memoryview(bits.to_bytes(size, "little")).cast("Q").tolist()


def _text(bits: int, size: int) -> str:
    """The code points of all cells at once; per-cell Python would cost most of a screen's time."""
    lanes = (bits >> _CONTENT_SHIFT & _lanes(_CONTENT, size)).to_bytes(size, "little")
    # Every second 32 bits are zero.
    return lanes.decode("utf-32-le")[::2].replace("\0", " ")


@cache
def _lanes(mask: int, size: int) -> int:
    return int.from_bytes(mask.to_bytes(8, "little") * (size // 8), "little")


@cache
def _background(tag: int, content: int) -> Style:
    """An erased cell that kept the background it was erased with."""
    if tag == _TAG_PALETTE:
        return Style(bg=Indexed(content & 0xFF))
    return Style(bg=Rgb(content & 0xFF, content >> 8 & 0xFF, content >> 16))


_Look = tuple[Colour | None, Colour | None, bool, bool, bool, bool, bool, bool, bool]


def _look(style: Style) -> _Look:
    """What a span can say of a style, in the order of its fields."""
    return (
        style.fg,
        style.bg,
        style.bold,
        style.faint,
        style.italic,
        style.underline != 0,
        style.strikethrough,
        style.blink,
        style.inverse,
    )


_LOOK_PLAIN = _look(PLAIN)


def _span(text: str, look: _Look, link: str | None) -> Span:
    return Span(text, *look, link)
