"""Rows of cells, as the outer terminal is to show them.

A cell is one column. The second column of a wide character is `HALF`, so a row has
exactly as many cells as the screen has columns and places can be compared one by one.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import compress, count
from operator import is_not
from typing import NamedTuple

from duetty.vt.cells import PLAIN, GridRow, Style

JOINER = "\u200d"
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Cell(NamedTuple):
    """What one column shows. `text` is one grapheme, or nothing for `HALF`."""

    text: str
    style: Style = PLAIN
    link: str | None = None


BLANK = Cell(" ")
HALF = Cell("")

CellRow = tuple[Cell, ...]


@lru_cache(maxsize=64)
def blank_row(cols: int) -> CellRow:
    return (BLANK,) * cols


@lru_cache(maxsize=8192)
def cell(text: str, style: Style = PLAIN, link: str | None = None) -> Cell:
    """Shared, so that comparing two rows is mostly comparing addresses.

    Never a control character, whatever an emulator would keep in a cell. Nor a joiner at its
    end: tmux adds the next character to it, wherever the cursor has gone in between.
    """
    if text[-1:] == JOINER:
        text = text.rstrip(JOINER) or " "
    return Cell(CONTROL.sub("\ufffd", text), style, link)


_PLAIN = {" ": BLANK, **{char: cell(char) for char in map(chr, range(0x21, 0x7F))}}
"""Most of every screen, and most of what a key changes."""


def others(old: Sequence[object], new: Sequence[object]) -> list[int]:
    """Where two rows, or two lists of rows, have not the very same thing.

    What did not change is mostly the same object, and only the rest has to be compared.
    """
    return list(compress(count(), map(is_not, old, new)))


def cells_of(row: GridRow) -> CellRow:
    """A row in pieces, column by column."""
    if len(row) == 1 and row[0].style is PLAIN and row[0].link is None and not row[0].is_whole:
        text = row[0].text
        if text.isascii() and text.isprintable():
            return tuple(map(_PLAIN.__getitem__, text))
        return tuple([cell(char) for char in text])
    cells: list[Cell] = []
    for text, cols, style, link, is_whole in row:
        if is_whole:
            cells.append(cell(text, style, link))
            cells += [HALF] * (cols - 1)
        else:
            cells += [cell(char, style, link) for char in text]
    return tuple(cells)
