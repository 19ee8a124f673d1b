"""Text of agents as cells. Nothing that could command a terminal comes out of here."""

import re
from itertools import repeat

from duetty.vt import MAX_SIZE, Terminal

TAB_COLS = 8

CODE_POINTS = 8
"""Code points per column that are looked at: a family with skin tones has seven in two."""

Cells = list[tuple[str, int]]
"""Characters, each with its columns (1 or 2)."""

_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    "|(?:\x1b[\\]P_^X]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)"  # OSC, DCS, …
)
"""Whole sequences: colours that were meant for a terminal. Gone, they leave the text behind."""

_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Controls, marks that turn the direction of text around, and halves of characters."""

_NARROW = " -~\xa1-\xac\xae-\u02ff\u0391-\u03c9\u0410-\u044f\u2013-\u2026\u2190-\u2199\u2500-\u25a0"
_WIDE = "\u3041-\u3096\u30a1-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60"
_SIMPLE = re.compile(f"[{_NARROW}]*")
_SIMPLE_WIDE = re.compile(f"[{_NARROW}{_WIDE}]*")
"""One and two columns in every terminal: no need to ask the emulator, which costs 0.1 ms."""

_FIRST_WIDE = "\u3000"


def shown(text: str) -> str:
    """The text without what must not reach a terminal; only tabs and line ends are left to place."""
    if text.isascii() and text.isprintable():
        return text
    text = _SEQUENCE.sub("", text.replace("\r\n", "\n"))
    return _UNSHOWN.sub("\ufffd", text)


class Ruler:
    """Knows how many columns characters take, as the emulator sees it. For one use: `close` it.

    Looks at no more than `cols` columns of a line, whatever is given.
    """

    def __init__(self, cols: int) -> None:
        # Two more, so that the last character asked for is never the one that would not fit.
        self._cols = min(max(cols, 1) + 2, MAX_SIZE)
        self._terminal: Terminal | None = None

    def cells(self, line: str, *, at: int = 0) -> Cells:
        """One line of shown text as cells; `at` is the column where it begins, for tabs."""
        line = line[: self._cols * CODE_POINTS]
        if "\t" not in line:
            return self._measured(line)
        cells: Cells = []
        col = at
        for number, part in enumerate(line.split("\t")):
            if col - at > self._cols:
                break
            if number:
                blank = TAB_COLS - col % TAB_COLS
                cells += repeat((" ", 1), blank)
                col += blank
            measured = self._measured(part)
            cells += measured
            col += sum(cols for _, cols in measured)
        return cells

    def close(self) -> None:
        if self._terminal is not None:
            self._terminal.close()

    def _measured(self, text: str) -> Cells:
        if _SIMPLE.fullmatch(text):
            return [(character, 1) for character in text[: self._cols]]
        if _SIMPLE_WIDE.fullmatch(text):
            return [(each, 2 if each >= _FIRST_WIDE else 1) for each in text[: self._cols]]
        if self._terminal is None:
            self._terminal = Terminal(cols=self._cols, rows=1, scrollback_rows=0)
        # Reset; clusters of code points are one character; the row's end does not wrap.
        self._terminal.feed(b"\x1bc\x1b[?2027h\x1b[?7l" + text.encode())
        end = self._terminal.cursor.col
        cells: Cells = []
        col = 0
        for piece in self._terminal.grid()[0]:
            if col >= end:
                break
            if piece.is_whole:
                cells.append((piece.text, piece.cols))
            else:
                cells += [(character, 1) for character in piece.text[: end - col]]
            col += piece.cols
        return cells
