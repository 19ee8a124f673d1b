"""Text of agents as cells: what is shown, and how many columns it takes."""

import re

import pytest

from duetty.surface import text
from duetty.surface.text import Ruler, shown
from duetty.vt import Terminal


@pytest.mark.parametrize(("pattern", "cols"), [("_NARROW", 1), ("_WIDE", 2)])
def test_what_is_measured_without_the_emulator_is_what_the_emulator_says(
    pattern: str, cols: int
) -> None:
    characters = re.compile(f"[{getattr(text, pattern)}]")
    terminal = Terminal(cols=8, rows=1, scrollback_rows=0)
    terminal.feed(b"\x1b[?2027h")

    wrong: list[str] = []
    for character in filter(characters.match, map(chr, range(0x20, 0x10000))):
        terminal.feed(b"\r" + character.encode())
        if terminal.cursor.col != cols:
            wrong.append(character)

    assert wrong == []


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("", []),
        ("ab", [("a", 1), ("b", 1)]),
        ("a日", [("a", 1), ("日", 2)]),
        ("⌚e\u0301", [("⌚", 2), ("e\u0301", 1)]),
        ("👍🏽 ", [("👍🏽", 2), (" ", 1)]),
        ("\u0301", []),
        ("a\tb", [("a", 1), *[(" ", 1)] * 7, ("b", 1)]),
        ("⌚\t", [("⌚", 2), *[(" ", 1)] * 6]),
    ],
)
def test_a_line_is_as_wide_as_a_terminal_shows_it(line: str, cells: list[tuple[str, int]]) -> None:
    ruler = Ruler(40)

    assert ruler.cells(line) == cells

    ruler.close()


@pytest.mark.parametrize("character", ["x", "日", "⌚", "e\u0301", "\t"])
def test_no_line_costs_more_than_what_can_be_seen_of_it(character: str) -> None:
    ruler = Ruler(10)

    cells = ruler.cells(character * 60_000)

    assert 10 <= sum(cols for _, cols in cells) <= 32
    ruler.close()


def test_text_that_commands_nothing_is_shown_as_it_is() -> None:
    plain = "plain, é日👍\u200d\nnext\tline"

    assert shown(plain) == plain
