"""The screen in pieces that know their columns."""

from unicodedata import category

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duetty.vt import GridRow, Indexed, Piece, Style, Terminal, text_of
from tests.vt.drawn import fed
from tests.vt.strategies import HOSTILE, cuts

quick = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def text(row: GridRow) -> str:
    return "".join(piece.text for piece in row)


def test_a_plain_row_is_one_piece_to_the_last_column() -> None:
    assert fed("plain", cols=8, rows=1).grid() == ((Piece("plain   ", 8),),)


def test_styles_links_and_erased_colours_part_the_pieces() -> None:
    terminal = fed(
        "a\x1b[31mb\x1b[m\x1b]8;;http://x\x1b\\l\x1b]8;;\x1b\\\x1b[44m\x1b[K", cols=5, rows=1
    )

    assert terminal.grid() == (
        (
            Piece("a", 1),
            Piece("b", 1, Style(fg=Indexed(1))),
            Piece("l", 1, link="http://x"),
            Piece("  ", 2, Style(bg=Indexed(4))),
        ),
    )


def test_a_wide_character_and_one_of_several_code_points_are_pieces_of_their_own() -> None:
    terminal = fed("日e\u0301x日", cols=5, rows=2)

    assert terminal.grid() == (
        (
            Piece("日", 2, is_whole=True),
            Piece("e\u0301", 1, is_whole=True),
            # There is no room for half a character.
            Piece("x ", 2),
        ),
        (Piece("日", 2, is_whole=True), Piece("   ", 3)),
    )


def test_a_delete_character_that_a_program_printed_is_a_blank() -> None:
    terminal = fed("a\x7fb\x7f\u0301", cols=5, rows=1)

    assert text(terminal.grid()[0]) == "a b \u0301 "


def test_only_rows_that_changed_are_read_anew() -> None:
    terminal = fed("one\r\ntwo", cols=8, rows=3)
    before = terminal.grid()
    terminal.take_dirty()

    terminal.feed(b"!")
    after = terminal.grid(before=before, changed=terminal.take_dirty())

    assert after == terminal.grid()
    assert [new is old for new, old in zip(after, before, strict=True)] == [True, False, True]


@quick
@given(st.data(), HOSTILE)
def test_rows_taken_as_changed_make_the_same_grid(data: st.DataObject, stream: bytes) -> None:
    terminal = fed(b"", cols=12, rows=5)
    assert terminal.take_changed() is None  # the first time all of it is new
    rows = list(terminal.grid())

    for piece in data.draw(cuts(stream)):
        terminal.feed(piece)
        changed = terminal.take_changed()
        if changed is None:
            rows = list(terminal.grid())
        else:
            for at, row in changed.items():
                rows[at] = row

        assert tuple(rows) == terminal.grid()


def test_whatever_is_read_meanwhile_a_changed_row_is_still_told() -> None:
    terminal = fed("one\r\ntwo", cols=8, rows=3)
    terminal.take_changed()

    terminal.feed(b"!")
    terminal.native.cursor_shape()
    terminal.screen(styled=True)
    terminal.modes()

    assert terminal.take_changed() == {1: terminal.grid()[1]}


def test_a_key_changes_one_row() -> None:
    terminal = fed("one\r\ntwo", cols=8, rows=3)
    terminal.take_changed()

    terminal.feed(b"!")

    assert terminal.take_changed() == {1: terminal.grid()[1]}
    assert terminal.take_changed() == {}


def resized(stream: bytes, cols: int, rows: int) -> Terminal:
    terminal = fed(stream)
    terminal.resize(cols=cols, rows=rows)
    terminal.feed(stream)
    return terminal


@quick
@given(HOSTILE, st.integers(1, 30), st.integers(1, 8))
def test_any_bytes_give_a_full_grid_that_says_what_the_screen_says(
    stream: bytes, cols: int, rows: int
) -> None:
    terminal = resized(stream, cols, rows)

    grid = terminal.grid()

    lines = terminal.screen(styled=True).lines
    assert [sum(piece.cols for piece in row) for row in grid] == [cols] * rows
    assert all(len(piece.text) == piece.cols or piece.is_whole for row in grid for piece in row)
    said = [text_of(line).replace("\x7f", " ").rstrip() for line in lines]
    assert [text(row).rstrip() for row in grid] == said
    assert not any(category(each) == "Cc" for row in grid for each in text(row))
