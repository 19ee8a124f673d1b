"""One element drawn on its own, clipped to the screen: rows of pieces with holes where nothing is."""

from dataclasses import dataclass
from itertools import groupby

from duetty.surface.text import Cells, Ruler, shown
from duetty.surface.values import COLOUR_NAMES, ElementColour, RegionWrite, TextSpan
from duetty.vt import PLAIN, Colour, GridRow, Indexed, Piece, Rgb, Style

_Cell = tuple[str, int, Style] | None
"""A character with its columns and style; None is a hole, and an empty text what follows a wide one."""

_BLANK = " "


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring cells of one row, placed on the surface."""

    col: int
    row: GridRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Where an element lies on the surface; it may reach beyond any edge."""

    row: int
    col: int
    cols: int
    rows: int


def draw(
    area: Area,
    *,
    background: ElementColour | None,
    spans: tuple[TextSpan, ...],
    writes: tuple[RegionWrite, ...],
    opaque: bool,
    within_cols: int,
    within_rows: int,
) -> dict[int, tuple[Stretch, ...]]:
    """The element's cells by row of the surface: background, then spans, then region writes."""
    fill = Style(bg=colour_of(background)) if background is not None else PLAIN
    ground = (_BLANK, 1, fill) if opaque or background is not None else None
    canvas = _Canvas(area, ground, within_cols=within_cols, within_rows=within_rows)
    ruler = Ruler(canvas.reach)
    try:
        _flow(canvas, ruler, spans, background)
        for write in writes:
            text = shown(write.text)
            for down, line in enumerate(text.split("\n")):
                if canvas.has_row(write.row + down):
                    style = _style(write, background)
                    canvas.put(write.row + down, write.col, ruler.cells(line, at=write.col), style)
    finally:
        ruler.close()
    return canvas.stretches()


def _flow(
    canvas: "_Canvas", ruler: Ruler, spans: tuple[TextSpan, ...], background: ElementColour | None
) -> None:
    row = col = 0
    for span in spans:
        style = _style(span, background)
        for number, line in enumerate(shown(span.text).split("\n")):
            if number:
                row, col = row + 1, 0
            if canvas.is_below(row):
                return
            if canvas.has_row(row) and canvas.reaches(col):
                cells = ruler.cells(line, at=col)
                canvas.put(row, col, cells, style)
                col += sum(cols for _, cols in cells)


def colour_of(colour: ElementColour) -> Colour:
    return colour if isinstance(colour, Rgb) else Indexed(COLOUR_NAMES.index(colour))


def _style(text: TextSpan | RegionWrite, background: ElementColour | None) -> Style:
    bg = text.bg if text.bg is not None else background
    return Style(
        fg=None if text.fg is None else colour_of(text.fg),
        bg=None if bg is None else colour_of(bg),
        bold=text.bold,
        italic=text.italic,
        underline=1 if text.underline else 0,
    )


class _Canvas:
    """Cells of the part of an area that is on the surface. Places are given within the element."""

    def __init__(self, area: Area, ground: _Cell, *, within_cols: int, within_rows: int) -> None:
        self._area = area
        self._ground = ground
        self._left = max(area.col, 0)
        self._right = min(area.col + area.cols, within_cols)
        self._top = max(area.row, 0)
        self._bottom = min(area.row + area.rows, within_rows)
        self._rows: dict[int, list[_Cell]] = {}

    def has_row(self, row: int) -> bool:
        return self._left < self._right and self._top <= self._area.row + row < self._bottom

    def is_below(self, row: int) -> bool:
        """Nothing of the element is seen from this row on."""
        return self._area.row + row >= self._bottom

    @property
    def reach(self) -> int:
        """Columns of the element up to the last one that is seen."""
        return self._right - self._area.col

    def reaches(self, col: int) -> bool:
        return self._area.col + col < self._right

    def put(self, row: int, col: int, cells: Cells, style: Style) -> None:
        line = self._rows.get(row)
        if line is None:
            line = self._rows[row] = [self._ground] * (self._right - self._left)
        at = self._area.col + col - self._left
        if all(cols == 1 for _, cols in cells):
            _set_narrow(line, at, cells, style)
            return
        for text, cols in cells:
            if at >= len(line):
                break
            if at + cols > 0:
                _set(line, at, text, cols, style)
            at += cols

    def stretches(self) -> dict[int, tuple[Stretch, ...]]:
        width = self._right - self._left
        if width <= 0:
            return {}
        found: dict[int, tuple[Stretch, ...]] = {}
        if self._ground is not None:
            text, _, style = self._ground
            empty = (Stretch(self._left, (Piece(text * width, width, style),)),)
            found = dict.fromkeys(range(self._top, self._bottom), empty)
        for row, line in self._rows.items():
            found[self._area.row + row] = tuple(_stretches(line, self._left))
        return found


def _set_narrow(line: list[_Cell], at: int, cells: Cells, style: Style) -> None:
    """Put characters of one column each: nearly all text, so it is put at once."""
    first, last = max(at, 0), min(at + len(cells), len(line))
    if first >= last:
        return
    # The ones at the ends may cut something in half.
    _set(line, first, _BLANK, 1, style)
    _set(line, last - 1, _BLANK, 1, style)
    line[first:last] = [(text, 1, style) for text, _ in cells[first - at : last - at]]


def _set(line: list[_Cell], at: int, text: str, cols: int, style: Style) -> None:
    """Put a character; what it cuts in half, or what an edge cuts of it, becomes blank."""
    end = at + cols
    if at < 0 or end > len(line):
        for place in range(max(at, 0), min(end, len(line))):
            _set(line, place, _BLANK, 1, style)
        return
    before = line[at]
    if before is not None and not before[0]:  # the second half of a wide character
        line[at - 1] = (_BLANK, 1, before[2])
    after = line[end] if end < len(line) else None
    if after is not None and not after[0]:
        line[end] = (_BLANK, 1, after[2])
    line[at] = (text, cols, style)
    if cols == 2:
        line[at + 1] = ("", 0, style)


def _stretches(line: list[_Cell], left: int) -> list[Stretch]:
    found: list[Stretch] = []
    col = left
    for is_hole, group in groupby(line, key=lambda cell: cell is None):
        cells = list(group)
        if not is_hole:
            found.append(Stretch(col, _joined([cell for cell in cells if cell is not None])))
        col += len(cells)
    return found


def _joined(cells: list[tuple[str, int, Style]]) -> GridRow:
    pieces: list[Piece] = []
    for is_whole, group in groupby(cells, key=lambda cell: len(cell[0]) != 1 or cell[1] != 1):
        if is_whole:
            pieces += [Piece(text, cols, style, None, True) for text, cols, style in group if text]
            continue
        for style, same in groupby(group, key=lambda cell: cell[2]):
            text = "".join(cell[0] for cell in same)
            pieces.append(Piece(text, len(text), style))
    return tuple(pieces)
