"""Text that comes in pieces is wrapped between words, whatever the pieces are."""

import pytest

from duetty.cli.word_wrap import WordWrap
from duetty.vt import Terminal

TEXT = "The quick brown fox jumps over\n- the lazy dog 漢字漢字 and averyveryverylongword at last"
ROWS = [
    "The quick",
    "brown fox",
    "jumps over",
    "- the lazy",
    "dog",
    "漢字漢字",
    "and",
    "averyveryv",
    "erylongwor",
    "d at last",
]


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_a_row_ends_between_words(size: int) -> None:
    wrap = WordWrap(10)
    terminal = Terminal(cols=10, rows=20)

    for at in range(0, len(TEXT), size):
        terminal.feed(wrap.pass_on(TEXT[at : at + size]).replace("\n", "\r\n").encode())

    shown = [line.rstrip() for line in terminal.text(join_wraps=False).split("\n")]
    assert shown[: len(ROWS)] == ROWS
