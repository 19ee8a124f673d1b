"""Painting: the bytes that turn one frame on a terminal into another.

Pure. Nothing a program printed passes through: text comes from cells, which hold
characters only, and every sequence is one of those written here.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from duetty.cli.attach.cells import BLANK, CONTROL, HALF, JOINER, Cell, CellRow, blank_row, others
from duetty.cli.attach.colours import nearest_16, nearest_256
from duetty.cli.attach.frame import Frame
from duetty.vt.cells import PLAIN, GridRow, Style
from duetty.vt.values import Colour, Indexed

BEGIN, END = b"\x1b[?2026h", b"\x1b[?2026l"
"""A synchronized update: terminals that know it show the frame at once, others ignore it."""

_SAFE_LINK = re.compile(r"(?:https?|file|mailto):[!-~]*\Z", re.IGNORECASE)
"""Links that may reach the terminal of a person: no scripts, nothing but visible ASCII."""

MAX_LINK_CHARS = 2000

_VIRAMA = 9
"""The combining class of marks that tie two consonants into one."""

_PREPENDED = (
    "\u0d4e\U000111c2\U000111c3\U0001193f\U00011941\U00011a3a"
    "\U00011a84\U00011a85\U00011a86\U00011a87\U00011a88\U00011a89\U00011d46\U00011f02"
)
"""Letters that belong to the one after them (Grapheme_Cluster_Break=Prepend)."""


class Depth(IntEnum):
    """How many colours a terminal knows."""

    MONO = 0
    ANSI = 16
    PALETTE = 256
    TRUE = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What the outer terminal can show."""

    depth: Depth = Depth.TRUE
    links: bool = True
    fancy_underlines: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Scroll:
    """Rows that left the top of the program's screen since the last frame, oldest first.

    They are scrolled out of the terminal's top `height` rows, into its own scrollback.
    """

    leaving: Sequence[CellRow]
    """The first of them, at most `height`: many stand on the terminal already."""

    passing: Sequence[GridRow] = ()
    """Those that came and went between two frames."""

    height: int


class Painter:
    """Knows what the terminal shows, and what it takes to show something else."""

    def __init__(self, abilities: Abilities) -> None:
        self._abilities = abilities
        self._shown: Frame | None = None

    @property
    def shown(self) -> Frame | None:
        return self._shown

    def forget(self) -> None:
        """Another program has drawn here: the next frame is painted whole."""
        self._shown = None

    def assume(self, frame: Frame | None) -> None:
        """The terminal is known to show this (another screen of it came back)."""
        self._shown = frame

    def paint(self, frame: Frame, scroll: Scroll | None = None) -> bytes:
        """The bytes to write; empty when nothing changes."""
        out: list[bytes] = []
        before = self._shown
        if before is None or (before.cols, len(before.rows)) != (frame.cols, len(frame.rows)):
            out.append(b"\x1b[m\x1b[H\x1b[2J")
            before = Frame(
                rows=(blank_row(frame.cols),) * len(frame.rows), cols=frame.cols, cursor_shape=-1
            )
        rows = list(before.rows)
        if scroll is not None and scroll.leaving:
            self._scroll(out, rows, scroll)
        out += [self._row(at, rows[at], frame.rows[at]) for at in others(rows, frame.rows)]
        out.append(self._cursor(before, frame, moved=any(out) or before.cursor_shape < 0))
        self._shown = frame
        painted = b"".join(out)
        return BEGIN + painted + END if painted else b""

    def _cursor(self, before: Frame, frame: Frame, *, moved: bool) -> bytes:
        sequence = b""
        place = (frame.cursor_row, frame.cursor_col)
        if moved or place != (before.cursor_row, before.cursor_col):
            sequence += _place(*place)
        if before.cursor_shape != frame.cursor_shape:
            sequence += b"\x1b[%d q" % frame.cursor_shape
        if before.cursor_visible != frame.cursor_visible or before.cursor_shape < 0:
            sequence += b"\x1b[?25h" if frame.cursor_visible else b"\x1b[?25l"
        return sequence

    def _scroll(self, out: list[bytes], rows: list[CellRow], scroll: Scroll) -> None:
        """Write what is about to leave where it leaves, then let the terminal scroll it away."""
        height, leaving, passing = scroll.height, scroll.leaving, scroll.passing
        is_partial = height < len(rows)
        out.append(b"\x1b[m")
        if is_partial:
            out.append(b"\x1b[1;%dr" % height)
        for at, row in enumerate(leaving):
            if rows[at] != row:
                out.append(self._row(at, rows[at], row))
        out.append(_place(height - 1, 0) + b"\n" * len(leaving))
        rows[:height] = [
            *rows[len(leaving) : height],
            *[blank_row(len(rows[0]))] * len(leaving),
        ]
        if passing:
            # The region is blank by now: print them from its top, one after the other.
            out.append(_place(0, 0))
            out += [printed(row, self._abilities) + b"\r\n" for row in passing]
            out.append(_place(height - 1, 0) + b"\n" * min(len(passing), height - 1))
        if is_partial:
            out.append(b"\x1b[r")

    def _row(self, at: int, old: CellRow, new: CellRow) -> bytes:
        """From the first column that differs to the last."""
        cols = len(new)
        differ = [col for col in others(old, new) if old[col] != new[col]]
        if not differ:
            return b""
        first, last = differ[0], differ[-1]
        if new[first] == HALF and first:
            first -= 1
        end = last + 1
        while end > first and new[end - 1] == BLANK:
            end -= 1
        erases = end <= last and new[last + 1 :] == blank_row(cols)[last + 1 :]
        if not erases:
            end = last + 1
        # A wide character is drawn by its first column.
        if end < cols and new[end] == HALF:
            end += 1
        while first and _may_join(new, first):
            first -= _width_before(new, first)
        drawn = self._runs(at, new, first, end)
        return drawn + (b"\x1b[K" if erases else b"")

    def _runs(self, at: int, row: CellRow, first: int, end: int) -> bytes:
        """Cells, ending with the cursor after the last of them.

        A character that could join the one before it is drawn while that place is empty,
        so from the last run to the first.
        """
        starts = [first, *_seams(row, first, end)]
        if len(starts) == 1:
            return _place(at, first) + self._cells(at, row, first, end)
        out = [_place(at, first) + b"\x1b[%dX" % (end - first)]
        stop = end
        for start in reversed(starts):
            out.append(_place(at, start) + self._cells(at, row, start, stop))
            stop = start
        if end < len(row):
            out.append(_place(at, end))
        return b"".join(out)

    def _cells(self, at: int, row: CellRow, first: int, end: int) -> bytes:
        """Cells in their styles; the pen is plain before and after."""
        out: list[bytes] = []
        text: list[str] = []
        pen: Style = PLAIN
        link: str | None = None
        for col in range(first, end):
            each = row[col]
            if each.text == "" and each == HALF:
                continue
            if each.style is not pen and each.style != pen:
                _flush(out, text)
                out.append(_pen(each.style, self._abilities))
                pen = each.style
            if each.link != link:
                _flush(out, text)
                out.append(_link(each.link, self._abilities))
                link = each.link
            if len(each.text) > 1 and col + _width(row, col) >= len(row) - 1:
                # Without wrapping a terminal takes a cursor in the last column for one that
                # stands on the character just drawn, or on the one before, by what was there.
                _flush(out, text)
                out.append(b"\x1b[?7h" + each.text.encode("utf-8", "replace") + b"\x1b[?7l")
                continue
            text.append(each.text)
            if _is_doubtful(each, row, col) and col + 1 < end:
                # Terminals disagree about the width of these; say where the next one goes.
                _flush(out, text)
                out.append(_place(at, col + _width(row, col)))
        _flush(out, text)
        if link is not None:
            out.append(_link(None, self._abilities))
        if pen is not PLAIN:
            out.append(b"\x1b[m")
        return b"".join(out)


def printed(row: GridRow, abilities: Abilities) -> bytes:
    """A row as it is printed at the cursor, without what is blank at its end."""
    out: list[bytes] = []
    last = len(row) - 1
    for at, (text, _, style, link, _) in enumerate(row):
        text = CONTROL.sub("\ufffd", text)
        if at == last and style is PLAIN and link is None:
            text = text.rstrip(" ")
        if at == last:
            text = text.rstrip(JOINER)  # else some terminals add the next row's first character
        encoded = text.encode("utf-8", "replace")
        if style is not PLAIN:
            encoded = _pen(style, abilities) + encoded + b"\x1b[m"
        if link is not None:
            encoded = _link(link, abilities) + encoded + _link(None, abilities)
        out.append(encoded)
    return b"".join(out)


def safe_title(title: str) -> bytes:
    """A program's title as an OSC 2 that can be nothing else."""
    clean = "".join(char for char in title if char.isprintable())[:200]
    return b"\x1b]2;" + clean.encode("utf-8", "replace") + b"\x1b\\"


def _pen(style: Style, abilities: Abilities) -> bytes:
    return _sgr(style, abilities.depth, abilities.fancy_underlines)


def _link(link: str | None, abilities: Abilities) -> bytes:
    if not abilities.links:
        return b""
    if link is None or len(link) > MAX_LINK_CHARS or not _SAFE_LINK.match(link):
        return b"\x1b]8;;\x1b\\"
    return b"\x1b]8;;" + link.encode() + b"\x1b\\"


def _flush(out: list[bytes], text: list[str]) -> None:
    if text:
        out.append("".join(text).encode("utf-8", "replace"))
        text.clear()


def _is_doubtful(each: Cell, row: CellRow, col: int) -> bool:
    return len(each.text) > 1 or (each.text > "\x7f" and _width(row, col) == 2)


def _seams(row: CellRow, first: int, end: int) -> list[int]:
    """The columns after the first whose character could join the one before it."""
    if "".join([each.text for each in row[first:end]]).isascii():
        return []
    return [col for col in range(first + 1, end) if _may_join(row, col)]


def _may_join(row: CellRow, col: int) -> bool:
    """Whether some terminal would add this character to the cell before it.

    Rather too often than too seldom: it costs a few bytes.
    """
    text = row[col].text
    if text < "\u0300" or not col:
        return False
    before = row[col - _width_before(row, col)].text
    return _joins(text[0]) or (not before.isascii() and _is_open(before, text[0]))


@lru_cache(maxsize=8192)
def _joins(char: str) -> bool:
    """A mark, or what is drawn as one, whatever stands before it."""
    return (
        char in "\u0e33\u0eb3\uff9e\uff9f"
        or "\u1160" <= char <= "\u11ff"
        or "\ud7b0" <= char <= "\ud7ff"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or unicodedata.category(char) in ("Mn", "Mc", "Me", "Cf", "Cn")
    )


@lru_cache(maxsize=8192)
def _is_open(before: str, char: str) -> bool:
    """Whether the text waits for a character such as this: half a flag, an emoji, a conjunct."""
    last = before[-1]
    return (
        "\u200d" in before
        or ("\U0001f1e6" <= last <= "\U0001f1ff" and "\U0001f1e6" <= char <= "\U0001f1ff")
        or "\u1100" <= last <= "\u115f"
        or "\ua960" <= last <= "\ua97c"
        or last in _PREPENDED
        or unicodedata.category(last) == "Cf"
        or any(unicodedata.combining(each) == _VIRAMA for each in before)
    )


def _width_before(row: CellRow, col: int) -> int:
    """How many columns the character before this column takes."""
    return 2 if col > 1 and row[col - 1] == HALF else 1


def _width(row: CellRow, col: int) -> int:
    return 2 if col + 1 < len(row) and row[col + 1] == HALF else 1


def _place(row: int, col: int) -> bytes:
    return b"\x1b[%d;%dH" % (row + 1, col + 1)


@lru_cache(maxsize=4096)
def _sgr(style: Style, depth: Depth, fancy: bool) -> bytes:
    codes = ["0"]
    flags = (
        ("1", style.bold),
        ("2", style.faint),
        ("3", style.italic),
        ("5", style.blink),
        ("7", style.inverse),
        ("8", style.invisible),
        ("9", style.strikethrough),
        ("53", style.overline),
    )
    codes += [code for code, is_set in flags if is_set]
    if style.underline:
        codes.append(f"4:{style.underline}" if fancy and style.underline > 1 else "4")
    if style.fg is not None:
        codes.append(_colour(style.fg, depth, 30))
    if style.bg is not None:
        codes.append(_colour(style.bg, depth, 40))
    if style.underline_colour is not None and fancy:
        codes.append(_underline_colour(style.underline_colour))
    return b"\x1b[" + ";".join(code for code in codes if code).encode() + b"m"


def _colour(colour: Colour, depth: Depth, base: int) -> str:
    if depth is Depth.MONO:
        return ""
    if isinstance(colour, Indexed):
        index = colour.index
    elif depth is Depth.TRUE:
        return f"{base + 8};2;{colour.r};{colour.g};{colour.b}"
    else:
        index = nearest_256(colour)
    if index >= 16 and depth is Depth.ANSI:
        index = nearest_16(index)
    if index < 8:
        return str(base + index)
    return str(base + 52 + index) if index < 16 else f"{base + 8};5;{index}"


def _underline_colour(colour: Colour) -> str:
    if isinstance(colour, Indexed):
        return f"58:5:{colour.index}"
    return f"58:2::{colour.r}:{colour.g}:{colour.b}"
