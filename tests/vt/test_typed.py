"""Bytes of a keyboard as keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.vt import Key, Terminal, encode_keys, parse_keys
from duetty.vt.key_decoder import MAX_KEYS


def named(data: bytes) -> list[str]:
    """Keys as people write them: `ctrl+a`, `ArrowUp`; `?` for one that is none."""
    return ["+".join((*key.modifiers, key.name or "?")) for key in parse_keys(data)]


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"a", ["a"]),
        (b"A", ["A"]),
        (b" ", [" "]),
        (b"\x01", ["ctrl+a"]),
        (b"\x08", ["ctrl+h"]),
        (b"\x09", ["Tab"]),
        (b"\x0a", ["ctrl+j"]),
        (b"\x0d", ["Enter"]),
        (b"\x1a", ["ctrl+z"]),
        (b"\x1b", ["Escape"]),
        (b"\x1c\x1d\x1e\x1f", ["ctrl+\\", "ctrl+]", "ctrl+^", "ctrl+_"]),
        (b"\x00", ["ctrl+ "]),
        (b"\x7f", ["Backspace"]),
        (b"\x1b[A\x1b[B\x1b[C\x1b[D", ["ArrowUp", "ArrowDown", "ArrowRight", "ArrowLeft"]),
        (b"\x1b[H\x1b[F", ["Home", "End"]),
        (b"\x1bOA\x1bOH\x1bOP\x1bOS", ["ArrowUp", "Home", "F1", "F4"]),
        (b"\x1bOj\x1bOy\x1bOM\x1bOa", ["*", "9", "Enter", "?"]),
        (b"\x1b[2~\x1b[3~\x1b[5~\x1b[6~", ["Insert", "Delete", "PageUp", "PageDown"]),
        (b"\x1b[15~\x1b[17~\x1b[24~\x1b[34~", ["F5", "F6", "F12", "F20"]),
        (b"\x1b[99~\x1b[~", ["?", "?"]),
        (b"\x1b[1;5C\x1b[1;2A\x1b[1;4P", ["ctrl+ArrowRight", "shift+ArrowUp", "alt+shift+F1"]),
        (b"\x1b[3;5~", ["ctrl+Delete"]),
        (b"\x1b[Z", ["shift+Tab"]),
        (b"\x1bx\x1b\x01\x1b\x7f", ["alt+x", "ctrl+alt+a", "alt+Backspace"]),
        (b"\x1b\x1b[A\x1b\x1bOB", ["alt+ArrowUp", "alt+ArrowDown"]),
        (b"\x1b\x1b", ["Escape", "Escape"]),
        (b"\x1b[", ["alt+["]),
        ("é日👍".encode(), ["é", "日", "👍"]),
        (b"\xff\xc3", ["?", "?"]),
        (b"\xed\xa0\x80\xc2\x9b", ["?", "?"]),
        (b"\x1b[97u\x1b[97;5u\x1b[97;2u\x1b[97;2;65u", ["a", "ctrl+a", "shift+A", "shift+A"]),
        (b"\x1b[27u\x1b[13;2u\x1b[57376u\x1b[57400u", ["Escape", "shift+Enter", "F13", "1"]),
        (b"\x1b[97;1:3u\x1b[97;1:2u", ["?", "a"]),
        (b"\x1b[57441u\x1b[u\x1b[9999999u", ["?", "?", "?"]),
        (b"\x1b[27;5;97~", ["ctrl+a"]),
        (b"\x1b[97;9u", ["super+a"]),
        (b"\x1b[<0;1;2M\x1b[M abc\x1b[32;1;1M", ["?", "?", "c", "?"]),
        (b"\x1b[?1;2c\x1b[5;6R\x1b[0 q", ["?", "?", "?"]),
        (b"\x1b]11;rgb:0/0/0\x07\x1bP1$r\x1b\\a", ["?", "?", "a"]),
        (b"\x1b[12345678901A", ["?"]),
    ],
)
def test_a_key_is_known_by_what_keyboards_send(data: bytes, keys: list[str]) -> None:
    assert named(data) == keys


def test_a_paste_is_one_key_with_its_text() -> None:
    keys = parse_keys("\x1b[200~two\nlines \x1b[A é\x1b[201~x".encode())

    assert [(key.name, key.text) for key in keys] == [("Paste", "two\nlines \x1b[A é"), ("x", "x")]


def test_a_key_says_what_it_types() -> None:
    typed = [key.text for key in parse_keys("aé\r\t\x01\x1bx\x1b[A\x1b[57400u".encode())]

    assert typed == ["a", "é", "\n", "\t", "", "", "", "1"]


def test_more_keys_than_anybody_types_are_not_told_apart() -> None:
    keys = parse_keys(b"a" * (MAX_KEYS + 5))

    assert len(keys) == MAX_KEYS + 1
    assert keys[-1] == Key(b"a" * 5, None)


@pytest.mark.parametrize("kitty", [b"", b"\x1b[>1u"])
@pytest.mark.parametrize(
    "key",
    ["a", "Ctrl-a", "Alt-x", "Enter", "Escape", "F1", "F12", "Home", "PageUp", "Delete", "é"],
)
def test_what_we_encode_we_also_read(key: str, kitty: bytes) -> None:
    terminal = Terminal(cols=10, rows=2)
    terminal.feed(kitty)

    [parsed] = parse_keys(encode_keys([key], terminal))

    assert "-".join((*(each.capitalize() for each in parsed.modifiers), parsed.name or "")) == key


@given(st.binary(max_size=200) | st.text("\x1b[]O<>;:0123456789~uAMm\\\x07é", max_size=60))
def test_any_bytes_are_keys_and_the_keys_are_the_bytes(data: bytes | str) -> None:
    raw = data.encode() if isinstance(data, str) else data

    keys = parse_keys(raw)

    assert b"".join(key.raw for key in keys) == raw
    assert all(key.raw for key in keys)
