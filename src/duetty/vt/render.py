"""A command's output as lines of text, in bounded memory.

The bytes go through a scratch terminal a slice at a time. Rows that scrolled
off are final: they are read and forgotten; the rest stays, for carriage returns
and cursor movements still to come. So a progress bar is its last state, and a
soft-wrapped line is one line.

Decided: what a full-screen program drew on the alternate screen is no output.
Clearing the screen (CSI 2 J, CSI 3 J, ESC c) keeps what was printed before it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

from duetty.vt.terminal import Terminal

SCRATCH_ROWS = 64
"""How far up a program can go to draw again."""

MAX_LINE_CHARACTERS = 1024 * 1024
"""A longer line goes on in the next one, so that no output can fill our memory."""

_SLICE_BYTES = 32_768
_SCRATCH_BYTES = 24 * 1024 * 1024
"""A slice of nothing but line ends makes a row of each byte: it is sized to fit in here."""

_CLEARS = (
    (b"\x1b[2J", b"\x1b[22J"),  # scroll the screen away instead of erasing it
    (b"\x1b[3J", b""),
    (b"\x1bc", b"\x1b[22J\x1b[m\x1b[r\x1b[H"),
)
_STARTS = tuple(sequence[:size] for sequence, _ in _CLEARS[:2] for size in (3, 2, 1))

_LEAVE_ALTERNATE = b"\x18\x1b[?1049l\x1b[?1047l\x1b[?47l"


def render_text(chunks: Iterable[bytes], *, cols: int) -> Iterator[str]:
    """The lines that `chunks` print on a terminal `cols` wide, without their line ends.

    Blank lines at the end are dropped; a last line without a line end is kept.
    """
    slice_bytes = max(1024, min(_SLICE_BYTES, _SCRATCH_BYTES // (8 * cols)))
    terminal = Terminal(cols=cols, rows=SCRATCH_ROWS, scrollback_rows=slice_bytes + SCRATCH_ROWS)
    terminal.silent = True
    lines = _Lines()
    try:
        for part in _slices(chunks, slice_bytes):
            terminal.feed(part)
            yield from _drained(terminal, lines)
        if terminal.alternate_active:
            terminal.feed(_LEAVE_ALTERNATE)
            yield from _drained(terminal, lines)
        yield from lines.take(terminal.text(join_wraps=True), is_open=False)
    finally:
        terminal.close()


_PLAIN = re.compile(rb"[\x20-\x7e\t\n]*")

_UNSEEN = re.compile(
    rb"\x1b(?:"
    rb"\[(?:[0-9;:]*m|0?K|[<=>?][0-9;:]*[mu]|\?(?:1|12|25|1000|1002|1003|1004|1006|2004|2026|2031)[hl])"
    rb"|\](?!133;)[^\x07\x1b]*(?:\x07|\x1b\\)"
    rb"|[()]B|[=>])"
    rb"|[\x07\x0f]"
)
"""Looks, links, titles, bells and modes: what leaves the cursor and every character where they are.

Erasing to the end of a line belongs to it: a program that only writes forward has nothing there yet.
A prompt's mark does not: it begins a line if there is not one already.
"""

_PROBE_BYTES = 65_536
_MOVES = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_OLD_CONTROLS = re.compile("[\x80-\x9f]")
_LINE_END = re.compile(rb"\r+\n")
_LINE_START = re.compile(rb"(?:(?<=\n)|\A)\r+")


def forward_text(data: bytes) -> str | None:
    """The text of bytes that only ever write forward; None if some move the cursor otherwise.

    Exact where a terminal is not: tabs and blanks at the end of a line are what was printed.
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if _PLAIN.fullmatch(data):
        return data.decode("ascii")
    if len(data) > _PROBE_BYTES:
        # A program that draws mostly does so from the beginning: skip the rest.
        probe = data[: data.rfind(b"\n", 0, _PROBE_BYTES) + 1]
        if forward_text(probe) is None:
            return None
    data = _UNSEEN.sub(b"", data)
    if b"\r" in data:
        data = _LINE_START.sub(b"", _LINE_END.sub(b"\n", data))
    if _MOVES.search(data):
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if _OLD_CONTROLS.search(text) else text


class _Lines:
    """Joins what was drained in pieces; holds blank lines back until text follows."""

    def __init__(self) -> None:
        self._open = ""
        self._blanks = 0

    def take(self, text: str, *, is_open: bool) -> Iterator[str]:
        """The lines finished by `text`, whose last one goes on if `is_open`."""
        lines = (self._open + text).split("\n")
        self._open = ""
        if is_open:
            *full, self._open = _cut(lines.pop())
            lines += full
        for line in lines:
            line = line.rstrip()
            if not line:
                self._blanks += 1
                continue
            if self._blanks:
                yield from repeat("", self._blanks)
                self._blanks = 0
            yield from _cut(line)


def _cut(line: str) -> Sequence[str]:
    """The line in pieces that are short enough."""
    if len(line) <= MAX_LINE_CHARACTERS:
        return (line,)
    return [
        line[start : start + MAX_LINE_CHARACTERS]
        for start in range(0, len(line), MAX_LINE_CHARACTERS)
    ]


def _drained(terminal: Terminal, lines: _Lines) -> Iterator[str]:
    """The lines that end above the screen, whose rows are forgotten."""
    native = terminal.native
    count = native.number("total_rows") - SCRATCH_ROWS
    if terminal.alternate_active or count <= 0:
        return
    text = _plain(terminal, count, unwrap=True)
    if not native.formatted("plain", first=count - 1, count=1, trim=False):
        # Blank rows at the end are lost in formatting; unwrapped, their number is not known.
        text += "\n" * (count - 1 - _plain(terminal, count, unwrap=False).count("\n"))
    is_open = native.is_wrapped(count - 1)
    native.erase_scrollback()
    yield from lines.take(text, is_open=is_open)


def _plain(terminal: Terminal, count: int, *, unwrap: bool) -> str:
    raw = terminal.native.formatted("plain", first=0, count=count, unwrap=unwrap, trim=False)
    return raw.decode("utf-8", "replace")


def _slices(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in small pieces, with clears replaced; no clear is cut in two."""
    held = b""
    for chunk in chunks:
        for start in range(0, len(chunk), size):
            part = held + chunk[start : start + size]
            held = next((ending for ending in _STARTS if part.endswith(ending)), b"")
            if held:
                part = part[: -len(held)]
            for sequence, kept in _CLEARS:
                part = part.replace(sequence, kept)
            yield part
    yield held
