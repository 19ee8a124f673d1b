"""Painting: whatever two frames show, the bytes between them turn the one into the other."""

from hypothesis import HealthCheck, Phase, assume, example, given, settings
from hypothesis import strategies as st

from duetty.cli.attach.cells import HALF, CellRow, cell, cells_of
from duetty.cli.attach.frame import Frame, Window, choose_window, fit
from duetty.cli.attach.mirror import Mirror
from duetty.cli.attach.paint import Abilities, Depth, Painter, Scroll, printed, safe_title
from duetty.vt import Terminal
from duetty.vt.cells import PLAIN, Piece, Style
from duetty.vt.values import Indexed, Rgb
from tests.vt.strategies import CONTROLS, HOSTILE, MOVES, PROGRAM, TEXT

COLS, ROWS = 20, 6
quick = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    # Shrinking two streams of many pieces takes minutes; the case is told as it was found.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)

SAFE_ONLY = Abilities()


def shown(mirror: Mirror) -> Frame:
    seen = mirror.screen()
    return Frame(
        rows=tuple(cells_of(row) for row in seen.rows),
        cols=seen.cols,
        cursor_row=seen.cursor_row,
        cursor_col=seen.cursor_col,
        cursor_visible=seen.cursor_visible,
    )


def fed(stream: bytes, *, cols: int = COLS, rows: int = ROWS) -> Mirror:
    mirror = Mirror(cols=cols, rows=rows)
    mirror.feed(stream)
    return mirror


def only_safe_links(row: CellRow) -> CellRow:
    """What painting keeps of links is asked for elsewhere."""
    return tuple(each if each == HALF else cell(each.text, each.style) for each in row)


def looks(frame: Frame) -> tuple[object, ...]:
    return (
        tuple(only_safe_links(row) for row in frame.rows),
        frame.cursor_row,
        frame.cursor_col,
        frame.cursor_visible,
    )


def outer_terminal(painted: bytes, *, clusters: bool = False) -> Mirror:
    """Another emulator, as the person's terminal: without wrapping, as attach sets it."""
    return fed(b"\x1b[?7l" + (b"\x1b[?2027h" if clusters else b"") + painted)


_MARKS = st.sampled_from(
    [
        *("🇩", "🇪", "\u0301", "\u200d", "👩", "\ufe0f", "❤", "日", "\u0711", "ก", "\u0e33"),
        *("ᄀ", "ᅡ", "क", "\u094d", "ष", "x", "\u0600", "\U0001f3fb", "☝", "\uff9e"),
    ]
).map(str.encode)
JOINING = st.lists(_MARKS | _MARKS | MOVES | CONTROLS | TEXT, max_size=20).map(b"".join)
"""Characters that join others, wherever the cursor was moved before."""


@example(
    b"\x1b[c       2a0   4\xd7NX\xbd#\x04\xb3-Y\x85\xa1a       \n      \xd4+\xa2\xef\xe3\x83gy)c\x10\xf3"
    b"plain words plain words 0123456789\x1b[c    \x1b[@ ",
    b"\x1b[c    m    h\xdc\xa0          \n      <R'*\xd1\xe6@;[\xd8H/           e\xcc\x81e\xcc\x81"
    b"\x1b[J    m\x1b[@ me\xcc\x81e\xcc\x81plain words ",
    True,
)
@example(b"01234567890123456789", b"\x1b[1;19He\xcc\x81\x1b[K", True)
@example(b"", "\t\u0e33".encode(), True)
@example(b"", "\x1b[1;3H🇪\x1b[1;1H🇩".encode(), True)
@quick
@given(HOSTILE | JOINING, HOSTILE | JOINING, st.booleans())
def test_painting_one_frame_after_another_shows_the_other(
    before: bytes, after: bytes, clusters: bool
) -> None:
    # What was drawn in one way of counting columns cannot be drawn again in the other.
    assume(b"2027" not in before + after and b"\x1bc" not in before + after)
    mirror = fed((b"\x1b[?2027h" if clusters else b"") + before)
    painter = Painter(SAFE_ONLY)
    painted = painter.paint(shown(mirror))

    mirror.feed(after)
    wanted = shown(mirror)
    painted += painter.paint(wanted)

    assert looks(shown(outer_terminal(painted, clusters=clusters))) == looks(wanted)


@quick
@given(PROGRAM)
def test_painting_the_same_frame_again_writes_nothing(stream: bytes) -> None:
    frame = shown(fed(stream))
    painter = Painter(SAFE_ONLY)
    painter.paint(frame)

    assert painter.paint(frame) == b""


@quick
@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(2, ROWS))
def test_rows_that_scroll_off_are_in_the_outer_scrollback_once_and_in_order(
    bursts: list[int], height: int
) -> None:
    mirror, painter = fed(b"", rows=height), Painter(SAFE_ONLY)
    outer = Terminal(cols=COLS, rows=ROWS)
    below = (fed(b"panel").screen().rows,)
    number = 0

    for burst in bursts:
        for _ in range(burst):
            mirror.feed(b"line %d\r\n" % number)
            number += 1
        scrolled = mirror.take_scrolled()
        frame = shown(mirror)
        rest = tuple(cells_of(below[0][0]) for _ in range(ROWS - height))
        scroll = Scroll(
            leaving=[cells_of(row) for row in scrolled[:height]],
            passing=scrolled[height:],
            height=height,
        )
        outer.feed(painter.paint(frame._replace(rows=frame.rows + rest), scroll))

    lines = outer.scrollback(offset=0, limit=10_000, styled=False).text_lines
    printed_lines = [line for line in lines if line.startswith("line")]
    assert printed_lines == [f"line {at}" for at in range(number)]
    assert lines[-(ROWS - height) :] == ("panel",) * (ROWS - height) or height == ROWS


def test_a_changed_character_costs_a_few_bytes_not_a_screen() -> None:
    mirror, painter = fed(b"hello\r\n" * 5), Painter(SAFE_ONLY)
    painter.paint(shown(mirror))

    mirror.feed(b"x")

    assert painter.paint(shown(mirror)) == b"\x1b[?2026h\x1b[6;1Hx\x1b[6;2H\x1b[?2026l"


def test_only_links_that_open_pages_files_or_mail_are_painted() -> None:
    def links(address: str) -> bytes:
        linked = fed(b"\x1b]8;;" + address.encode() + b"\x1b\\here\x1b]8;;\x1b\\")
        return Painter(SAFE_ONLY).paint(shown(linked))

    assert b"\x1b]8;;https://a.example/x\x1b\\" in links("https://a.example/x")
    assert b"\x1b]8;;mailto:a@b.example\x1b\\" in links("mailto:a@b.example")
    assert b"javascript" not in links("javascript:alert(1)")
    assert b"data:" not in links("data:text/html,x")
    assert b"vscode:" not in links("vscode://evil/run")


def test_colours_a_terminal_does_not_know_become_the_nearest_it_knows() -> None:
    row = (Piece("x", 1, Style(fg=Rgb(255, 0, 0), bg=Indexed(208))),)

    assert printed(row, Abilities(depth=Depth.TRUE)) == b"\x1b[0;38;2;255;0;0;48;5;208mx\x1b[m"
    assert printed(row, Abilities(depth=Depth.PALETTE)) == b"\x1b[0;38;5;196;48;5;208mx\x1b[m"
    assert printed(row, Abilities(depth=Depth.ANSI)) == b"\x1b[0;91;43mx\x1b[m"
    assert printed(row, Abilities(depth=Depth.MONO)) == b"\x1b[0mx\x1b[m"


def test_a_curly_underline_is_a_plain_one_where_it_is_not_known() -> None:
    row = (Piece("x", 1, Style(underline=3, underline_colour=Rgb(1, 2, 3))),)

    assert printed(row, Abilities()) == b"\x1b[0;4:3;58:2::1:2:3mx\x1b[m"
    assert printed(row, Abilities(fancy_underlines=False)) == b"\x1b[0;4mx\x1b[m"


def test_a_title_is_one_sequence_whatever_it_says() -> None:
    assert safe_title("a\x1b]0;b\x07\x9c\ud800c") == b"\x1b]2;a]0;bc\x1b\\"


def test_a_smaller_terminal_shows_the_part_with_the_cursor() -> None:
    whole = shown(fed(b"\x1b[6;20Hx", cols=20, rows=6))

    window = choose_window(whole, Window(), cols=8, rows=3)
    seen = fit(whole, window, cols=8, rows=3)

    assert (window, seen.cursor_row, seen.cursor_col) == (Window(row=3, col=12), 2, 7)


def test_a_larger_terminal_has_dots_where_the_session_ends() -> None:
    whole = shown(fed(b"ab", cols=2, rows=1))

    seen = fit(whole, Window(), cols=4, rows=2)

    assert ["".join(each.text for each in row) for row in seen.rows] == ["ab··", "····"]


def test_a_wide_character_cut_in_half_is_a_blank() -> None:
    whole = shown(fed("漢字".encode(), cols=4, rows=1))

    assert [each.text for each in fit(whole, Window(col=1), cols=2, rows=1).rows[0]] == [" ", " "]
    assert [each.text for each in fit(whole, Window(), cols=3, rows=1).rows[0]] == ["漢", "", " "]


def test_no_cell_holds_a_control_character() -> None:
    assert cell("\x1b[m").text == "\ufffd[m"
    assert cell("\x9b").text == "\ufffd"
    assert cells_of((Piece("ok", 2, PLAIN),)) == (cell("o"), cell("k"))
