"""A terminal's state as the bytes a program would have printed to reach it.

The emulator has a formatter of its own, which is used for scrollback and for
small state. The screen is written here: the formatter drops links, loses blank
rows at the end, and sets modes (origin, insert) before the text they would spoil.
"""

import re
from collections.abc import Sequence

from duetty.vt.cells import PLAIN, GridRow, Run, Style, runs
from duetty.vt.ghostty import Native
from duetty.vt.values import Colour, Cursor, Indexed

ENTER_ALTERNATE = b"\x1b[?1049h\x1b[H"

_FRESH_PEN = b'\x1b[m\x1b(B\x1b)B\x0f\x1b[0"q\x1b]8;;\x1b\\'
"""The alternate screen begins with the pen and character sets of the primary one."""

_ORIGIN, _WRAPAROUND, _GRAPHEMES, _MARGINS = 6, 7, 2027, 69
_LATER = frozenset({_ORIGIN, _WRAPAROUND})
_NEVER = frozenset(
    {
        3,  # clears the screen
        40,  # allows mode 3
        47,  # screens are switched explicitly
        1047,
        1048,
        1049,
        2026,  # would freeze a viewer until the program's frame ends
    }
)
_MODE = re.compile(rb"\x1b\[(\??)(\d+)([hl])")
_REGION = re.compile(rb"\x1b\[(\d+);(\d+)([rs])")

_BLOCK = 2
"""The cursor of a fresh terminal: steady."""


def terminal_dump(native: Native, *, scrollback_rows: int) -> bytes:
    """The active screen with everything else, to the unfinished sequence."""
    title, cwd = native.string("title").encode(), native.string("cwd").encode()
    announced = [b"\x1b]2;" + title + b"\x1b\\"] if title else []
    if cwd:
        announced.append(b"\x1b]7;" + cwd + b"\x1b\\")
    return b"".join(
        [
            *announced,
            screen_dump(native, scrollback_rows=scrollback_rows),
            native.unfinished() or b"",
        ]
    )


def screen_dump(native: Native, *, scrollback_rows: int) -> bytes:
    """The active screen: its rows, then its modes, then the cursor, then the pen."""
    parts = [_FRESH_PEN]
    if native.mode(_GRAPHEMES):
        parts.append(b"\x1b[?2027h")
    parts.append(_scrollback(native, scrollback_rows))
    grid = _grid(native)
    parts.extend(_rows(grid))
    parts.append(native.state_sequences("tabstops"))
    now, later = _modes(native)
    region = native.state_sequences("scrolling_region")
    parts += [now, region, _cursor(native, grid, region)]
    parts.append(
        native.state_sequences(
            "keyboard", "style", "hyperlink", "protection", "kitty_keyboard", "charsets"
        )
    )
    shape = native.cursor_shape()
    parts += [later, b"" if shape == _BLOCK else b"\x1b[%d q" % shape]
    return b"".join(parts)


def grid_dump(rows: Sequence[GridRow], cursor: Cursor) -> bytes:
    """Bytes that draw these rows, each in its place, on a fresh terminal of their size."""
    parts = [b"\x1b[m\x1b[H\x1b[2J"]
    for at, row in enumerate(rows, start=1):
        found = [Run(piece.text, piece.style, piece.link) for piece in row]
        parts.append(b"\x1b[%d;1H" % at + _printed(_trimmed(found)))
    shown = b"\x1b[?25h" if cursor.visible else b"\x1b[?25l"
    return b"".join([*parts, b"\x1b[%d;%dH" % (cursor.row + 1, cursor.col + 1), shown])


def _scrollback(native: Native, most: int) -> bytes:
    """Rows above the screen, each ended, blank ones included."""
    above = native.number("total_rows") - native.number("rows")
    count = min(above, most)
    if count <= 0:
        return b""
    text = native.formatted("vt", first=above - count, count=count, trim=False)
    # The formatter may leave the program's own link or style open.
    return text + _FRESH_PEN + b"\r\n" * (count - text.count(b"\r\n"))


_Grid = list[tuple[list[Run], bool]]
"""The rows of the screen: their runs, and whether each goes on in the next."""


def _grid(native: Native) -> _Grid:
    rows = native.number("rows")
    first = native.number("total_rows") - rows
    return [(runs(row), row.is_wrapped) for row in native.rows(first=first, count=rows)]


def _rows(grid: _Grid) -> list[bytes]:
    parts: list[bytes] = []
    goes_on = False
    for at, (row, is_wrapped) in enumerate(grid):
        is_last = at + 1 == len(grid)
        was_wrapped = goes_on
        # A wrap is printed by filling the row and going on. What goes on must not
        # be blank, or the terminal would stay in the row above.
        goes_on = is_wrapped and not is_last and bool(_trimmed(grid[at + 1][0]))
        if goes_on:
            parts.append(_printed(row))
            continue
        text = _trimmed(row)
        # A wrap that scrolls gives the new row the background of what went on in it.
        erased = b"\x1b[K" if was_wrapped and text != row else b""
        parts.append(_printed(text) + erased + (b"" if is_last else b"\r\n"))
    return parts


def _trimmed(row: list[Run]) -> list[Run]:
    *before, last = row
    if last.style is not PLAIN or last.link is not None:
        return row
    text = last.text.rstrip(" ")
    return [*before, Run(text, PLAIN, None)] if text else before


def _printed(row: list[Run]) -> bytes:
    return b"".join(_printed_run(run) for run in row)


def _printed_run(run: Run) -> bytes:
    printed = run.text.encode()
    if run.style is not PLAIN:
        printed = b"\x1b[" + _sgr(run.style).encode() + b"m" + printed + b"\x1b[m"
    if run.link is not None:
        printed = b"\x1b]8;;" + run.link.encode() + b"\x1b\\" + printed + b"\x1b]8;;\x1b\\"
    return printed


def _sgr(style: Style) -> str:
    flags = {
        "1": style.bold,
        "2": style.faint,
        "3": style.italic,
        "5": style.blink,
        "7": style.inverse,
        "8": style.invisible,
        "9": style.strikethrough,
        "53": style.overline,
        f"4:{style.underline}": style.underline,
    }
    codes = [code for code, is_set in flags.items() if is_set]
    colours = {"38": style.fg, "48": style.bg, "58": style.underline_colour}
    codes += [_colour(code, colour) for code, colour in colours.items() if colour is not None]
    return ";".join(codes)


def _colour(code: str, colour: Colour) -> str:
    match colour:
        case Indexed(index):
            return f"{code};5;{index}"
        case _:
            return f"{code};2;{colour.r};{colour.g};{colour.b}"


def _modes(native: Native) -> tuple[bytes, bytes]:
    """Modes that differ from a fresh terminal: those to set before the cursor, and after."""
    now: list[bytes] = []
    later: list[bytes] = []
    for found in _MODE.finditer(native.state_sequences("modes")):
        private, number = bool(found[1]), int(found[2])
        if private and number in _NEVER:
            continue
        if private and number == _ORIGIN:
            continue
        (now if private and number not in _LATER else later).append(found[0])
    return b"".join(now), b"".join(later)


def _cursor(native: Native, grid: _Grid, region: bytes) -> bytes:
    """Where the cursor is, and whether the next character wraps."""
    cursor = native.cursor()
    top = left = 0
    prefix = b""
    if native.mode(_ORIGIN):
        prefix = b"\x1b[?6h"
        for first, _, kind in _REGION.findall(region):
            if kind == b"r":
                top = int(first) - 1
            else:
                left = int(first) - 1
    place = b"%s\x1b[%d;%dH" % (prefix, cursor.row - top + 1, cursor.col - left + 1)
    if not native.flag("pending_wrap") or native.mode(_MARGINS):
        return place
    # Only printing in the last column brings that state about: print the row again.
    row = b"%s\x1b[%d;1H" % (prefix, cursor.row - top + 1)
    return row + _printed(grid[cursor.row][0])
