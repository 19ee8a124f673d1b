"""The session's terminal, once more, on this side: fed with the same bytes, read as cells.

Silent: the server's own terminal answers the program's questions, and only that one.
"""

from typing import NamedTuple

from duetty.vt import Terminal
from duetty.vt.cells import GridRow, pieces
from duetty.vt.values import Modes

SCROLLBACK_ROWS = 12_000
"""Room for rows that scroll off between two frames, and for what is replayed at the start."""

KEPT_ROWS = 6_000
"""Beyond this the rows that were painted are dropped, so that counting new ones stays exact."""

_DROP_SCROLLBACK = b"\x1b[3J"

_INTRODUCER = b"\x1b"
"""ESC. The emulator reads UTF-8, where the single-byte introducers of old are no such thing."""

_STEADY_BLOCK = 2
"""The cursor of a terminal whose program never chose one."""


class ProgramScreen(NamedTuple):
    """What the program shows at one moment."""

    rows: tuple[GridRow, ...]
    cols: int
    alternate: bool
    cursor_row: int
    cursor_col: int
    cursor_visible: bool
    cursor_shape: int
    modes: Modes


class Mirror:
    def __init__(self, *, cols: int, rows: int) -> None:
        self._cols, self._rows = cols, rows
        self._terminal = self._new()
        self._grid: tuple[GridRow, ...] = ()
        self._modes: tuple[Modes, int] | None = None
        self._above = 0
        """Rows above the primary screen that were taken already."""
        self.bells = 0
        self.title_changed = False

    def _new(self) -> Terminal:
        terminal = Terminal(cols=self._cols, rows=self._rows, scrollback_rows=SCROLLBACK_ROWS)
        terminal.silent = True
        return terminal

    @property
    def title(self) -> str:
        return self._terminal.title

    @property
    def is_updating(self) -> bool:
        """The program is within a frame of its own and asked not to be shown half drawn."""
        return self._known_modes()[0].synchronized_output

    @property
    def is_within_sequence(self) -> bool:
        """What comes next belongs to something that has begun: it may be no text."""
        return not self._terminal.native.is_settled

    def feed(self, data: bytes) -> None:
        if _INTRODUCER in data or not self._terminal.native.is_settled:
            # Only a sequence can change a mode, or the cursor's shape.
            self._modes = None
        changes = self._terminal.feed(data)
        self.bells += changes.bells
        self.title_changed |= changes.title_changed

    def restore(self, snapshot: bytes, *, replay: bool) -> None:
        """Begin anew from a snapshot. Its scrollback is new to the person only if `replay`."""
        self._terminal.close()
        self._terminal = self._new()
        self._grid, self._modes = (), None
        self.feed(snapshot)
        self.title_changed = True
        self.bells = 0
        self._above = 0 if replay else self._rows_above()

    def resize(self, *, cols: int, rows: int) -> None:
        if (cols, rows) == (self._cols, self._rows):
            return
        self._cols, self._rows = cols, rows
        self._terminal.resize(cols=cols, rows=rows)
        self._grid = ()
        self._above = self._rows_above()

    def close(self) -> None:
        self._terminal.close()

    def _rows_above(self) -> int:
        """Rows of scrollback; of the primary screen, so only asked while that is shown."""
        return self._terminal.native.number("total_rows") - self._rows

    def take_scrolled(self) -> list[GridRow]:
        """Rows that left the top of the primary screen since the last take, oldest first."""
        if self._terminal.alternate_active:
            return []
        above = self._rows_above()
        new = above - self._above
        native = self._terminal.native
        found = (
            [pieces(row) for row in native.rows(first=self._above, count=new)] if new > 0 else []
        )
        self._above = above
        if above > KEPT_ROWS and native.unfinished() == b"":
            self._terminal.feed(_DROP_SCROLLBACK)
            self._above = self._rows_above()
        return found

    def forget_scrolled(self) -> None:
        """What scrolled off until now is not wanted."""
        if not self._terminal.alternate_active:
            self._above = self._rows_above()

    def screen(self) -> ProgramScreen:
        terminal = self._terminal
        self._grid = self._read_grid()
        cursor = terminal.cursor
        modes, shape = self._known_modes()
        return ProgramScreen(
            rows=self._grid,
            cols=self._cols,
            alternate=terminal.alternate_active,
            cursor_row=cursor.row,
            cursor_col=cursor.col,
            cursor_visible=cursor.visible,
            cursor_shape=0 if shape == _STEADY_BLOCK else shape,
            modes=modes,
        )

    def _known_modes(self) -> tuple[Modes, int]:
        """The modes, and the cursor's shape."""
        if self._modes is None:
            self._modes = self._terminal.modes(), self._terminal.native.cursor_shape()
        return self._modes

    def _read_grid(self) -> tuple[GridRow, ...]:
        """The screen; of one that was read before, only the rows that changed."""
        changed = self._terminal.take_changed()
        if changed is None or len(self._grid) != self._rows:
            return self._terminal.grid()
        if not changed:
            return self._grid
        rows = list(self._grid)
        for at, row in changed.items():
            rows[at] = row
        return tuple(rows)
