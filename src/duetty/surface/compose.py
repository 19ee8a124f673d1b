"""A program's screen, panels and overlays as one viewer sees them.

Made anew from the emulator's cells each time, so that taking an element away
shows what was under it. Pure; keeps what it drew of an element until it changes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from duetty.surface.canvas import Area, Stretch, draw
from duetty.surface.layout import Layout, lay_out
from duetty.surface.values import Element, Overlay, Panel, ScreenMode
from duetty.vt import Cursor, GridRow, Piece, Terminal

_BLANK = " "


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything besides the program's own cells: the surface's size and what lies on it."""

    cols: int
    rows: int
    layout: Layout
    overlays: tuple[Overlay, ...] = ()
    """As they are drawn: the last one is on top."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What one viewer sees: `rows` of exactly `cols` cells.

    A row is a tuple, and one that did not change is the same tuple where that is
    cheap: comparing two frames row by row costs next to nothing.
    """

    cols: int
    rows: tuple[GridRow, ...]
    cursor: Cursor

    @property
    def text_lines(self) -> tuple[str, ...]:
        return tuple("".join(piece.text for piece in row) for row in self.rows)


def set_scene(
    overlays: Iterable[Overlay],
    panels: Iterable[Panel],
    *,
    cols: int,
    rows: int,
    screen_mode: ScreenMode = "normal",
) -> Scene:
    """The elements of one screen mode on a surface of this size."""
    return Scene(
        cols=cols,
        rows=rows,
        layout=lay_out((each for each in panels if each.screen_mode == screen_mode), rows=rows),
        overlays=drawing_order(each for each in overlays if each.screen_mode == screen_mode),
    )


def drawing_order(overlays: Iterable[Overlay]) -> tuple[Overlay, ...]:
    return tuple(sorted(overlays, key=lambda each: (each.z, each.made, each.id)))


def compose(grid: tuple[GridRow, ...], cursor: Cursor, scene: Scene) -> Frame:
    """One frame. For one after another, keep a `Composer`."""
    return Composer().compose(grid, cursor, scene)


class GridReader:
    """A terminal's cells, read anew only where they changed. The only one that takes its dirt."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._rows: tuple[GridRow, ...] = ()

    def rows(self) -> tuple[GridRow, ...]:
        dirty = self._terminal.take_dirty()
        if dirty or len(self._rows) != self._terminal.rows:
            self._rows = self._terminal.grid(before=self._rows, changed=dirty)
        return self._rows


_Drawn = dict[int, tuple[Stretch, ...]]
_Key = tuple[str, int, int, int]
"""An element's id, its first row, and the surface's size."""


class Composer:
    """Composes frames; an element is drawn once, and again only when it or the size changed."""

    def __init__(self) -> None:
        self._drawn: dict[_Key, tuple[Element, _Drawn]] = {}

    def compose(self, grid: tuple[GridRow, ...], cursor: Cursor, scene: Scene) -> Frame:
        """The frame for these cells of the program, which need not have the right size yet."""
        layout, cols = scene.layout, scene.cols
        if not layout.placed and not scene.overlays and _fits(grid, cols=cols, rows=scene.rows):
            return Frame(cols=cols, rows=grid, cursor=_moved(cursor, scene))
        blank = (Piece(_BLANK * cols, cols),)
        rows: list[GridRow] = [blank] * scene.rows
        for at, row in enumerate(grid[: layout.program_rows]):
            rows[layout.top + at] = _fitted(row, cols)
        kept: dict[_Key, tuple[Element, _Drawn]] = {}
        elements: list[tuple[Element, int]] = [(each.panel, each.row) for each in layout.placed]
        elements += [(each, each.y) for each in scene.overlays]
        shown = _moved(cursor, scene)
        for element, top in elements:
            for row, stretches in self._draw(element, top, scene, kept).items():
                for stretch in stretches:
                    rows[row], end = pasted(rows[row], stretch)
                    if row == shown.row and stretch.col <= shown.col < end:
                        shown = Cursor(shown.row, shown.col, False)
        self._drawn = kept
        return Frame(cols=cols, rows=tuple(rows), cursor=shown)

    def _draw(
        self,
        element: Element,
        top: int,
        scene: Scene,
        kept: dict[_Key, tuple[Element, _Drawn]],
    ) -> _Drawn:
        key = (element.id, top, scene.cols, scene.rows)
        known = self._drawn.get(key)
        if known is None or (known[0] is not element and known[0] != element):
            is_panel = isinstance(element, Panel)
            area = Area(
                row=top,
                col=0 if is_panel else element.x,
                cols=scene.cols if is_panel else element.width,
                rows=element.height,
            )
            known = (
                element,
                draw(
                    area,
                    background=element.background,
                    spans=element.spans,
                    writes=element.region_writes,
                    opaque=is_panel,
                    within_cols=scene.cols,
                    within_rows=scene.rows,
                ),
            )
        kept[key] = (element, known[1])
        return known[1]


def _fits(grid: tuple[GridRow, ...], *, cols: int, rows: int) -> bool:
    # All rows of one terminal are equally wide: the first one tells.
    return len(grid) == rows and sum(piece.cols for piece in grid[0]) == cols


def _moved(cursor: Cursor, scene: Scene) -> Cursor:
    """The program's cursor on the surface; not shown where the program has no cells."""
    inside = cursor.row < scene.layout.program_rows and cursor.col < scene.cols
    if inside and not scene.layout.top:
        return cursor
    return Cursor(
        min(cursor.row, scene.layout.program_rows - 1) + scene.layout.top,
        min(cursor.col, scene.cols - 1),
        cursor.visible and inside,
    )


def _fitted(row: GridRow, cols: int) -> GridRow:
    width = sum(piece.cols for piece in row)
    if width == cols:
        return row
    if width < cols:
        return joined((*row, Piece(_BLANK * (cols - width), cols - width)))
    return cut(row, 0, cols)


def pasted(row: GridRow, stretch: Stretch) -> tuple[GridRow, int]:
    """The row with the stretch in its place, and where the stretch ends."""
    end = stretch.col + sum(piece.cols for piece in stretch.row)
    width = sum(piece.cols for piece in row)
    return joined((*cut(row, 0, stretch.col), *stretch.row, *cut(row, end, width))), end


def cut(row: GridRow, start: int, stop: int) -> GridRow:
    """The cells from `start` to before `stop`; half of a wide character is a blank."""
    found: list[Piece] = []
    at = 0
    for piece in row:
        first, last = max(start - at, 0), min(stop - at, piece.cols)
        at += piece.cols
        if first >= last:
            if at >= stop:
                break
            continue
        if last - first == piece.cols:
            found.append(piece)
        elif piece.is_whole:
            found.append(Piece(_BLANK * (last - first), last - first, piece.style))
        else:
            found.append(Piece(piece.text[first:last], last - first, piece.style, piece.link))
    return tuple(found)


def joined(row: GridRow) -> GridRow:
    """The same cells with neighbours of one look together, so that equal looks compare equal."""
    found: list[Piece] = []
    for piece in row:
        last = found[-1] if found else None
        if (
            last is not None
            and not (piece.is_whole or last.is_whole)
            and (last.style, last.link) == (piece.style, piece.link)
        ):
            text, cols = last.text + piece.text, last.cols + piece.cols
            found[-1] = Piece(text, cols, piece.style, piece.link)
        else:
            found.append(piece)
    return tuple(found)
