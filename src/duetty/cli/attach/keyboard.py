r"""What a person types, on its way to the session.

Pure: bytes of the outer terminal in, pieces out. Bytes pass as they are, but for
Ctrl+\ in every encoding of it, mouse reports (moved to the program's place and its
own format), and answers of the outer terminal to our questions, which are ours.
"""

import re
from dataclasses import dataclass

from duetty.vt.values import MouseFormat, MouseTracking

TOGGLE = b"\x1c"
DETACH_S = 0.5
r"""Two Ctrl+\ within this time detach."""

_PASTE_BEGIN, _PASTE_END = b"\x1b[200~", b"\x1b[201~"

_SPECIAL = re.compile(
    rb"(?P<paste>\x1b\[200~)"
    rb"|(?P<mouse>\x1b\[<(\d{1,4});(\d{1,5});(\d{1,5})([Mm]))"
    rb"|(?P<answer>\x1b\[\?[\d;:]*(?:[uc]|\$y))"
    rb"|(?P<toggle>\x1c|\x1b\[92(?::\d*)*;5(?::1)?(?:;[\d:]*)?u|\x1b\[27;5;92~)"
    rb"|(?P<swallow>\x1b\[92(?::\d*)*;5:[23](?:;[\d:]*)?u)"
)
_UNFINISHED = re.compile(rb"\x1b\[[<?][\d;:$]*\Z")
"""The start of what can only become a mouse report or an answer, at the end of what was read."""

_UNFINISHED_ANSWER = re.compile(rb"\x1b(?:\[(?:[<?][\d;:$]*)?)?\Z")
"""The same while an answer is due: then even a lone ESC may be its beginning."""

_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[@-~])")
"""A key that is no character, or a report: these may well come along with a Ctrl+\\."""

_KITTY_ANSWER = re.compile(rb"\x1b\[\?(\d+)u\Z")
_PIXELS_PER_COL, _PIXELS_PER_ROW = 8, 16
"""What the server tells programs that a cell measures."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Bytes for the session."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Toggled:
    r"""Ctrl+\: take the keyboard from the program or give it back."""

    is_alone: bool = True
    """No text came with it. Keys of a person come one by one; with text around it was pasted."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The outer terminal answered a query."""

    has_kitty: bool
    is_last: bool


Piece = Typed | Toggled | Answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the program's screen is on the outer terminal, for the mouse."""

    row: int = 0
    """The outer row of the program's first row; negative when that is out of sight."""
    col: int = 0
    rows: int = 0
    cols: int = 0
    tracking: MouseTracking = MouseTracking.NONE
    format: MouseFormat = MouseFormat.X10


class Keyboard:
    """Cuts what was read into pieces. Knows paste: nothing in one is a key."""

    def __init__(self) -> None:
        self._held = b""
        self._in_paste = False
        self.place = Place()
        self.awaits_answer = False

    @property
    def is_holding(self) -> bool:
        """Something may be the start of a report: ask `release` soon if nothing follows."""
        return bool(self._held)

    def feed(self, data: bytes) -> list[Piece]:
        data, self._held = self._held + data, b""
        pieces: list[Piece] = []
        while data:
            if self._in_paste:
                data = self._paste(data, pieces)
                continue
            found = _SPECIAL.search(data)
            if found is None:
                self._plain(data, pieces)
                break
            _append(pieces, data[: found.start()])
            self._special(found, pieces)
            data = data[found.end() :]
        return _as_pasted(pieces) if len(pieces) > 1 else pieces

    def release(self) -> list[Piece]:
        """Nothing followed: it was a key."""
        held, self._held = self._held, b""
        return [Typed(held)] if held else []

    def _plain(self, data: bytes, pieces: list[Piece]) -> None:
        unfinished = (_UNFINISHED_ANSWER if self.awaits_answer else _UNFINISHED).search(data)
        if unfinished is not None:
            self._held = unfinished[0]
            data = data[: unfinished.start()]
        _append(pieces, data)

    def _paste(self, data: bytes, pieces: list[Piece]) -> bytes:
        end = data.find(_PASTE_END)
        if end >= 0:
            end += len(_PASTE_END)
            self._in_paste = False
            _append(pieces, data[:end])
            return data[end:]
        # The end may be cut: its beginning waits for the rest.
        keep = next((size for size in range(5, 0, -1) if data.endswith(_PASTE_END[:size])), 0)
        self._held = data[len(data) - keep :] if keep else b""
        _append(pieces, data[: len(data) - keep])
        return b""

    def _special(self, found: re.Match[bytes], pieces: list[Piece]) -> None:
        match found.lastgroup:
            case "paste":
                self._in_paste = True
                _append(pieces, found[0])
            case "mouse":
                _append(pieces, self._mouse(found))
            case "answer":
                kitty = _KITTY_ANSWER.match(found[0])
                pieces.append(
                    Answered(has_kitty=kitty is not None, is_last=found[0].endswith(b"c"))
                )
            case "toggle":
                pieces.append(Toggled())
            case _:
                pass  # the release or repeat of a Ctrl+\

    def _mouse(self, found: re.Match[bytes]) -> bytes:
        """The report as the program wants it; nothing outside its screen."""
        place = self.place
        button, col, row = int(found[3]), int(found[4]) - 1, int(found[5]) - 1
        col, row = col - place.col, row - place.row
        is_release = found[6] == b"m"
        if place.tracking is MouseTracking.NONE or not (
            0 <= row < place.rows and 0 <= col < place.cols
        ):
            return b""
        if place.tracking is MouseTracking.PRESS:
            # X10 tracking: presses of the three buttons, without modifiers.
            if is_release or button & 3 == 3 or button & 0b1110_0000:
                return b""
            button &= 3
        return _mouse_report(place.format, button, row=row, col=col, is_release=is_release)


def _mouse_report(
    format_: MouseFormat, button: int, *, row: int, col: int, is_release: bool
) -> bytes:
    end = b"m" if is_release else b"M"
    if format_ is MouseFormat.SGR:
        return b"\x1b[<%d;%d;%d" % (button, col + 1, row + 1) + end
    if format_ is MouseFormat.SGR_PIXELS:
        x = col * _PIXELS_PER_COL + _PIXELS_PER_COL // 2
        y = row * _PIXELS_PER_ROW + _PIXELS_PER_ROW // 2
        return b"\x1b[<%d;%d;%d" % (button, x, y) + end
    if is_release:
        button = button & ~3 | 3
    if format_ is MouseFormat.URXVT:
        return b"\x1b[%d;%d;%dM" % (button + 32, col + 1, row + 1)
    if format_ is MouseFormat.UTF8 and max(col, row) < 2015:
        return b"\x1b[M" + "".join(chr(part + 32) for part in (button, col + 1, row + 1)).encode()
    if max(col, row) >= 223:
        return b""  # the old format has no way to say this
    return b"\x1b[M" + bytes((button + 32, col + 33, row + 33))


def _as_pasted(pieces: list[Piece]) -> list[Piece]:
    r"""The same, with every Ctrl+\ that came along with text as a piece of its own."""
    if not any(isinstance(each, Typed) and _SEQUENCE.sub(b"", each.data) for each in pieces):
        return pieces
    return [Toggled(is_alone=False) if isinstance(each, Toggled) else each for each in pieces]


def _append(pieces: list[Piece], data: bytes) -> None:
    if not data:
        return
    last = pieces[-1] if pieces else None
    if isinstance(last, Typed):
        pieces[-1] = Typed(last.data + data)
    else:
        pieces.append(Typed(data))
