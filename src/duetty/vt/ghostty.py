"""The adapter to libghostty-vt: the only module that knows the emulator.

Everything behind `Native` is untyped C; everything before it is typed and
names no C type. Pointers that the library gives out are copied before the
next call, so nothing here outlives the terminal it was read from.
"""

import struct
from collections.abc import Callable, Generator, Iterator
from functools import cache
from typing import Any, Final, TypeVar

from duetty.vt.abi import load
from duetty.vt.cells import PLAIN, Style
from duetty.vt.values import Colour, Cursor, Indexed, Rgb

ffi, lib = load()

Readable = bytes | bytearray | memoryview

UNFINISHED_BYTES = 65_536
"""How much of an unfinished sequence is kept for a snapshot.

A longer one is cut (see `Native.write`); nothing that fits a screen is longer.
"""

_PAGE_CELLS = 49_152
"""No page of the emulator holds more cells than this (measured: 44,700 at 80 columns).

Scrollback is dropped a page at a time, so a page more than asked for is kept.
"""

_USUAL_COLS = 80

_CELL_BYTES, _ROW_BYTES = 9, 48
"""What a plain cell and row take, pages' own tables included (measured: 762 bytes at 80 columns)."""

_PAGE_BYTES = 512 * 1024
"""A page more: the oldest one goes before the newest is full."""

_MANY = 64
"""Times as many: a limit that never binds."""

_HISTORY_BYTES = 64 * 1024 * 1024
"""Room for scrollback whose cells carry more than a code point each.

Plain rows never come near it. Ten thousand rows of stacked combining marks
would otherwise take a quarter of a gigabyte.
"""

_CELL_WIDTH_PX, _CELL_HEIGHT_PX = 8, 16
_FOREGROUND, _BACKGROUND = (0xD0, 0xD0, 0xD0), (0, 0, 0)

_CAN = b"\x18"
_ESC = b"\x1b"
_SWALLOW: Final = {
    b"]": b"\x1b]9999;",  # a number that no terminal implements; ends at BEL or ST
    b"[": b"\x1b[1<",  # malformed; ignored to its final byte
    b"P": b"\x1bX",  # a string that is thrown away; ends at ST
    b"X": b"\x1bX",
    b"^": b"\x1bX",
    b"_": b"\x1bX",
}
"""By the byte after ESC: how to open a sequence that ends alike and does nothing."""

_STYLE_STRUCT = struct.Struct("<8xi4x4s4xi4x4s4xi4x4s4x8?i4x")

_scroll_viewport: Any = ffi.cast(
    "void(*)(GhosttyTerminal, DuettyScrollViewport)",
    ffi.addressof(lib, "ghostty_terminal_scroll_viewport"),
)
_grid_ref: Any = ffi.cast(
    "GhosttyResult(*)(GhosttyTerminal, DuettyPoint, GhosttyGridRef*)",
    ffi.addressof(lib, "ghostty_terminal_grid_ref"),
)

_vt_write: Any = lib.ghostty_terminal_vt_write
_get: Any = lib.ghostty_terminal_get
_get_multi: Any = lib.ghostty_terminal_get_multi
_TOTAL_ROWS: int = lib.GHOSTTY_TERMINAL_DATA_TOTAL_ROWS
_STATUS_KEYS: Any = ffi.new(
    "GhosttyTerminalData[2]",
    [lib.GHOSTTY_TERMINAL_DATA_ACTIVE_SCREEN, lib.GHOSTTY_TERMINAL_DATA_VT_GROUND],
)
_CURSOR_KEYS: Any = ffi.new(
    "GhosttyTerminalData[3]",
    [
        lib.GHOSTTY_TERMINAL_DATA_CURSOR_Y,
        lib.GHOSTTY_TERMINAL_DATA_CURSOR_X,
        lib.GHOSTTY_TERMINAL_DATA_CURSOR_VISIBLE,
    ],
)
_DIRTY: int = lib.GHOSTTY_RENDER_STATE_DATA_DIRTY
_DIRTY_FULL: int = lib.GHOSTTY_RENDER_STATE_DIRTY_FULL
_ALTERNATE: int = lib.GHOSTTY_TERMINAL_SCREEN_ALTERNATE

_ROW_WRAPPED = 1 << 32

_SHAPES: Final = {
    lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_BAR: 5,
    lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_BLOCK: 1,
    lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_UNDERLINE: 3,
    lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_BLOCK_HOLLOW: 1,
}
"""DECSCUSR of a blinking cursor; one more is the steady one."""

NUMBERS: Final = {
    "cols": (lib.GHOSTTY_TERMINAL_DATA_COLS, "uint16_t*"),
    "rows": (lib.GHOSTTY_TERMINAL_DATA_ROWS, "uint16_t*"),
    "cursor_row": (lib.GHOSTTY_TERMINAL_DATA_CURSOR_Y, "uint16_t*"),
    "cursor_col": (lib.GHOSTTY_TERMINAL_DATA_CURSOR_X, "uint16_t*"),
    "kitty_keyboard": (lib.GHOSTTY_TERMINAL_DATA_KITTY_KEYBOARD_FLAGS, "uint8_t*"),
    "total_rows": (lib.GHOSTTY_TERMINAL_DATA_TOTAL_ROWS, "size_t*"),
}
FLAGS: Final = {
    "cursor_visible": lib.GHOSTTY_TERMINAL_DATA_CURSOR_VISIBLE,
    "pending_wrap": lib.GHOSTTY_TERMINAL_DATA_CURSOR_PENDING_WRAP,
}
STRINGS: Final = {
    "title": lib.GHOSTTY_TERMINAL_DATA_TITLE,
    "cwd": lib.GHOSTTY_TERMINAL_DATA_PWD,
}
FORMATS: Final = {
    "plain": lib.GHOSTTY_FORMATTER_FORMAT_PLAIN,
    "vt": lib.GHOSTTY_FORMATTER_FORMAT_VT,
}


T = TypeVar("T")


class Notes:
    """What the callbacks saw since the last `reset`."""

    __slots__ = ("bells", "cwd_changed", "replies", "silent", "title_changed", "touched")

    def __init__(self) -> None:
        self.silent = False
        self.reset()

    def reset(self) -> None:
        self.touched = False
        self.replies: list[bytes] = []
        self.bells = 0
        self.title_changed = False
        self.cwd_changed = False


class NativeRow:
    """One row of a render state; valid until its iterator moves on."""

    __slots__ = ("_at", "_has_cursor", "_native", "_states", "cells")

    def __init__(self, native: "Native", states: "_RenderState", at: int) -> None:
        self._native = native
        self._states = states
        self._at = at
        self._has_cursor = False
        self.cells = states.cells()

    @property
    def is_wrapped(self) -> bool:
        return self._states.is_wrapped()

    def style(self, col: int) -> Style:
        self._select(col)
        return self._states.style()

    def grapheme(self, col: int) -> str:
        self._select(col)
        return self._states.grapheme()

    def link(self, col: int) -> str | None:
        return self._native.link(row=self._at, col=col)

    def _select(self, col: int) -> None:
        if not self._has_cursor:
            self._states.open_cells()
            self._has_cursor = True
        self._states.select(col)


class _RenderState:
    """A copy of the rows in the viewport, with a place in it."""

    __slots__ = ("_buffer", "_cells", "_extent", "_row", "_rows", "_state", "_style", "_view", "_y")

    def __init__(self) -> None:
        self._state: Any = _owned("GhosttyRenderState*", lib.ghostty_render_state_new)
        self._rows: Any = None
        self._cells: Any = None
        self._extent: Any = ffi.new("int*")

    def close(self) -> None:
        lib.ghostty_render_state_free(self._state[0])
        if self._rows is not None:
            lib.ghostty_render_state_row_iterator_free(self._rows[0])
        if self._cells is not None:
            lib.ghostty_render_state_row_cells_free(self._cells[0])

    def update(self, terminal: Any) -> None:
        _check(lib.ghostty_render_state_update(self._state[0], terminal))

    def cursor_shape(self) -> int:
        out = _sized("GhosttyRenderStateCursor")
        _check(
            lib.ghostty_render_state_get(self._state[0], lib.GHOSTTY_RENDER_STATE_DATA_CURSOR, out)
        )
        return _SHAPES[out.visual_style] + (not out.blinking)

    def start(self) -> None:
        """Go before the first row."""
        if self._rows is None:
            self._rows = _owned(
                "GhosttyRenderStateRowIterator*", lib.ghostty_render_state_row_iterator_new
            )
            self._view: Any = ffi.new("GhosttyCellsView*")
            self._row: Any = ffi.new("GhosttyRow*")
            self._y: Any = ffi.new("uint16_t*")
        _check(
            lib.ghostty_render_state_get(
                self._state[0], lib.GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR, self._rows
            )
        )

    def next_row(self) -> bool:
        return bool(lib.ghostty_render_state_row_iterator_next(self._rows[0]))

    def take_dirty(self) -> Iterator[int] | None:
        """The rows that changed since the last take, or None for all of them."""
        is_all = self.is_all_dirty()
        rows = list(self.dirty_rows())
        self.clean()
        return None if is_all else iter(rows)

    def is_all_dirty(self) -> bool:
        extent = self._extent
        _check(lib.ghostty_render_state_get(self._state[0], _DIRTY, extent))
        return extent[0] == _DIRTY_FULL

    def clean(self) -> None:
        _check(lib.ghostty_render_state_clean(self._state[0]))

    def dirty_rows(self) -> Iterator[int]:
        """The rows that changed since the state was clean; each can be read while it is the last."""
        self.start()
        while lib.ghostty_render_state_row_iterator_next_dirty(self._rows[0], self._y):
            yield self._y[0]

    def cells(self) -> bytes:
        view = self._view
        _check(
            lib.ghostty_render_state_row_get(
                self._rows[0], lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS_RAW, view
            )
        )
        return ffi.buffer(view.ptr, view.len * 8)[:]

    def is_wrapped(self) -> bool:
        _check(
            lib.ghostty_render_state_row_get(
                self._rows[0], lib.GHOSTTY_RENDER_STATE_ROW_DATA_RAW, self._row
            )
        )
        return bool(self._row[0] & _ROW_WRAPPED)

    def open_cells(self) -> None:
        if self._cells is None:
            self._cells = _owned(
                "GhosttyRenderStateRowCells*", lib.ghostty_render_state_row_cells_new
            )
            self._style: Any = _sized("GhosttyStyle")
            self._buffer: Any = ffi.new("uint8_t[]", 1024)
        _check(
            lib.ghostty_render_state_row_get(
                self._rows[0], lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS, self._cells
            )
        )

    def select(self, col: int) -> None:
        _check(lib.ghostty_render_state_row_cells_select(self._cells[0], col))

    def style(self) -> Style:
        _check(
            lib.ghostty_render_state_row_cells_get(
                self._cells[0], lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_STYLE, self._style
            )
        )
        return _interned_style(ffi.buffer(self._style)[:])

    def grapheme(self) -> str:
        # The emulator keeps at most 64 code points a cell, so the buffer is always enough.
        out = ffi.new("GhosttyBuffer*", {"ptr": self._buffer, "cap": len(self._buffer)})
        _check(
            lib.ghostty_render_state_row_cells_get(
                self._cells[0], lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_UTF8, out
            )
        )
        return _text(ffi.buffer(self._buffer, out.len)[:])


class Native:
    """One emulator. Not safe to use from two threads at once; two of them are."""

    __slots__ = (
        "__weakref__",
        "_cursor",
        "_dirty",
        "_handle",
        "_opening",
        "_room",
        "_scrollback_rows",
        "_seen_rows",
        "_status",
        "_status_values",
        "_total_rows",
        "_written",
        "between_rows",
        "notes",
        "terminal",
    )

    def __init__(
        self,
        terminal: Any,
        *,
        scrollback_rows: int,
        between_rows: Callable[[], None] | None = None,
    ) -> None:
        """`between_rows` is called after each row that is read: by who reads many, beside others who wait."""
        self.terminal: Any = ffi.gc(terminal, lib.ghostty_terminal_free)
        self.notes = Notes()
        self.between_rows = between_rows
        self._scrollback_rows = scrollback_rows
        self._handle: Any = ffi.new_handle(self.notes)
        self._status: Any = ffi.new("int[2]")
        self._status_values: Any = ffi.new("void*[2]", [self._status, self._status + 1])
        self._written: Any = ffi.new("size_t*")
        self._total_rows: Any = ffi.new("size_t*")
        self._seen_rows = 0
        self._room = 1.0
        self._dirty: _RenderState | None = None
        self._cursor: Any = None
        """Room for the cursor's place, once a caller asks for it."""

        self._opening = b""
        self._configure()

    @classmethod
    def open(cls, *, cols: int, rows: int, scrollback_rows: int) -> "Native":
        out = ffi.new("GhosttyTerminal*")
        _check(lib.ghostty_terminal_new(ffi.NULL, out, cols, rows))
        return cls(out[0], scrollback_rows=scrollback_rows)

    @classmethod
    def decode(
        cls,
        snapshot: bytes,
        *,
        scrollback_rows: int,
        between_rows: Callable[[], None] | None = None,
    ) -> "Native":
        """The terminal that was encoded. The bytes must be as they were: the library trusts them."""
        out = ffi.new("GhosttySnapshotDecoder*")
        _check(lib.ghostty_snapshot_decoder_new_buf(ffi.NULL, out, snapshot, len(snapshot)))
        decoder = ffi.gc(out[0], lib.ghostty_snapshot_decoder_free)
        _check(
            lib.ghostty_snapshot_decoder_set(
                decoder,
                lib.GHOSTTY_SNAPSHOT_DECODER_OPT_MAX_CONTINUATION_BYTES,
                ffi.new("size_t*", UNFINISHED_BYTES),
            )
        )
        # Without this a snapshot of the restored terminal would fail mid-sequence.
        _check(
            lib.ghostty_snapshot_decoder_set(
                decoder,
                lib.GHOSTTY_SNAPSHOT_DECODER_OPT_RETAIN_CONTINUATION,
                ffi.new("bool*", True),
            )
        )
        terminal = ffi.new("GhosttyTerminal*")
        _check(lib.ghostty_snapshot_decoder_decode(decoder, terminal))
        native = cls(terminal[0], scrollback_rows=scrollback_rows, between_rows=between_rows)
        native._opening = (native.unfinished() or b"")[:2]
        return native

    def close(self) -> None:
        if self.terminal is None:
            return
        if self._dirty is not None:
            self._dirty.close()
        ffi.release(self.terminal)
        self.terminal = None

    def __del__(self) -> None:
        # `terminal` is missing when the constructor failed.
        if getattr(self, "_dirty", None) is not None:
            self.close()

    # --- bytes in -------------------------------------------------------------

    def write(self, data: Readable) -> bool:
        """Feed bytes; whether the alternate screen is active after them."""
        if type(data) is bytes:
            _vt_write(self.terminal, data, len(data))
        else:
            with ffi.from_buffer("uint8_t[]", data) as buffer:
                _vt_write(self.terminal, buffer, len(buffer))
        status = self._status
        _get_multi(self.terminal, 2, _STATUS_KEYS, self._status_values, self._written)
        if not status[1] & 0xFF:
            self._bound_unfinished(data)
        if status[0] == _ALTERNATE:
            return True
        self._watch_history()
        return False

    def _bound_unfinished(self, data: Readable) -> None:
        """Cut a sequence that became too long for a snapshot.

        It is cancelled and another one opened that ends where it would have
        ended and does nothing, so the rest of it never becomes text.
        """
        unfinished = self.unfinished()
        if unfinished is not None:
            self._opening = unfinished[:2]
            return
        opened_at = (copy := bytes(data)).rfind(_ESC)
        if opened_at >= 0:
            self._opening = copy[opened_at : opened_at + 2]
        swallow = _SWALLOW.get(self._opening[1:], b"")
        _vt_write(self.terminal, _CAN + swallow, 1 + len(swallow))

    def unfinished(self) -> bytes | None:
        """The sequence or character that began and has not ended; None if it is too long."""
        pointer, length = ffi.new("uint8_t**"), self._written
        if lib.ghostty_terminal_continuation_alloc(self.terminal, ffi.NULL, pointer, length):
            return None
        return _copied_and_freed(pointer, length)

    def resize(self, *, cols: int, rows: int) -> None:
        # Reflow may need the room of the old width while it runs, and of the new one after.
        self._set_limits(cols=min(cols, self.number("cols")), rows=max(rows, self.number("rows")))
        _check(
            lib.ghostty_terminal_resize(self.terminal, cols, rows, _CELL_WIDTH_PX, _CELL_HEIGHT_PX)
        )
        self._set_limits(cols=cols, rows=rows)

    def erase_scrollback(self) -> None:
        """Forget the rows above the screen, without a byte through the parser."""
        self._set("SCROLLBACK_MAX_BYTES", "size_t*", 0)
        self._set_limits(cols=self.number("cols"), rows=self.number("rows"))

    # --- values out -----------------------------------------------------------

    def number(self, name: str) -> int:
        key, ctype = NUMBERS[name]
        out = ffi.new(ctype)
        _check(lib.ghostty_terminal_get(self.terminal, key, out))
        return out[0]

    def flag(self, name: str) -> bool:
        out = ffi.new("bool*")
        _check(lib.ghostty_terminal_get(self.terminal, FLAGS[name], out))
        return bool(out[0])

    def string(self, name: str) -> str:
        out = ffi.new("GhosttyString*")
        _check(lib.ghostty_terminal_get(self.terminal, STRINGS[name], out))
        return _text(ffi.buffer(out.ptr, out.len)[:]) if out.len else ""

    def mode(self, number: int, *, ansi: bool = False) -> bool:
        """Whether a mode is set: a DEC private one, or with `ansi` one of ANSI."""
        out = ffi.new("GhosttyTerminalModeConfig*", {"mode": number | ansi << 15})
        _check(lib.ghostty_terminal_get(self.terminal, lib.GHOSTTY_TERMINAL_DATA_MODE, out))
        return bool(out.value)

    def alternate_active(self) -> bool:
        _get_multi(self.terminal, 2, _STATUS_KEYS, self._status_values, self._written)
        return self._status[0] == _ALTERNATE

    def cursor(self) -> Cursor:
        if self._cursor is None:
            out = ffi.new("uint16_t[3]")
            self._cursor = out, ffi.new("void*[3]", [out, out + 1, out + 2])
        out, values = self._cursor
        _check(_get_multi(self.terminal, 3, _CURSOR_KEYS, values, self._written))
        return Cursor(row=out[0], col=out[1], visible=bool(out[2] & 0xFF))

    @property
    def is_settled(self) -> bool:
        """No sequence and no character was left unfinished by the last write."""
        return bool(self._status[1] & 0xFF)

    def link(self, *, row: int, col: int) -> str | None:
        ref = _sized("GhosttyGridRef")
        _check(_grid_ref(self.terminal, _point(row=row, col=col), ref))
        buffer, length = ffi.new("uint8_t[]", 4096), ffi.new("size_t*")
        # The emulator takes no sequence, and so no address, longer than the buffer.
        failed = lib.ghostty_grid_ref_hyperlink_uri(ref, buffer, len(buffer), length)
        return None if failed else _text(ffi.buffer(buffer, length[0])[:]) or None

    def is_wrapped(self, row: int) -> bool:
        """Whether a row, counted from the oldest, goes on in the next one."""
        ref, out = _sized("GhosttyGridRef"), ffi.new("GhosttyRow*")
        _check(_grid_ref(self.terminal, _point(row=row, col=0), ref))
        _check(lib.ghostty_grid_ref_row(ref, out))
        return bool(out[0] & _ROW_WRAPPED)

    def rows(self, *, first: int, count: int) -> Generator[NativeRow]:
        """Rows counted from the oldest. Each is valid until the next one is asked for."""
        self._note_dirty()
        height = self.number("rows")
        bottom = self.number("total_rows") - height
        count = min(count, bottom + height - first)
        state = _RenderState()
        try:
            while count > 0:
                top = min(first, bottom)
                self._scroll(lib.GHOSTTY_SCROLL_VIEWPORT_ROW, top)
                state.update(self.terminal)
                state.start()
                for at in range(top, min(top + height, first + count)):
                    state.next_row()
                    if at >= first:
                        yield NativeRow(self, state, at)
                        if self.between_rows is not None:
                            self.between_rows()
                count -= top + height - first
                first = top + height
        finally:
            self._scroll(lib.GHOSTTY_SCROLL_VIEWPORT_BOTTOM, 0)
            state.close()

    def _note_dirty(self) -> None:
        """Before anything is read: that resets the emulator's own notes of what changed."""
        if self._dirty is not None:
            self._dirty.update(self.terminal)

    def cursor_shape(self) -> int:
        """The argument of DECSCUSR that gives the cursor its looks."""
        self._note_dirty()
        state = _RenderState()
        try:
            state.update(self.terminal)
            return state.cursor_shape()
        finally:
            state.close()

    def dirty_rows(self) -> frozenset[int]:
        if self._dirty is None:
            self._dirty = _RenderState()
        self._dirty.update(self.terminal)
        dirty = self._dirty.take_dirty()
        return frozenset(range(self.number("rows")) if dirty is None else dirty)

    def changed_rows(self, read: Callable[[NativeRow], T]) -> dict[int, T] | None:
        """The rows that changed since the last take, as `read` makes them; None for all of them.

        They are read where the change was seen: nothing is scrolled or copied for it.
        """
        if self._dirty is None:
            return None
        state = self._dirty
        state.update(self.terminal)
        top = self.number("total_rows") - self.number("rows")
        found = (
            None
            if state.is_all_dirty()
            else {row: read(NativeRow(self, state, top + row)) for row in state.dirty_rows()}
        )
        state.clean()
        return found

    def _scroll(self, tag: int, row: int) -> None:
        _scroll_viewport(self.terminal, ffi.new("DuettyScrollViewport*", (tag, row, 0))[0])

    # --- whole states ---------------------------------------------------------

    def encode(self) -> tuple[bytes, bytes]:
        """The whole state, and the bytes to feed to what is decoded from it."""
        state = self._encoded()
        if state is not None:
            return state, b""
        # A string (APC) that a C1 control broke off cannot be encoded. So the sequence
        # is taken back here and begun again, in this terminal as in the decoded one.
        unfinished = self.unfinished() or b""
        _vt_write(self.terminal, _CAN, 1)
        state = self._encoded()
        if state is None:  # pragma: no cover: an emulator we do not know
            raise MemoryError("libghostty-vt cannot encode its state")
        _vt_write(self.terminal, unfinished, len(unfinished))
        return state, unfinished

    def _encoded(self) -> bytes | None:
        pointer, length = ffi.new("uint8_t**"), ffi.new("size_t*")
        if lib.ghostty_snapshot_encode_alloc(self.terminal, ffi.NULL, pointer, length):
            return None
        return _copied_and_freed(pointer, length)

    def formatted(
        self, emit: str, *, first: int, count: int, unwrap: bool = False, trim: bool = True
    ) -> bytes:
        """Rows counted from the oldest, as `plain` or `vt`; blank ones at the end are lost."""
        selection = self._selection(first=first, count=count)
        options = _sized("GhosttyTerminalSelectionFormatOptions")
        options.emit, options.selection = FORMATS[emit], selection
        options.unwrap, options.trim = unwrap, trim
        pointer, length = ffi.new("uint8_t**"), ffi.new("size_t*")
        _check(
            lib.ghostty_terminal_selection_format_alloc(
                self.terminal, ffi.NULL, options[0], pointer, length
            )
        )
        return _copied_and_freed(pointer, length)

    def state_sequences(self, *names: str) -> bytes:
        """Sequences that bring about parts of the state besides the cells."""
        with_state, without = self._one_cell(names), self._one_cell(())
        return with_state.removeprefix(without).removesuffix(without)

    def _one_cell(self, extras: tuple[str, ...]) -> bytes:
        options = _sized("GhosttyFormatterTerminalOptions")
        options.emit = FORMATS["vt"]
        selection = options.selection = self._selection(first=0, count=1, cols=1)
        for name in extras:
            target = options.extra if hasattr(options.extra, name) else options.extra.screen
            setattr(target, name, True)
        out = ffi.new("GhosttyFormatter*")
        _check(lib.ghostty_formatter_terminal_new(ffi.NULL, out, self.terminal, options[0]))
        formatter = ffi.gc(out[0], lib.ghostty_formatter_free)
        pointer, length = ffi.new("uint8_t**"), ffi.new("size_t*")
        _check(lib.ghostty_formatter_format_alloc(formatter, ffi.NULL, pointer, length))
        del selection
        return _copied_and_freed(pointer, length)

    def _selection(self, *, first: int, count: int, cols: int | None = None) -> Any:
        selection = _sized("GhosttySelection")
        last_col = (self.number("cols") if cols is None else cols) - 1
        start, end = ffi.addressof(selection, "start"), ffi.addressof(selection, "end")
        _check(_grid_ref(self.terminal, _point(row=first, col=0), start))
        _check(_grid_ref(self.terminal, _point(row=first + count - 1, col=last_col), end))
        return selection

    # --- settings -------------------------------------------------------------

    def _configure(self) -> None:
        self._set_limits(cols=self.number("cols"), rows=self.number("rows"))
        self._set("CONTINUATION_MAX_BYTES", "size_t*", UNFINISHED_BYTES)
        # Images and glyphs are drawn by viewers, from the bytes; here they would only take room.
        self._set("KITTY_IMAGE_STORAGE_LIMIT", "uint64_t*", 0)
        self._set("APC_MAX_BYTES", "size_t*", 4096)
        self._set("GLYPH_PROTOCOL", "bool*", 0)
        self._set("COLOR_FOREGROUND", "GhosttyColorRgb*", _FOREGROUND)
        self._set("COLOR_BACKGROUND", "GhosttyColorRgb*", _BACKGROUND)
        self._set_pointer("USERDATA", self._handle)
        for name, callback in _CALLBACKS.items():
            self._set_pointer(name, callback)

    def _set_limits(self, *, cols: int, rows: int) -> None:
        """Keep at least `scrollback_rows`, whatever a page holds at this width.

        Room in bytes decides, not the number of lines: pruned by lines, the library gives
        each page back and maps a new one, which costs five times the printing itself.
        Rows that need more than plain ones get more room as they come (`_watch_history`).

        A narrow terminal keeps what the same text takes there, so that a narrow
        moment (a phone looks in) does not cost the scrollback.
        """
        lines = self._scrollback_rows * max(1, _USUAL_COLS // cols) + rows + _PAGE_CELLS // cols
        room = int(lines * (cols * _CELL_BYTES + _ROW_BYTES) * self._room) + _PAGE_BYTES
        bound = max(_HISTORY_BYTES, 16 * lines * cols)
        self._set("SCROLLBACK_MAX_LINES", "size_t*", lines * _MANY)
        self._set("SCROLLBACK_MAX_BYTES", "size_t*", min(room, bound))

    def _watch_history(self) -> None:
        """More room when rows were dropped that should be there: styles, links and emoji take it."""
        _get(self.terminal, _TOTAL_ROWS, self._total_rows)
        rows, seen = self._total_rows[0], self._seen_rows
        self._seen_rows = rows
        wanted = self._scrollback_rows
        # Far below it is not pruning: the program cleared the scrollback.
        if rows < seen and wanted // 2 < rows < wanted and self._room < _MANY:
            self._room *= 1.5
            self._set_limits(cols=self.number("cols"), rows=self.number("rows"))

    def _set(self, name: str, ctype: str, value: object) -> None:
        self._set_pointer(name, ffi.new(ctype, value))

    def _set_pointer(self, name: str, pointer: Any) -> None:
        option = getattr(lib, f"GHOSTTY_TERMINAL_OPT_{name}")
        _check(lib.ghostty_terminal_set(self.terminal, option, pointer))


# --- keys -----------------------------------------------------------------------

MOD_SHIFT, MOD_CTRL, MOD_ALT = 1, 2, 4


def key_code(name: str) -> int:
    """The number of a key, by its W3C name in capitals (`ARROW_UP`, `F1`, `A`)."""
    return getattr(lib, f"GHOSTTY_KEY_{name}")


def encode_key(native: Native, *, key: int, mods: int, text: str, unshifted: str) -> bytes:
    """The bytes of one key press, by the keyboard modes the program asked for."""
    encoder_out, event_out = ffi.new("GhosttyKeyEncoder*"), ffi.new("GhosttyKeyEvent*")
    _check(lib.ghostty_key_encoder_new(ffi.NULL, encoder_out))
    encoder = ffi.gc(encoder_out[0], lib.ghostty_key_encoder_free)
    _check(lib.ghostty_key_event_new(ffi.NULL, event_out))
    event = ffi.gc(event_out[0], lib.ghostty_key_event_free)
    lib.ghostty_key_encoder_setopt_from_terminal(encoder, native.terminal)
    typed = text.encode()
    lib.ghostty_key_event_set_action(event, lib.GHOSTTY_KEY_ACTION_PRESS)
    lib.ghostty_key_event_set_key(event, key)
    lib.ghostty_key_event_set_mods(event, mods)
    if text != unshifted:
        lib.ghostty_key_event_set_consumed_mods(event, mods & MOD_SHIFT)
    held = ffi.new("char[]", typed)  # the event borrows it
    lib.ghostty_key_event_set_utf8(event, held, len(typed))
    lib.ghostty_key_event_set_unshifted_codepoint(event, ord(unshifted) if unshifted else 0)
    buffer, length = ffi.new("char[]", 128), ffi.new("size_t*")
    _check(lib.ghostty_key_encoder_encode(encoder, event, buffer, len(buffer), length))
    return ffi.buffer(buffer, length[0])[:]


# --- callbacks: one set for all terminals; `userdata` is the handle of its notes ------


@ffi.callback("GhosttyTerminalWritePtyFn")
def _on_reply(_terminal: Any, userdata: Any, data: Any, length: int) -> None:
    notes: Notes = ffi.from_handle(userdata)
    if not notes.silent:
        notes.touched = True
        notes.replies.append(ffi.buffer(data, length)[:])


@ffi.callback("GhosttyTerminalBellFn")
def _on_bell(_terminal: Any, userdata: Any) -> None:
    notes: Notes = ffi.from_handle(userdata)
    notes.touched = True
    notes.bells += 1


@ffi.callback("GhosttyTerminalTitleChangedFn")
def _on_title(_terminal: Any, userdata: Any) -> None:
    notes: Notes = ffi.from_handle(userdata)
    notes.touched = notes.title_changed = True


@ffi.callback("GhosttyTerminalPwdChangedFn")
def _on_cwd(_terminal: Any, userdata: Any) -> None:
    notes: Notes = ffi.from_handle(userdata)
    notes.touched = notes.cwd_changed = True


@ffi.callback("GhosttyTerminalSizeFn")
def _on_size(terminal: Any, _userdata: Any, out: Any) -> bool:
    size = ffi.new("uint16_t[2]")
    lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_COLS, size)
    lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_ROWS, size + 1)
    out.columns, out.rows = size
    out.cell_width, out.cell_height = _CELL_WIDTH_PX, _CELL_HEIGHT_PX
    return True


@ffi.callback("GhosttyTerminalDeviceAttributesFn")
def _on_device_attributes(_terminal: Any, _userdata: Any, out: Any) -> bool:
    """A VT220 with colours; every field is set, for the library does not clear them."""
    out.primary.conformance_level = 62
    out.primary.features[0] = 22
    out.primary.num_features = 1
    out.secondary.device_type = 1
    out.secondary.firmware_version = 10
    out.secondary.rom_cartridge = 0
    out.tertiary.unit_id = 0
    return True


@ffi.callback("GhosttyTerminalColorSchemeFn")
def _on_colour_scheme(_terminal: Any, _userdata: Any, out: Any) -> bool:
    out[0] = lib.GHOSTTY_COLOR_SCHEME_DARK
    return True


_NAME: Any = ffi.new("uint8_t[]", list(b"duetty"))
_NAME_STRING: Any = ffi.new("GhosttyString*", {"ptr": _NAME, "len": len(_NAME)})


@ffi.callback("GhosttyTerminalXtversionFn")
def _on_version(_terminal: Any, _userdata: Any) -> Any:
    return _NAME_STRING[0]


_CALLBACKS: Final[dict[str, Any]] = {
    "WRITE_PTY": _on_reply,
    "BELL": _on_bell,
    "TITLE_CHANGED": _on_title,
    "PWD_CHANGED": _on_cwd,
    "SIZE": _on_size,
    "DEVICE_ATTRIBUTES": _on_device_attributes,
    "COLOR_SCHEME": _on_colour_scheme,
    "XTVERSION": _on_version,
}

# --- small change ------------------------------------------------------------------


def _check(result: int) -> None:
    if result:  # pragma: no cover: out of memory, or an emulator we do not know
        raise MemoryError(f"libghostty-vt answered {result}")


def _owned(ctype: str, make: Any) -> Any:
    out = ffi.new(ctype)
    _check(make(ffi.NULL, out))
    return out


def _sized(ctype: str) -> Any:
    """A struct that carries its own size, in itself and in the structs within."""
    return ffi.new(f"{ctype}*", _empty(ctype)[0])


@cache
def _empty(ctype: str) -> Any:
    pointer = ffi.new(f"{ctype}*")
    _set_sizes(pointer)
    return pointer


def _set_sizes(pointer: Any) -> None:
    ctype = ffi.typeof(pointer).item
    for name, field in ctype.fields:
        if name == "size":
            pointer.size = ffi.sizeof(ctype)
        elif field.type.kind == "struct":
            _set_sizes(ffi.addressof(pointer[0], name))


def _point(*, row: int, col: int) -> Any:
    """A place counted from the oldest row that is kept."""
    return ffi.new("DuettyPoint*", (lib.GHOSTTY_POINT_TAG_SCREEN, (col, row, 0)))[0]


def _copied_and_freed(pointer: Any, length: Any) -> bytes:
    """A copy of memory the library allocated, which is freed."""
    if not length[0]:
        return b""
    copy = ffi.buffer(pointer[0], length[0])[:]
    lib.ghostty_free(ffi.NULL, pointer[0], length[0])
    return copy


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


_STYLES: dict[bytes, Style] = {}
_STYLES_MAX = 4096
"""Styles are few; a program that makes millions of them must not fill our memory."""


def _interned_style(raw: bytes) -> Style:
    style = _STYLES.get(raw)
    if style is None:
        style = _parse_style(raw)
        if len(_STYLES) >= _STYLES_MAX:
            _STYLES.clear()
        _STYLES[raw] = style
    return style


def _parse_style(raw: bytes) -> Style:
    fg_tag, fg, bg_tag, bg, underline_tag, underline_value, *flags, underline = (
        _STYLE_STRUCT.unpack(raw)
    )
    bold, italic, faint, blink, inverse, invisible, strikethrough, overline = flags
    style = Style(
        fg=_colour(fg_tag, fg),
        bg=_colour(bg_tag, bg),
        underline_colour=_colour(underline_tag, underline_value),
        bold=bold,
        faint=faint,
        italic=italic,
        blink=blink,
        inverse=inverse,
        invisible=invisible,
        strikethrough=strikethrough,
        overline=overline,
        underline=underline,
    )
    return PLAIN if style == PLAIN else style


def _colour(tag: int, value: bytes) -> Colour | None:
    if tag == lib.GHOSTTY_STYLE_COLOR_PALETTE:
        return Indexed(value[0])
    if tag == lib.GHOSTTY_STYLE_COLOR_RGB:
        return Rgb(value[0], value[1], value[2])
    return None
