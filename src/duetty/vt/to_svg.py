"""A screen as one SVG picture: every cell in its place, whatever font the reader has.

No script, no link, nothing loaded from elsewhere. What the program printed is
text in it, escaped, and characters that XML cannot hold are left out.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape

from duetty.vt.cells import GridRow, Piece, Style
from duetty.vt.palette import BACKGROUND, FOREGROUND, hex_of
from duetty.vt.values import Cursor

FONT_PX = 14
CELL_W = 8.43
"""What most monospace fonts advance at this size; text is fitted to it anyway."""

CELL_H = 16
"""No more than a font is high, or lines drawn with characters would have gaps."""

BASELINE = 13
MARGIN = 10
FONTS = (
    "'DejaVu Sans Mono', 'JetBrains Mono', 'Cascadia Mono', Menlo, Consolas, 'Liberation Mono', "
    "'Noto Sans Mono', monospace"
)

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_SIMPLE = re.compile(r"[\x20-\x7e]*\Z")


def svg_of(
    rows: Sequence[GridRow], *, cols: int, cursor: Cursor | None = None, font: str = FONTS
) -> str:
    """The picture of these rows; `cursor` is drawn where it is, if it is visible."""
    width, height = 2 * MARGIN + cols * CELL_W, 2 * MARGIN + len(rows) * CELL_H
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" font-family="{escape(font)}" '
        f'font-size="{FONT_PX}" fill="{FOREGROUND}">',
        f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>',
        f'<g transform="translate({MARGIN} {MARGIN})" xml:space="preserve">',
    ]
    # Backgrounds first: a glyph may reach over its cell's edge.
    for at, row in enumerate(rows):
        parts += _backgrounds(row, top=at * CELL_H)
    if cursor is not None and cursor.visible:
        parts.append(
            f'<rect x="{_n(cursor.col * CELL_W)}" y="{cursor.row * CELL_H}" width="{CELL_W}" '
            f'height="{CELL_H}" fill="{FOREGROUND}" fill-opacity=".45"/>'
        )
    for at, row in enumerate(rows):
        parts += _texts(row, top=at * CELL_H)
    return "".join([*parts, "</g></svg>"])


def _placed(row: GridRow) -> Iterator[tuple[int, Piece]]:
    col = 0
    for piece in row:
        yield col, piece
        col += piece.cols


def _colours(style: Style) -> tuple[str, str | None]:
    """What a cell's text and its background are drawn in; None is the picture's own."""
    fg = hex_of(style.fg) if style.fg is not None else FOREGROUND
    bg = hex_of(style.bg) if style.bg is not None else None
    return (bg or BACKGROUND, fg) if style.inverse else (fg, bg)


def _backgrounds(row: GridRow, *, top: int) -> Iterator[str]:
    # Neighbours are drawn as one: between two rectangles a hair of the ground shows through.
    begun: tuple[int, int, str] | None = None
    for col, piece in _placed(row):
        _, bg = _colours(piece.style)
        if begun is not None and begun[2] == bg:
            begun = (begun[0], begun[1] + piece.cols, begun[2])
            continue
        if begun is not None:
            yield _rect(*begun, top=top)
        begun = None if bg is None else (col, piece.cols, bg)
    if begun is not None:
        yield _rect(*begun, top=top)


def _rect(col: int, cols: int, colour: str, *, top: int) -> str:
    return (
        f'<rect x="{_n(col * CELL_W)}" y="{top}" width="{_n(cols * CELL_W)}" height="{CELL_H}" '
        f'fill="{colour}"/>'
    )


def _texts(row: GridRow, *, top: int) -> Iterator[str]:
    for col, piece in _placed(row):
        style = piece.style
        fg, _ = _colours(style)
        if not style.invisible and piece.text.strip():
            yield _text(piece, col, fg, top=top)
        yield from _decorations(piece, col, fg, top=top)


def _text(piece: Piece, col: int, fg: str, *, top: int) -> str:
    style = piece.style
    text = _NOT_XML.sub("\ufffd", piece.text)
    start = len(text) - len(text.lstrip(" ")) if not piece.is_whole else 0
    text = text.strip(" ") if not piece.is_whole else text
    attributes = [f'y="{top + BASELINE}"', _across(text, col + start, piece)]
    if fg != FOREGROUND:
        attributes.append(f'fill="{fg}"')
    if style.bold:
        attributes.append('font-weight="bold"')
    if style.italic:
        attributes.append('font-style="italic"')
    if style.faint:
        attributes.append('opacity=".55"')
    return f"<text {' '.join(attributes)}>{escape(text)}</text>"


def _across(text: str, col: int, piece: Piece) -> str:
    """Where each character goes, so that no font can move the next one."""
    x = _n(col * CELL_W)
    if piece.is_whole:
        return (
            f'x="{x}"'
            if piece.cols == 1
            else f'x="{_n((col + piece.cols / 2) * CELL_W)}" text-anchor="middle"'
        )
    if len(text) == 1:
        return f'x="{x}"'
    if _SIMPLE.match(text):
        return f'x="{x}" textLength="{_n(len(text) * CELL_W)}"'
    return 'x="{}"'.format(" ".join(_n((col + at) * CELL_W) for at in range(len(text))))


_DASHES = {4: "1.5 1.5", 5: "4 2"}


def _decorations(piece: Piece, col: int, fg: str, *, top: int) -> Iterator[str]:
    style = piece.style
    left, width = col * CELL_W, piece.cols * CELL_W
    colour = hex_of(style.underline_colour) if style.underline_colour is not None else fg
    below = top + BASELINE + 2
    match style.underline:
        case 0:
            pass
        case 2:
            yield _line(left, width, below - 0.5, colour)
            yield _line(left, width, below + 1.5, colour)
        case 3:
            waves = "".join(" q 1.5 -2.4 3 0 t 3 0" for _ in range(max(1, round(width / 6))))
            yield (f'<path d="M{_n(left)} {below + 0.5}{waves}" fill="none" stroke="{colour}"/>')
        case kind:
            yield _line(left, width, below + 0.5, colour, dashes=_DASHES.get(kind))
    if style.strikethrough:
        yield _line(left, width, top + BASELINE - 4, fg)
    if style.overline:
        yield _line(left, width, top + 0.5, fg)


def _line(left: float, width: float, y: float, colour: str, *, dashes: str | None = None) -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="M{_n(left)} {_n(y)}h{_n(width)}" stroke="{colour}"{dashed}/>'


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
