"""The emulator behind one facade: bytes in, changes out, screens on demand.

Pure. Knows nothing of sessions, and only one module of it knows the engine.
"""

from duetty.vt.cells import PLAIN, GridRow, Piece, Style, spans_of
from duetty.vt.dump import grid_dump
from duetty.vt.key_decoder import Key, parse_keys
from duetty.vt.keys import KEY_NAMES, encode_keys, encode_paste
from duetty.vt.render import forward_text, render_text
from duetty.vt.terminal import MAX_SIZE, Terminal
from duetty.vt.to_html import html_page
from duetty.vt.to_json import line_json, screen_json, scrollback_json
from duetty.vt.to_svg import svg_of
from duetty.vt.values import (
    NOTHING,
    Changes,
    Colour,
    Cursor,
    Indexed,
    Line,
    Modes,
    MouseFormat,
    MouseTracking,
    Rgb,
    Screen,
    Scrollback,
    Span,
    text_of,
)

__all__ = [
    "KEY_NAMES",
    "MAX_SIZE",
    "NOTHING",
    "PLAIN",
    "Changes",
    "Colour",
    "Cursor",
    "GridRow",
    "Indexed",
    "Key",
    "Line",
    "Modes",
    "MouseFormat",
    "MouseTracking",
    "Piece",
    "Rgb",
    "Screen",
    "Scrollback",
    "Span",
    "Style",
    "Terminal",
    "encode_keys",
    "encode_paste",
    "forward_text",
    "grid_dump",
    "html_page",
    "line_json",
    "parse_keys",
    "render_text",
    "screen_json",
    "scrollback_json",
    "spans_of",
    "svg_of",
    "text_of",
]
