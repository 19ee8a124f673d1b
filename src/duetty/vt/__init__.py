"""The emulator behind one facade: bytes in, changes out, screens on demand."""

from duetty.vt.keys import KEY_NAMES, encode_keys, encode_paste
from duetty.vt.render import render_text
from duetty.vt.terminal import MAX_SIZE, Terminal
from duetty.vt.to_json import line_json, screen_json, scrollback_json
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
    "Changes",
    "Colour",
    "Cursor",
    "Indexed",
    "Line",
    "Modes",
    "MouseFormat",
    "MouseTracking",
    "Rgb",
    "Screen",
    "Scrollback",
    "Span",
    "Terminal",
    "encode_keys",
    "encode_paste",
    "line_json",
    "render_text",
    "screen_json",
    "scrollback_json",
    "text_of",
]
