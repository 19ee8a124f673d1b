"""What one viewer sees: the program's cells, panels beside them, overlays above them."""

from dataclasses import replace
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.surface import (
    Composer,
    Frame,
    GridReader,
    Overlay,
    Panel,
    RegionWrite,
    TextSpan,
    compose,
    set_scene,
)
from duetty.vt import Cursor, Indexed, Piece, Rgb, Style, Terminal
from tests.surface.strategies import overlays, panels, printed
from tests.vt.drawn import fed

COLS, ROWS = 20, 6


def overlay(text: str, *, x: int = 0, y: int = 0, width: int = 8, height: int = 2) -> Overlay:
    return Overlay(id="o", x=x, y=y, z=0, width=width, height=height, spans=(TextSpan(text=text),))


def seen(
    terminal: Terminal, *elements: Overlay | Panel, cols: int = COLS, rows: int = ROWS
) -> Frame:
    return compose(
        terminal.grid(),
        terminal.cursor,
        set_scene(
            [each for each in elements if isinstance(each, Overlay)],
            [each for each in elements if isinstance(each, Panel)],
            cols=cols,
            rows=rows,
        ),
    )


def text(frame: Frame) -> list[str]:
    return [line.rstrip() for line in frame.text_lines]


def style_at(frame: Frame, row: int, col: int) -> Style:
    at = 0
    for piece in frame.rows[row]:
        at += piece.cols
        if col < at:
            return piece.style
    raise AssertionError("beyond the row")


# --- overlays -----------------------------------------------------------------


def test_an_overlay_covers_what_is_under_it_and_nothing_else() -> None:
    terminal = fed("one two three\r\nfour five six", cols=COLS, rows=ROWS)

    frame = seen(terminal, replace(overlay("hi", x=4, width=3), background="blue"))

    assert text(frame)[:2] == ["one hi  three", "four   ve six"]
    assert style_at(frame, 0, 4) == Style(bg=Indexed(4))
    assert style_at(frame, 1, 6) == Style(bg=Indexed(4))
    assert style_at(frame, 0, 7) == Style()


def test_without_a_background_what_is_below_shows_where_no_text_is() -> None:
    terminal = fed("one two three\r\nfour five six", cols=COLS, rows=ROWS)

    frame = seen(terminal, overlay("hi", x=4, width=6))

    assert text(frame)[:2] == ["one hio three", "four five six"]


def test_text_is_cut_at_the_overlays_own_edges() -> None:
    terminal = fed("." * COLS + "." * COLS + "." * COLS, cols=COLS, rows=ROWS)

    frame = seen(terminal, overlay("abcdefgh\nij\nkl", x=2, width=4, height=2))

    assert text(frame)[:3] == ["..abcd" + "." * 14, "..ij" + "." * 16, "." * COLS]


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (-2, 0, ["cd", "gh", ""]),
        (18, 0, ["                  ab", "                  ef", ""]),
        (0, -1, ["efgh", "", ""]),
        (0, 2, ["", "", "abcd"]),
        (20, 0, ["", "", ""]),
        (-4, 0, ["", "", ""]),
        (0, 3, ["", "", ""]),
        (-65_535, -65_535, ["", "", ""]),
    ],
)
def test_what_lies_beyond_the_screen_is_not_drawn(x: int, y: int, expected: list[str]) -> None:
    terminal = fed(cols=COLS, rows=3)

    frame = seen(terminal, overlay("abcd\nefgh", x=x, y=y, width=4), rows=3)

    assert text(frame) == expected


@pytest.mark.parametrize(
    ("x", "expected"), [(0, "# 本語x"), (1, " #本語x"), (2, "日# 語x"), (5, "日本 #x")]
)
def test_half_of_a_wide_character_at_an_edge_is_a_blank(x: int, expected: str) -> None:
    terminal = fed("日本語x", cols=COLS, rows=1)

    frame = seen(terminal, overlay("#", x=x, width=1, height=1), rows=1)

    assert text(frame) == [expected]
    assert sum(piece.cols for piece in frame.rows[0]) == COLS


def test_a_wide_character_that_an_overlays_edge_cuts_is_a_blank() -> None:
    terminal = fed("........", cols=8, rows=1)

    frame = seen(terminal, overlay("a日b", width=2, height=1), cols=8, rows=1)

    assert text(frame) == ["a ......"]


def test_a_wide_character_that_the_screens_edge_cuts_is_a_blank() -> None:
    terminal = fed("........", cols=8, rows=1)

    left = seen(terminal, overlay("日日b", x=-3, height=1), cols=8, rows=1)
    right = seen(terminal, overlay("b日", x=6, height=1), cols=8, rows=1)

    assert (text(left), text(right)) == ([" b......"], ["......b"])


def test_combining_marks_stay_with_their_character() -> None:
    terminal = fed(cols=COLS, rows=1)

    frame = seen(terminal, overlay("e\u0301x👨‍👩‍👧y", height=1), rows=1)

    assert text(frame) == ["e\u0301x👨‍👩‍👧y"]
    assert [(piece.text, piece.cols) for piece in frame.rows[0]][:4] == [
        ("e\u0301", 1),
        ("x", 1),
        ("👨‍👩‍👧", 2),
        ("y".ljust(COLS - 4), COLS - 4),
    ]


def test_a_region_write_is_drawn_above_the_spans_and_halves_what_it_cuts() -> None:
    terminal = fed(cols=COLS, rows=2)
    box = replace(
        overlay("日本\nlow"),
        region_writes=(
            RegionWrite(row=0, col=1, text="!", fg="red", bold=True),
            RegionWrite(row=0, col=2, text="?"),
            RegionWrite(row=1, col=4, text="日\nnever"),
        ),
    )

    frame = seen(terminal, box, rows=2)

    assert text(frame) == [" !?", "low 日"]
    assert style_at(frame, 0, 1) == Style(fg=Indexed(1), bold=True)


def test_a_span_has_its_own_colours_or_the_elements_background() -> None:
    terminal = fed(cols=COLS, rows=1)
    box = replace(
        overlay("", height=1),
        background=Rgb(1, 2, 3),
        spans=(
            TextSpan(text="a", fg="white", italic=True, underline=True),
            TextSpan(text="b", bg="black"),
        ),
    )

    frame = seen(terminal, box, rows=1)

    assert style_at(frame, 0, 0) == Style(fg=Indexed(7), bg=Rgb(1, 2, 3), italic=True, underline=1)
    assert style_at(frame, 0, 1) == Style(bg=Indexed(0))
    assert style_at(frame, 0, 2) == Style(bg=Rgb(1, 2, 3))


def test_the_higher_z_is_on_top_and_between_equals_the_later_one() -> None:
    terminal = fed(cols=COLS, rows=1)
    low = replace(overlay("lllll", height=1), id="low", z=1)
    high = replace(overlay("hhh", height=1), id="high", z=2)
    later = replace(overlay("e", height=1), id="later", z=2, made=9)

    assert text(seen(terminal, later, high, low, rows=1)) == ["ehhll"]


def test_a_tab_goes_to_the_next_stop_within_the_element() -> None:
    terminal = fed(cols=COLS, rows=1)

    frame = seen(terminal, overlay("a\tb", x=2, width=12, height=1), rows=1)

    assert text(frame) == ["  a       b"]


# --- hostile text -------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("\x1b[31mred\x1b[m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;javascript:1\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP$q\x1b\\x", "x"),
        ("\x9b31mx", "x"),
        ("\x1b[", "�["),
        ("\x1b]52;c;", "�]52;c;"),
        ("a\rb", "a�b"),
        ("a\x00\x07\x7f\x85b", "a����b"),
        ("a\u202eb\u2028c", "a�b�c"),
        ("\ud83d", "�"),
    ],
)
def test_nothing_in_an_elements_text_commands_a_terminal(given: str, shown: str) -> None:
    terminal = fed(cols=COLS, rows=1)

    frame = seen(terminal, overlay(given, width=COLS, height=1), rows=1)

    assert text(frame) == [shown]


# --- panels -------------------------------------------------------------------


def test_panels_frame_the_program_and_show_their_background_to_the_last_column() -> None:
    terminal = fed("program", cols=COLS, rows=3)

    frame = seen(
        terminal,
        Panel(
            id="t", position="top", height=1, z=0, spans=(TextSpan(text="top"),), background="red"
        ),
        Panel(id="b", position="bottom", height=2, z=0, spans=(TextSpan(text="é日\nlast"),)),
    )

    assert text(frame) == ["top", "program", "", "", "é日", "last"]
    assert frame.rows[0] == (Piece("top" + " " * (COLS - 3), COLS, Style(bg=Indexed(1))),)
    assert frame.cursor == Cursor(1, 7, True)


def test_an_overlay_lies_above_panels_too() -> None:
    terminal = fed("program", cols=COLS, rows=3)
    panel = Panel(id="t", position="top", height=1, z=9, spans=(TextSpan(text="status"),))

    frame = seen(terminal, panel, overlay("XX\nYY", x=1, width=2), rows=4)

    assert text(frame)[:2] == ["sXXtus", "pYYgram"]


def test_elements_of_the_other_screen_mode_are_not_drawn() -> None:
    terminal = fed("program", cols=COLS, rows=ROWS)
    hidden = replace(overlay("alt"), screen_mode="alt")
    panel = Panel(id="p", position="top", height=2, z=0, screen_mode="alt")

    assert seen(terminal, hidden, panel) == seen(terminal)


def test_a_program_that_has_not_its_new_size_yet_is_cut_or_filled_up() -> None:
    terminal = fed("日本語日本語日本語日\r\nb\r\nc\r\nd", cols=COLS, rows=4)

    smaller = seen(terminal, cols=7, rows=2)
    larger = seen(terminal, cols=22, rows=5)

    assert smaller.text_lines == ("日本語 ", "b      ")
    assert smaller.cursor == Cursor(1, 1, False)
    assert text(larger) == ["日本語日本語日本語日", "b", "c", "d", ""]
    assert [len(line) for line in larger.text_lines[1:]] == [22] * 4


# --- cursor -------------------------------------------------------------------


def test_the_cursor_is_not_shown_through_an_overlay() -> None:
    terminal = fed("$ ", cols=COLS, rows=ROWS)

    covered = seen(terminal, overlay("abc"))
    beside = seen(terminal, overlay("abc", y=1))

    assert covered.cursor == Cursor(0, 2, False)
    assert beside.cursor == Cursor(0, 2, True)


# --- frames one after another ---------------------------------------------------


def test_rows_that_did_not_change_are_the_same_objects_in_the_next_frame() -> None:
    terminal = fed("one\r\ntwo\r\nthree", cols=COLS, rows=ROWS)
    reader, composer = GridReader(terminal), Composer()
    scene = set_scene([overlay("box", y=4)], [], cols=COLS, rows=ROWS)
    before = composer.compose(reader.rows(), terminal.cursor, scene)

    terminal.feed(b"!")
    after = composer.compose(reader.rows(), terminal.cursor, scene)

    changed = [at for at in range(ROWS) if after.rows[at] is not before.rows[at]]
    assert [at for at in changed if after.rows[at] != before.rows[at]] == [2]
    assert text(after)[2] == "three!"
    assert changed == [2, 4]


def test_an_element_that_moved_or_changed_is_drawn_anew() -> None:
    terminal = fed(cols=COLS, rows=2)
    composer = Composer()
    box = overlay("one", height=1)

    def shown(each: Overlay) -> list[str]:
        scene = set_scene([each], [], cols=COLS, rows=2)
        return text(composer.compose(terminal.grid(), terminal.cursor, scene))

    assert shown(box) == ["one", ""]
    assert shown(replace(box, spans=(TextSpan(text="two"),))) == ["two", ""]
    assert shown(replace(box, x=1)) == [" one", ""]
    assert shown(replace(box, y=1)) == ["", "one"]


# --- properties ---------------------------------------------------------------


def is_shown(character: str) -> bool:
    return category(character) not in ("Cc", "Cs", "Zl", "Zp")


@given(
    over=st.lists(overlays, max_size=4),
    beside=st.lists(panels, max_size=3),
    program=printed,
    cols=st.integers(1, 30),
    rows=st.integers(1, 8),
)
def test_a_frame_has_exactly_its_cells_and_no_control_character(
    over: list[Overlay], beside: list[Panel], program: str, cols: int, rows: int
) -> None:
    scene = set_scene(over, beside, cols=cols, rows=rows)
    terminal = fed(program, cols=cols, rows=scene.layout.program_rows)

    frame = compose(terminal.grid(), terminal.cursor, scene)

    assert len(frame.rows) == rows
    assert {sum(piece.cols for piece in row) for row in frame.rows} == {cols}
    assert all(
        len(piece.text) == piece.cols or piece.is_whole for row in frame.rows for piece in row
    )
    assert all(is_shown(character) for line in frame.text_lines for character in line)
    assert 0 <= frame.cursor.row < rows
    assert 0 <= frame.cursor.col < cols


@given(over=st.lists(overlays, max_size=3), program=printed)
def test_taking_every_overlay_away_shows_the_bare_screen_again(
    over: list[Overlay], program: str
) -> None:
    terminal = fed(program, cols=COLS, rows=ROWS)
    composer = Composer()
    bare = set_scene([], [], cols=COLS, rows=ROWS)
    before = composer.compose(terminal.grid(), terminal.cursor, bare)

    composer.compose(terminal.grid(), terminal.cursor, set_scene(over, [], cols=COLS, rows=ROWS))
    after = composer.compose(terminal.grid(), terminal.cursor, bare)

    assert after == before == Frame(cols=COLS, rows=terminal.grid(), cursor=terminal.cursor)


@given(chunks=st.lists(printed, max_size=6))
def test_reading_only_what_changed_gives_what_reading_everything_gives(chunks: list[str]) -> None:
    terminal = fed(cols=COLS, rows=ROWS)
    reader = GridReader(terminal)

    for number, chunk in enumerate(chunks):
        terminal.feed(chunk.encode())
        if number == 2:
            terminal.resize(cols=COLS - 3, rows=ROWS + 1)

        assert reader.rows() == terminal.grid()


@given(program=printed)
def test_a_grid_row_says_what_the_screen_says(program: str) -> None:
    terminal = fed(program, cols=COLS, rows=ROWS)

    frame = seen(terminal)

    assert tuple(text(frame)) == terminal.screen(styled=False).text_lines
    assert {sum(piece.cols for piece in row) for row in terminal.grid()} == {COLS}


def test_a_mark_that_comes_later_is_read_wherever_it_goes() -> None:
    for mark in (
        "\u0301",
        "\u20d7",
        "\u0e31",
        "\ufe0f",
        "\u200d",
        "\U0001f3fb",
        "\uff9e",
        "\u11a8",
    ):
        for cluster_mode in (b"", b"\x1b[?2027h"):
            terminal = Terminal(cols=12, rows=5)
            reader = GridReader(terminal)
            terminal.feed(cluster_mode + "a\r\n각".encode())
            reader.rows()
            for byte in ("\x1b[1;2H" + mark + "\n" + mark).encode():
                terminal.feed(bytes([byte]))
                read = reader.rows()

            assert read == terminal.grid(), mark  # pyright: ignore[reportPossiblyUnboundVariable] - never empty
