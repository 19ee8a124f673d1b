"""Rows of native cells as runs of equal style, and runs as spans.

A cell is 64 bits, lowest first: 2 content tag, 24 content, 16 style, 2 width,
1 protected, 1 hyperlink, then what we do not read. The property test that
compares spans with the emulator's own plain text notices when that moves.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from typing import NamedTuple, Protocol

from duetty.vt.values import Colour, Indexed, Rgb, Span

_CONTENT_SHIFT = 2
_CONTENT = 0xFF_FFFF
_TAG = 0b11
_TAG_GRAPHEME = 0b01
"""More than one code point: the others are kept elsewhere. Means nothing in an erased cell."""
_TAG_ERASED = 0b10
"""No character, but a background: of the palette, or with the lowest bit too, as RGB."""
_STYLE_SHIFT = 26
_STYLE = 0xFFFF
_SPACER = 1 << 43
"""Set for both spacers: after a wide character, and before one that did not fit."""
_WIDE = 1 << 42
"""With the spacer bit it is the spacer before a wide character that did not fit."""
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


class Piece(NamedTuple):
    """Neighbouring cells of one style and link that know how many columns they take.

    Each character of it has one column, unless it `is_whole`: then it is one
    character, of several columns or code points, and cannot be cut.
    """

    text: str
    cols: int
    style: Style = PLAIN
    link: str | None = None
    is_whole: bool = False


GridRow = tuple[Piece, ...]
"""One row to its last column. Equal rows look the same, unequal ones may."""


def pieces(row: Row) -> GridRow:
    """The whole row, to its last column, in pieces that know their columns."""
    raw = row.cells
    bits = int.from_bytes(raw, "little")
    if not bits & _lanes(_UNUSUAL, len(raw)):
        return (Piece(_drawable(_text(bits, len(raw))), len(raw) // 8),)
    return tuple(_mixed_pieces(row, bits, len(raw)))


def _drawable(text: str) -> str:
    """The emulator gives DEL a cell, which no terminal does that would have to draw it."""
    return text.replace("\x7f", " ")


def _mixed_pieces(row: Row, bits: int, size: int) -> list[Piece]:
    characters = _drawable(_text(bits, size))
    styles: dict[int, Style] = {0: PLAIN}
    found: list[Piece] = []
    start = 0
    for key, group in groupby(_keys(bits, size)):
        end = start + len(list(group))
        if key & _SPACER:
            if key & _WIDE:
                _add_piece(found, Piece(" " * (end - start), end - start))
        elif key & _TAG_ERASED:
            background = _background(key & _TAG, key >> _CONTENT_SHIFT)
            _add_piece(found, Piece(" " * (end - start), end - start, background))
        elif key & (_TAG_GRAPHEME | _LINK | _WIDE):
            style = _style_of(row, key, start, styles)
            cols = 2 if key & _WIDE else 1
            for col in range(start, end):
                text = characters[col]
                if key & _TAG_GRAPHEME:
                    text = _drawable(row.grapheme(col))
                link = row.link(col) if key & _LINK else None
                _add_piece(found, Piece(text, cols, style, link, len(text) > 1 or cols > 1))
        else:
            style = _style_of(row, key, start, styles)
            _add_piece(found, Piece(characters[start:end], end - start, style))
        start = end
    return found


def _add_piece(found: list[Piece], piece: Piece) -> None:
    if found and not piece.is_whole:
        last = found[-1]
        if last.style is piece.style and last.link == piece.link and not last.is_whole:
            found[-1] = Piece(
                last.text + piece.text, last.cols + piece.cols, piece.style, piece.link
            )
            return
    found.append(piece)


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
    plain = _plain_spans(row.cells)
    return _merged(runs(row)) if plain is None else plain


@lru_cache(maxsize=1024)
def _plain_spans(raw: bytes) -> tuple[Span, ...] | None:
    """Of a row of nothing but characters; None, where more than its cells decides how it looks.

    Most rows of a screen are as they were when it was last read, or as many others are.
    """
    bits = int.from_bytes(raw, "little")
    if bits & _lanes(_UNUSUAL, len(raw)):
        return None
    text = _text(bits, len(raw)).rstrip()
    return (Span(text),) if text else ()


def spans_of(row: GridRow) -> tuple[Span, ...]:
    """The same of a row in pieces."""
    return _merged([Run(piece.text, piece.style, piece.link) for piece in row])


def _merged(found: list[Run]) -> tuple[Span, ...]:
    merged: list[Span] = []
    for text, style, link in found:
        look = _LOOK_PLAIN if style is PLAIN else _look(style)
        if merged and merged[-1][1:] == (*look, link):
            text = merged.pop().text + text
        merged.append(Span(text, *look, link))
    last = merged[-1]
    if last[1:] == _UNSTYLED:
        del merged[-1]
        if text := last.text.rstrip():
            merged.append(Span(text))
    return tuple(merged)


def _mixed_runs(row: Row, bits: int, size: int) -> list[Run]:
    characters = _text(bits, size)
    styles: dict[int, Style] = {0: PLAIN}
    found: list[Run] = []
    start = 0
    for key, group in groupby(_keys(bits, size)):
        end = start + len(list(group))
        if key & _SPACER:
            pass
        elif key & _TAG_ERASED:
            background = _background(key & _TAG, key >> _CONTENT_SHIFT)
            _append(found, " " * (end - start), background, None)
        elif key & (_TAG_GRAPHEME | _LINK):
            style = _style_of(row, key, start, styles)
            for col in range(start, end):
                text = row.grapheme(col) if key & _TAG_GRAPHEME else characters[col]
                _append(found, text, style, row.link(col) if key & _LINK else None)
        else:
            _append(found, characters[start:end], _style_of(row, key, start, styles), None)
        start = end
    return found


def _keys(bits: int, size: int) -> list[int]:
    """What each cell says besides its character; cells of equal keys go together.

    Looking at them one by one in Python is too slow.
    """
    keys = _quads(bits & _lanes(_UNUSUAL, size), size)
    if bits & _lanes(_TAG_ERASED, size):
        # The content of an erased cell is its colour.
        cells = _quads(bits, size)
        keys = [cell & _ERASED if cell & _TAG_ERASED else keys[at] for at, cell in enumerate(cells)]
    return keys


def _style_of(row: Row, key: int, col: int, styles: dict[int, Style]) -> Style:
    """Styles are numbered by the page a row lies in, so they are looked up for each row anew."""
    style_id = key >> _STYLE_SHIFT & _STYLE
    style = styles.get(style_id)
    if style is None:
        style = styles[style_id] = row.style(col)
    return style


def _append(found: list[Run], text: str, style: Style, link: str | None) -> None:
    if found:
        last = found[-1]
        if last.style is style and last.link == link:
            found[-1] = Run(last.text + text, style, link)
            return
    found.append(Run(text, style, link))


def _quads(bits: int, size: int) -> list[int]:
    return memoryview(bits.to_bytes(size, "little")).cast("Q").tolist()


def _text(bits: int, size: int) -> str:
    """The code points of all cells at once; per-cell Python would cost most of a screen's time."""
    lanes = (bits >> _CONTENT_SHIFT & _lanes(_CONTENT, size)).to_bytes(size, "little")
    # Every second 32 bits are zero. The colour of an erased cell may be no code point.
    return lanes.decode("utf-32-le", "replace")[::2].replace("\0", " ")


@cache
def _lanes(mask: int, size: int) -> int:
    return int.from_bytes(mask.to_bytes(8, "little") * (size // 8), "little")


@cache
def _background(tag: int, content: int) -> Style:
    """An erased cell that kept the background it was erased with."""
    if tag == _TAG_ERASED:
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
_UNSTYLED = (*_LOOK_PLAIN, None)
