"""From the server's messages to the frame that a person sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duetty.cli.attach.cells import Cell, CellRow, cell, cells_of, others
from duetty.cli.attach.frame import WHOLE, Frame, choose_window, fit, fit_row
from duetty.cli.attach.keyboard import Place
from duetty.cli.attach.mirror import ProgramScreen
from duetty.cli.attach.paint import Scroll
from duetty.surface import Composer, Scene, overlay_from, panel_from, set_scene
from duetty.vt.cells import GridRow, Style
from duetty.vt.values import Cursor

_NOTICE = Style(inverse=True)

MAX_PASSING = 3_000
"""Rows printed into the terminal's scrollback for one frame; of a flood, the last ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The session's size, from the server."""

    cols: int
    rows: int
    program_rows: int
    top: int


class Surface:
    """The session as it is to look on a terminal of some size."""

    def __init__(self, *, cols: int, rows: int) -> None:
        self.cols, self.rows = cols, rows
        self.size = Size(cols=cols, rows=rows, program_rows=rows, top=0)
        self._elements: dict[str, Any] = {}
        self._scene = self._set_scene()
        self._composer = Composer()
        self._window = WHOLE
        self._known: tuple[tuple[GridRow, ...], tuple[CellRow, ...]] = ((), ())

    def resize(self, *, cols: int, rows: int) -> None:
        self.cols, self.rows = cols, rows

    def tell_size(self, size: Size) -> None:
        self.size = size
        self._scene = self._set_scene()

    def tell_elements(self, elements: dict[str, Any]) -> None:
        self._elements = elements
        self._scene = self._set_scene()

    @property
    def input_mode(self) -> str:
        return str(self._elements.get("input_mode", "passthrough"))

    def _set_scene(self) -> Scene:
        elements = self._elements
        return set_scene(
            [overlay_from(each, made=at) for at, each in enumerate(elements.get("overlays", ()))],
            [panel_from(each, made=at) for at, each in enumerate(elements.get("panels", ()))],
            cols=self.size.cols,
            rows=self.size.rows,
            screen_mode=elements.get("screen_mode", "normal"),
        )

    def frame(
        self, seen: ProgramScreen, *, notice: str | None = None, question: Sequence[str] = ()
    ) -> Frame:
        """`question`: rows of text over the last rows; a notice stands in their last one."""
        frame = self._whole_frame(seen)
        if question:
            frame = _with_question(frame, question)
        return frame if notice is None else _with_notice(frame, notice)

    def _whole_frame(self, seen: ProgramScreen) -> Frame:
        if self.is_bare(seen):
            self._window = WHOLE
            return _frame(seen, self._cells(seen.rows))
        whole = self._compose(seen, self._scene)
        self._window = choose_window(whole, self._window, cols=self.cols, rows=self.rows)
        return fit(whole, self._window, cols=self.cols, rows=self.rows)

    def is_bare(self, seen: ProgramScreen) -> bool:
        """The program has the whole terminal to itself: there is nothing to compose or to cut."""
        scene = self._scene
        return (
            not scene.overlays
            and not scene.layout.placed
            and scene.cols == self.cols == seen.cols
            and scene.rows == self.rows == len(seen.rows)
        )

    def bare_frame(self, seen: ProgramScreen) -> Frame:
        """Only the program's own screen, as if there had never been anything else."""
        bare = set_scene([], [], cols=seen.cols, rows=len(seen.rows))
        whole = self._compose(seen, bare)
        window = choose_window(whole, WHOLE, cols=self.cols, rows=self.rows)
        return fit(whole, window, cols=self.cols, rows=self.rows, outside=False)

    def _compose(self, seen: ProgramScreen, scene: Scene) -> Frame:
        cursor = Cursor(seen.cursor_row, seen.cursor_col, seen.cursor_visible)
        composed = self._composer.compose(seen.rows, cursor, scene)
        return Frame(
            rows=self._cells(composed.rows),
            cols=composed.cols,
            cursor_row=composed.cursor.row,
            cursor_col=composed.cursor.col,
            cursor_visible=composed.cursor.visible,
            cursor_shape=seen.cursor_shape,
        )

    def _cells(self, rows: tuple[GridRow, ...]) -> tuple[CellRow, ...]:
        """Rows that look as before keep their cells, so that comparing frames stays cheap."""
        known_rows, known_cells = self._known
        if len(known_rows) != len(rows):
            made = [cells_of(row) for row in rows]
        else:
            made = list(known_cells)
            for at in others(known_rows, rows):
                if known_rows[at] != rows[at]:
                    made[at] = cells_of(rows[at])
        self._known = rows, tuple(made)
        return self._known[1]

    def scroll(self, rows: list[GridRow]) -> Scroll | None:
        """How rows that scrolled off leave the person's terminal; None where they cannot.

        Under a panel at the top, or when only a part is seen, nothing can be scrolled out
        of the terminal's top edge.
        """
        if not rows or self._scene.layout.top or self._window.row:
            return None
        height = min(self._scene.layout.program_rows, self.rows)
        if height < 2:
            return None
        rows = rows[-MAX_PASSING:]
        leaving = [
            fit_row(cells_of(row), self._window.col, cols=self.cols, outside=False)
            for row in rows[:height]
        ]
        passing = rows[height:]
        if self._window.col or self.size.cols > self.cols:
            # They would be longer than the terminal is wide.
            leaving, passing = leaving[-height:], []
        return Scroll(leaving=leaving, passing=passing, height=height)

    def place(self, seen: ProgramScreen) -> Place:
        """Where the program's screen is, for the mouse."""
        layout = self._scene.layout
        return Place(
            row=layout.top - self._window.row,
            col=-self._window.col,
            rows=layout.program_rows,
            cols=self.size.cols,
            tracking=seen.modes.mouse_tracking,
            format=seen.modes.mouse_format,
        )


def _frame(seen: ProgramScreen, rows: tuple[CellRow, ...]) -> Frame:
    return Frame(
        rows=rows,
        cols=seen.cols,
        cursor_row=seen.cursor_row,
        cursor_col=seen.cursor_col,
        cursor_visible=seen.cursor_visible,
        cursor_shape=seen.cursor_shape,
    )


def _with_question(frame: Frame, question: Sequence[str]) -> Frame:
    rows = [
        tuple(cell(char, _NOTICE) for char in f" {text}"[: frame.cols].ljust(frame.cols))
        for text in question[: len(frame.rows)]
    ]
    return frame._replace(rows=(*frame.rows[: len(frame.rows) - len(rows)], *rows))


def _with_notice(frame: Frame, notice: str) -> Frame:
    """A few words at the end of the last row, over whatever is there."""
    text = f" {notice} "[: frame.cols]
    cells: list[Cell] = [cell(char, _NOTICE) for char in text]
    last = fit_row(frame.rows[-1], 0, cols=frame.cols - len(cells)) if cells else frame.rows[-1]
    return frame._replace(rows=(*frame.rows[:-1], (*last, *cells)))
