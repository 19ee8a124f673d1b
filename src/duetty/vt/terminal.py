"""The terminal: bytes in, changes out; screens, scrollback and whole states on demand.

Pure: it answers, and never acts. Knows nothing of processes, sessions or time.
"""

import re
import struct
from collections.abc import Callable
from contextlib import closing
from urllib.parse import unquote, urlsplit
from zlib import crc32

from duetty.vt import dump
from duetty.vt.cells import GridRow, pieces, spans
from duetty.vt.ghostty import Native, Readable
from duetty.vt.to_html import html_of
from duetty.vt.values import (
    NOTHING,
    Changes,
    Cursor,
    Line,
    Modes,
    MouseFormat,
    MouseTracking,
    Screen,
    Scrollback,
)

MAX_SIZE = 4096
"""The most columns, and the most rows, of a terminal.

Callers clamp to what people use. This is where memory would begin to hurt:
a full screen of this size takes 134 MB.
"""

_MAGIC = b"duetty-vt\x01"
"""What a snapshot begins with; the last byte is its version."""

_SNAPSHOT = struct.Struct("<10sI")
"""Magic and checksum of all that follows: the emulator crashes on a damaged state."""

_STATE = struct.Struct("<IQI")
"""Scrollback rows, epoch, length of the bytes to feed; then those, then the emulator's state."""

_JOINING = re.compile(
    rb"[\xcc\xcd\xd2\xd6-\xe1\xea-\xed\xf0\xf3]|\xe2[\x80\x83\xb3\xb5\xb7]|\xe3[\x80\x82]"
    rb"|\xef[\xb8\xbe]|\A[\x80-\xbf]"
)
"""Characters that may join the one before them, or the rest of one.

Unless it counts in clusters (mode 2027), the emulator does not count a row as changed
when a mark is added to a cell of it.
"""

_MOVING = re.compile(rb"[\x1b\n\x0b\x0c]")
"""What may bring the cursor to another row without printing anything there."""


class Terminal:
    """One emulator. Use it from one thread at a time; after `close` not at all.

    Raises:
        ValueError: if a size is not within 1 to `MAX_SIZE`, or `scrollback_rows` is negative.
    """

    __slots__ = (
        "_alternate",
        "_epoch",
        "_joined",
        "_native",
        "_scrollback_rows",
        "_styled",
    )

    def __init__(self, *, cols: int, rows: int, scrollback_rows: int = 10_000) -> None:
        _check_size(cols=cols, rows=rows)
        if scrollback_rows < 0:
            raise ValueError("scrollback_rows is negative")
        self._native = Native.open(cols=cols, rows=rows, scrollback_rows=scrollback_rows)
        self._scrollback_rows = scrollback_rows
        self._alternate = False
        self._epoch = 0
        self._joined: set[int] | None = None
        """Rows that changed without the emulator's saying so; None while no caller asks."""
        self._styled: Screen | None = None

    @classmethod
    def restore(
        cls, snapshot: bytes, *, between_rows: Callable[[], None] | None = None
    ) -> "Terminal":
        """The terminal as it was when `snapshot` was taken, ready for the next byte.

        `between_rows` is called after each row of it that is read.

        Raises:
            ValueError: if the bytes are no snapshot, a damaged one, or one of another version.
        """
        if len(snapshot) < _SNAPSHOT.size + _STATE.size:
            raise ValueError("not a snapshot of a terminal")
        magic, checksum = _SNAPSHOT.unpack_from(snapshot)
        if magic != _MAGIC:
            raise ValueError("not a snapshot of a terminal, or one of another version")
        if checksum != crc32(memoryview(snapshot)[_SNAPSHOT.size :]):
            raise ValueError("a damaged snapshot of a terminal")
        scrollback_rows, epoch, length = _STATE.unpack_from(snapshot, _SNAPSHOT.size)
        unfinished_at = _SNAPSHOT.size + _STATE.size
        state_at = unfinished_at + length
        terminal = cls.__new__(cls)
        terminal._native = Native.decode(
            snapshot[state_at:], scrollback_rows=scrollback_rows, between_rows=between_rows
        )
        if length:
            terminal._native.write(snapshot[unfinished_at:state_at])
        terminal._scrollback_rows = scrollback_rows
        terminal._alternate = terminal._native.alternate_active()
        terminal._epoch = epoch
        terminal._joined = None
        terminal._styled = None
        return terminal

    def close(self) -> None:
        """Free the emulator's memory now, not when the last reference goes. Twice is once."""
        self._native.close()

    # --- bytes in -------------------------------------------------------------

    @property
    def silent(self) -> bool:
        """While true, nothing that is fed is answered: set it for a replay."""
        return self._native.notes.silent

    @silent.setter
    def silent(self, silent: bool) -> None:
        self._native.notes.silent = silent

    def feed(self, data: Readable, *, unanswered: int = 0) -> Changes:
        """Take what the program printed, cut anywhere. The buffer is not kept, nor copied.

        What is asked in its first `unanswered` bytes is not answered.
        """
        if not data:
            return NOTHING
        if unanswered:
            self._write(data[:unanswered])
            self._native.notes.replies.clear()
            data = data[unanswered:]
        alternate = self._write(data)
        self._epoch += 1
        if alternate == self._alternate and not self._native.notes.touched:
            return NOTHING
        return self._changes(alternate)

    def _write(self, data: Readable) -> bool:
        if self._joined is None or bytes(data).isascii():
            return self._native.write(data)
        return self._write_watched(bytes(data), self._joined)

    def _write_watched(self, data: bytes, joined: set[int]) -> bool:
        """Write, and note the rows where a character may have joined another."""
        if not _JOINING.search(data):
            return self._native.write(data)
        before = self._native.cursor().row
        alternate = self._native.write(data)
        if _MOVING.search(data):
            joined.update(range(self.rows))
        else:
            joined.update((before, self._native.cursor().row))
        return alternate

    def resize(self, *, cols: int, rows: int) -> Changes:
        """Change the size; rows of the primary screen are wrapped anew.

        The reply, if any, is the report that the program asked for (mode 2048).

        Raises:
            ValueError: if a size is not within 1 to `MAX_SIZE`.
        """
        _check_size(cols=cols, rows=rows)
        self._native.resize(cols=cols, rows=rows)
        self._epoch += 1
        return self._changes(self._alternate)

    def _changes(self, alternate: bool) -> Changes:
        notes = self._native.notes
        changes = Changes(
            replies=b"".join(notes.replies),
            bells=notes.bells,
            title_changed=notes.title_changed,
            cwd_changed=notes.cwd_changed,
            alternate_changed=alternate != self._alternate,
        )
        notes.reset()
        self._alternate = alternate
        return changes

    # --- facts ----------------------------------------------------------------

    @property
    def native(self) -> Native:
        """For the encoders of this package."""
        return self._native

    @property
    def epoch(self) -> int:
        """Grows whenever bytes or a new size may have changed the contents."""
        return self._epoch

    @property
    def cols(self) -> int:
        return self._native.number("cols")

    @property
    def rows(self) -> int:
        return self._native.number("rows")

    @property
    def scrollback_rows(self) -> int:
        """How many rows above the screen are kept at most."""
        return self._scrollback_rows

    @property
    def total_rows(self) -> int:
        """Rows of scrollback and screen together; in the alternate screen, of that screen."""
        return min(self._native.number("total_rows"), self._scrollback_rows + self.rows)

    @property
    def alternate_active(self) -> bool:
        return self._alternate

    @property
    def cursor(self) -> Cursor:
        return self._native.cursor()

    @property
    def title(self) -> str:
        return self._native.string("title")

    @property
    def cwd(self) -> str | None:
        """The directory the program announced (OSC 7), on whichever machine it runs."""
        return _path(self._native.string("cwd"))

    def modes(self) -> Modes:
        mode = self._native.mode
        return Modes(
            application_cursor=mode(1),
            application_keypad=mode(66),
            bracketed_paste=mode(2004),
            focus_reporting=mode(1004),
            mouse_tracking=next(
                (kind for kind in _MOUSE_TRACKING if mode(kind.value)), MouseTracking.NONE
            ),
            mouse_format=next(
                (kind for kind in _MOUSE_FORMATS if mode(kind.value)), MouseFormat.X10
            ),
            alternate_scroll=mode(1007),
            kitty_keyboard=self._native.number("kitty_keyboard"),
            cursor_visible=mode(25),
            wraparound=mode(7),
            insert=mode(4, ansi=True),
            origin=mode(6),
            reverse_video=mode(5),
            synchronized_output=mode(2026),
            grapheme_clusters=mode(2027),
            in_band_resize=mode(2048),
        )

    def take_dirty(self) -> frozenset[int]:
        """Rows of the screen that changed since the last take; all of them the first time.

        The first take makes the copy of the screen that later ones compare with,
        about 120 KB: ask only where someone looks.
        """
        dirty = self._native.dirty_rows()
        if self._joined:
            dirty |= {row for row in self._joined if row < self.rows}
        self._joined = set()
        return dirty

    def take_changed(self) -> dict[int, GridRow] | None:
        """As `take_dirty`, with the rows as they are now; None: read the whole grid."""
        joined, changed = self._joined, self._native.changed_rows(pieces)
        if joined or changed is None:
            self.take_dirty()
            return None
        return changed

    # --- contents -------------------------------------------------------------

    def styled_screen(self, *, max_spans: int) -> Screen | None:
        """The grid now with its styles; None where that is more spans, of which no more are read."""
        left = max_spans
        lines: list[Line] = []
        kept = self._native.number("total_rows")
        with closing(self._native.rows(first=kept - self.rows, count=self.rows)) as rows:
            for row in rows:
                lines.append(spans(row))
                left -= len(lines[-1])
                if left < 0:
                    return None
        return self._screen_of(tuple(lines))

    def screen(self, *, styled: bool) -> Screen:
        """The grid now. A styled one is kept until the next `feed`: those who poll ask again."""
        if not styled:
            return self._read_screen(styled=False)
        if self._styled is None or self._styled.epoch != self._epoch:
            self._styled = self._read_screen(styled=True)
        return self._styled

    def _read_screen(self, *, styled: bool) -> Screen:
        first = self._native.number("total_rows") - self.rows
        return self._screen_of(self._lines_at(first, self.rows, styled=styled))

    def _screen_of(self, lines: tuple[Line, ...]) -> Screen:
        rows = self.rows
        total = min(self._native.number("total_rows"), self._scrollback_rows + rows)
        return Screen(
            lines=lines,
            cursor=self.cursor,
            cols=self.cols,
            rows=rows,
            first_line_index=total - rows,
            total_lines=total,
            alternate_active=self._alternate,
            epoch=self._epoch,
        )

    def grid(
        self, *, before: tuple[GridRow, ...] = (), changed: frozenset[int] | None = None
    ) -> tuple[GridRow, ...]:
        """The screen in pieces, every row to its last column: what surfaces are composed from.

        With what was read before, only the rows that `changed` since are read anew.
        """
        rows, total = self.rows, self._native.number("total_rows")
        if changed is None or len(before) != rows:
            before = ()
        wanted = changed if before and changed is not None else range(rows)
        return tuple(
            pieces(row) if at in wanted else before[at]
            for at, row in enumerate(self._native.rows(first=total - rows, count=rows))
        )

    def scrollback(self, *, offset: int, limit: int, styled: bool) -> Scrollback:
        """Scrollback and screen as one sequence.

        `offset` counts from the oldest row; a negative one from the end, so that
        -100 begins at the hundredth row from the last. Past the end there is nothing.
        """
        total = self.total_rows
        first = offset if offset >= 0 else max(0, total + offset)
        count = max(0, min(limit, total - first))
        return Scrollback(
            lines=self._lines(first, count, styled=styled) if count else (),
            offset=first,
            total_lines=total,
            epoch=self._epoch,
        )

    def text(self, *, join_wraps: bool, first_row: int = 0) -> str:
        """Everything from a row on as plain text, without the blank rows at the end."""
        count = self.total_rows - first_row
        if count <= 0:
            return ""
        raw = self._native.formatted(
            "plain", first=self._hidden_rows() + first_row, count=count, unwrap=join_wraps
        )
        return raw.decode("utf-8", "replace")

    def html(self) -> str:
        """The screen as one `<pre>`, safe to put on a page."""
        return html_of(self.screen(styled=True).lines)

    def _lines(self, first: int, count: int, *, styled: bool) -> tuple[Line, ...]:
        return self._lines_at(first + self._hidden_rows(), count, styled=styled)

    def _lines_at(self, first: int, count: int, *, styled: bool) -> tuple[Line, ...]:
        """Rows counted as the emulator counts them."""
        if styled:
            return tuple([spans(row) for row in self._native.rows(first=first, count=count)])
        # The emulator's own trimming takes a combining mark on a space for nothing.
        raw = self._native.formatted("plain", first=first, count=count, trim=False)
        lines = [line.rstrip() for line in raw.decode("utf-8", "replace").split("\n")]
        return (*lines, *[""] * (count - len(lines)))

    def _hidden_rows(self) -> int:
        """The emulator drops rows a page at a time; what it kept beyond the bound is not shown."""
        return self._native.number("total_rows") - self.total_rows

    # --- whole states -----------------------------------------------------------

    def snapshot(self) -> bytes:
        """Everything, for `restore`: both screens, scrollback, modes, and what is half read."""
        state, unfinished = self._native.encode()
        body = _STATE.pack(self._scrollback_rows, self._epoch, len(unfinished))
        body += unfinished + state
        return _SNAPSHOT.pack(_MAGIC, crc32(body)) + body

    def dump(self, *, scrollback_rows: int | None = None) -> bytes:
        """The state as a program would have printed it, for viewers.

        Fed to a fresh terminal of the same size it gives the same screen and
        cursor, the scrollback (the last `scrollback_rows` of it, if given), modes,
        title, directory and the unfinished sequence. What it leaves out: changed
        palettes and the cursor saved by DECSC. A viewer that is not fresh needs a
        reset (`ESC c`) first.
        """
        most = self._scrollback_rows if scrollback_rows is None else scrollback_rows
        primary = b""
        if self._alternate:
            behind = Terminal.restore(self.snapshot(), between_rows=self._native.between_rows)
            # CAN ends what is half read; the rest is how the program itself would go back.
            behind.feed(b"\x18\x1b[?1049l\x1b[?1047l\x1b[?47l")
            primary = dump.screen_dump(behind.native, scrollback_rows=most)
            behind.close()
            primary += dump.ENTER_ALTERNATE
        return primary + dump.terminal_dump(self._native, scrollback_rows=most)


_MOUSE_TRACKING = (
    MouseTracking.MOTION,
    MouseTracking.DRAG,
    MouseTracking.CLICK,
    MouseTracking.PRESS,
)
_MOUSE_FORMATS = (MouseFormat.SGR_PIXELS, MouseFormat.SGR, MouseFormat.URXVT, MouseFormat.UTF8)


def _check_size(*, cols: int, rows: int) -> None:
    if not (1 <= cols <= MAX_SIZE and 1 <= rows <= MAX_SIZE):
        raise ValueError(f"{cols} columns and {rows} rows are not within 1 to {MAX_SIZE}")


def _path(announced: str) -> str | None:
    """The path in what OSC 7 carried: an address by the rules, a bare path from some shells."""
    if announced.startswith("/"):
        return announced
    try:
        address = urlsplit(announced)
    except ValueError:
        return None
    if address.scheme == "kitty-shell-cwd":
        return address.path or None
    if address.scheme != "file":
        return None
    return unquote(address.path) or None
