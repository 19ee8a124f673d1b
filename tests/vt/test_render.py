import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetty.vt import forward_text, render_text
from duetty.vt.render import MAX_LINE_CHARACTERS, SCRATCH_ROWS


def rendered(*chunks: bytes | str, cols: int = 20) -> list[str]:
    raw = [chunk.encode() if isinstance(chunk, str) else chunk for chunk in chunks]
    return list(render_text(raw, cols=cols))


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("", []),
        ("\r\n\r\n", []),
        ("one", ["one"]),
        ("one\r\ntwo\r\n", ["one", "two"]),
        ("\r\n\r\none\r\n\r\ntwo\r\n\r\n\r\n", ["", "", "one", "", "two"]),
        ("trailing   \r\n", ["trailing"]),
        (" 1%\r 50%\r100%\r\ndone", ["100%", "done"]),
        ("abc\b\bX\r\n", ["aXc"]),
        ("a\r\nb\x1b[A\x1b[2Knew\r\n", [" new", "b"]),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b]8;;http://x/\x07link\x1b]8;;\x07", ["red link"]),
        ("wide 日本語 e\u0301", ["wide 日本語 e\u0301"]),
        ("a line that is longer than the terminal is wide\r\nnext", None),
        ("tab\tstop", ["tab     stop"]),
    ],
)
def test_output_becomes_the_lines_a_person_sees(output: str, lines: list[str] | None) -> None:
    expected = lines if lines is not None else output.split("\r\n")

    assert rendered(output) == expected


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (b"", ""),
        (b"one\ttwo  \r\n\r\nthree", "one\ttwo  \n\nthree"),
        (b"\x1b]0;title\x07\x1b[30m\x1b(B\x1b[m\rafter fish\r\n", "after fish\n"),
        (b"a\x1b[01;31m\x1b[Kfound\x1b[m\x1b[K b\r\n", "afound b\n"),
        (b"\x1b[38:2::255:0:0mred\x1b[m\r\r\n", "red\n"),
        ("caf\u00e9\t\u65e5 \u200b\r\n".encode(), "caf\u00e9\t\u65e5 \u200b\n"),
        (b"\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\\x07", "link"),
        (b"\x1b[?25l\x1b[?2004hx\x1b[?25h\x1b[>4;1m", "x"),
    ],
)
def test_what_only_goes_forward_is_its_own_text_to_the_last_blank(output: bytes, text: str) -> None:
    assert forward_text(output) == text


@pytest.mark.parametrize(
    "output",
    [
        b"50%\r100%\r\n",
        b"ab\b",
        b"x\x1b[2J",
        b"\x1b[5Cx",
        b"\x1b[s\x1b[u",
        b"\x1b[?1049hvim",
        b"\x1b[?7l",
        b"\x1b(0lqk\x1b(B",
        b"\x1b[1K",
        b"\xff",
        "\x9b2J".encode(),
        b"\x1b]0;no end",
        b"\x1b[31",
        b"down\x0b",
        b"a\x1b]133;A\x07b",
        b"x\r\n" * 40_000 + b"1\r2",
        b"1\r2" + b"x\r\n" * 40_000,
    ],
)
def test_what_draws_needs_a_terminal(output: bytes) -> None:
    assert forward_text(output) is None


_FORWARD = st.sampled_from(
    [
        b"words ",
        "\u65e5\u672c".encode(),
        b"\r\n",
        b"\r\r\n",
        b"\x1b[1;32m",
        b"\x1b[m",
        b"\x1b[K",
        b"\x1b]0;title\x07",
        b"\x1b]7;file:///x\x1b\\",
        b"\x07",
        b"\x1b(B",
        b"\x1b[?25l",
        b"\x1b=",
    ]
)


@given(st.lists(_FORWARD, max_size=40).map(b"".join))
def test_what_goes_forward_reads_as_a_terminal_shows_it(output: bytes) -> None:
    text = forward_text(output)

    assert text is not None
    shown = "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")
    assert shown == "\n".join(rendered(output, cols=1_000))


def test_three_hundred_redraws_of_a_progress_bar_are_one_line() -> None:
    bar = "".join(f"\r[{'#' * (n // 20):15}] {n}" for n in range(300))

    assert rendered(bar, "\r\nok\r\n", cols=40) == ["[############## ] 299", "ok"]


def test_a_line_that_wraps_while_rows_are_drained_stays_one_line() -> None:
    line = "".join(str(n % 10) for n in range(100_000))

    assert rendered(line, "\r\nnext", cols=7) == [line, "next"]


def test_spaces_where_a_line_wraps_are_kept() -> None:
    line = ("word" + " " * 6) * 3000 + "end"

    assert rendered(line, cols=10) == [line]


def test_blank_lines_are_counted_across_drains() -> None:
    lines = rendered("first", "\r\n" * 100_000, "last")

    assert lines == ["first", *[""] * 99_999, "last"]


@pytest.mark.parametrize("clear", ["\x1b[H\x1b[2J\x1b[3J", "\x1b[2J\x1b[H", "\x1bc", "\x1b[3J"])
def test_clearing_the_screen_keeps_what_was_printed_before(clear: str) -> None:
    for at in range(len(clear) + 1):
        lines = rendered("before\r\n" + clear[:at], clear[at:] + "after")

        assert [line for line in lines if line] == ["before", "after"]


def test_what_a_full_screen_program_drew_is_no_output() -> None:
    output = "before\r\n\x1b[?1049h\x1b[Hdrawn by vim\x1b[?1049lafter\r\n"

    assert rendered(output) == ["before", "after"]
    assert rendered("before\r\n\x1b[?1049h\x1b[Hstill in vim\x1b]0;half") == ["before"]


def test_a_long_history_survives_a_full_screen_program() -> None:
    before = [f"row {n}" for n in range(500)]

    assert rendered("\r\n".join(before), "\x1b[?1049hvim", "x" * 40_000) == before


def test_a_program_that_goes_up_far_redraws_what_is_still_there() -> None:
    rows = [f"row {n}" for n in range(SCRATCH_ROWS)]

    lines = rendered("\r\n".join(rows), f"\x1b[{SCRATCH_ROWS - 1}A\rNEW")

    assert lines == ["NEW 0", *rows[1:]]


def test_a_line_without_end_is_cut_so_that_memory_stays_bounded() -> None:
    size = 3 * MAX_LINE_CHARACTERS + 17

    def endless() -> Iterator[bytes]:
        yield from (b"x" * 65_536 for _ in range(size // 65_536))
        yield b"x" * (size % 65_536)

    tracemalloc.start()
    lengths = [len(line) for line in render_text(endless(), cols=200)]
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert lengths == [MAX_LINE_CHARACTERS] * 3 + [17]
    assert peak_bytes < 8 * MAX_LINE_CHARACTERS


def test_scrolling_without_text_costs_no_memory_and_gives_no_lines() -> None:
    assert rendered(b"\x1b[64S" * 20_000) == []


def test_lines_are_given_out_before_the_output_ends() -> None:
    def forever() -> Iterator[bytes]:
        while True:
            yield b"again\r\n" * 1000

    lines = render_text(forever(), cols=80)

    assert next(lines) == "again"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), max_size=90), max_size=120
    ),
    st.integers(1, 100),
)
def test_plain_lines_come_out_as_they_went_in(lines: list[str], cols: int) -> None:
    output = "\r\n".join(lines)

    while lines and not lines[-1]:
        lines.pop()
    assert rendered(output, cols=cols) == lines
