"""A frame: everything the outer terminal is to show, cell by cell; and fitting one into it."""

from dataclasses import dataclass
from typing import NamedTuple

from duetty.cli.attach.cells import BLANK, HALF, CellRow, cell
from duetty.vt.cells import Style

_OUTSIDE = cell("·", Style(faint=True))
"""Where the session ends before the terminal does, as tmux shows it."""


class Frame(NamedTuple):
    """Made for every key: a tuple, which takes a quarter of a dataclass' time."""

    rows: tuple[CellRow, ...]
    cols: int
    cursor_row: int = 0
    cursor_col: int = 0
    cursor_visible: bool = True
    cursor_shape: int = 0
    """The argument of DECSCUSR; 0 is whatever the person prefers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which part of a surface is seen: from this row and column on."""

    row: int = 0
    col: int = 0


WHOLE = Window()


def typed_onto(frame: Frame, data: bytes) -> Frame | None:
    """The frame after plain characters were printed at its cursor; None where it is not that simple."""
    row, first = frame.rows[frame.cursor_row], frame.cursor_col
    end = first + len(data)
    if end >= frame.cols or row[first] == HALF or row[end] == HALF:
        return None
    if first and not ("!" <= row[first - 1].text <= "~" or row[first - 1].text == " "):
        return None  # some terminals would join it with what stands there
    typed = tuple([cell(chr(each)) for each in data])
    rows = list(frame.rows)
    rows[frame.cursor_row] = row[:first] + typed + row[end:]
    return frame._replace(rows=tuple(rows), cursor_col=end)


def choose_window(surface: Frame, before: Window, *, cols: int, rows: int) -> Window:
    """The part to show, moved as little as needed for the cursor to be in it."""
    return Window(
        row=_moved(before.row, surface.cursor_row, len(surface.rows), rows),
        col=_moved(before.col, surface.cursor_col, surface.cols, cols),
    )


def _moved(first: int, place: int, size: int, room: int) -> int:
    if size <= room:
        return 0
    first = min(max(first, place - room + 1), place)
    return max(0, min(first, size - room))


def fit(surface: Frame, window: Window, *, cols: int, rows: int, outside: bool = True) -> Frame:
    """The surface as a terminal of another size shows it: cut, or with dots outside."""
    if window == WHOLE and (surface.cols, len(surface.rows)) == (cols, rows):
        return surface
    seen = [
        fit_row(row, window.col, cols=cols) for row in surface.rows[window.row : window.row + rows]
    ]
    seen += [((_OUTSIDE if outside else BLANK),) * cols] * (rows - len(seen))
    row, col = surface.cursor_row - window.row, surface.cursor_col - window.col
    is_inside = 0 <= row < rows and 0 <= col < cols
    return Frame(
        rows=tuple(seen),
        cols=cols,
        cursor_row=row if is_inside else 0,
        cursor_col=col if is_inside else 0,
        cursor_visible=surface.cursor_visible and is_inside,
        cursor_shape=surface.cursor_shape,
    )


def fit_row(row: CellRow, first: int, *, cols: int, outside: bool = True) -> CellRow:
    cut = row[first : first + cols]
    if cut and cut[0] == HALF:
        cut = (BLANK, *cut[1:])
    if len(row) > first + cols and row[first + cols] == HALF:
        cut = (*cut[:-1], BLANK)
    return cut + ((_OUTSIDE if outside else BLANK),) * (cols - len(cut))
