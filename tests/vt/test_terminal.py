import mmap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duetty.vt import (
    MAX_SIZE,
    NOTHING,
    Changes,
    Cursor,
    Indexed,
    MouseFormat,
    MouseTracking,
    Rgb,
    Span,
    Terminal,
)
from tests.vt.drawn import drawn, fed, seen

# --- bytes in -------------------------------------------------------------------


def test_text_is_drawn_where_the_cursor_is() -> None:
    terminal = fed("$ echo hi\x1b[7D")

    assert drawn(terminal) == "$ |echo hi"


def test_printing_changes_nothing_that_needs_telling() -> None:
    terminal = fed()

    assert terminal.feed(b"text") is NOTHING
    assert terminal.feed(b"") is NOTHING


def test_bells_title_directory_and_screen_are_told_together() -> None:
    terminal = fed()

    changes = terminal.feed(b"\x07\x07\x1b]2;vim\x07\x1b]7;file://host/tmp/a%20b\x1b\\\x1b[?1049h")

    assert changes == Changes(bells=2, title_changed=True, cwd_changed=True, alternate_changed=True)
    assert (terminal.title, terminal.cwd) == ("vim", "/tmp/a b")
    assert terminal.feed(b"more") is NOTHING


@pytest.mark.parametrize(
    ("announced", "cwd"),
    [
        (b"file:///srv/x", "/srv/x"),
        (b"kitty-shell-cwd://host/a%20b", "/a%20b"),
        (b"/bare", "/bare"),
        (b"http://host/x", None),
        (b"file://[", None),
        (b"", None),
    ],
)
def test_the_directory_is_a_path_or_unknown(announced: bytes, cwd: str | None) -> None:
    terminal = fed(b"\x1b]7;" + announced + b"\x07")

    assert terminal.cwd == cwd


@pytest.mark.parametrize(
    ("query", "reply"),
    [
        (b"\x1b[c", b"\x1b[?62;22c"),
        (b"\x1b[>c", b"\x1b[>1;10;0c"),
        (b"\x1b[=c", b"\x1bP!|00000000\x1b\\"),
        (b"\x1b[5n", b"\x1b[0n"),
        (b"ab\x1b[6n", b"\x1b[1;3R"),
        (b"\x1b[?2004$p", b"\x1b[?2004;2$y"),
        (b"\x1b[>q", b"\x1bP>|duetty\x1b\\"),
        (b"\x1b]10;?\x07", b"\x1b]10;rgb:d0d0/d0d0/d0d0\x07"),
        (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
        (b"\x1b[14t", b"\x1b[4;80;160t"),
        (b"\x1b[16t", b"\x1b[6;16;8t"),
        (b"\x1b[18t", b"\x1b[8;5;20t"),
        (b"\x1b[?2048h", b"\x1b[48;5;20;80;160t"),
        (b"\x1b[?996n", b"\x1b[?997;1n"),
        (b"\x1b[?u", b"\x1b[?0u"),
    ],
)
def test_a_program_gets_the_answer_it_asked_for(query: bytes, reply: bytes) -> None:
    assert fed().feed(query).replies == reply


@pytest.mark.parametrize(
    "query",
    [
        b"\x1b]2;rm -rf\x07\x1b[21t",
        b"\x1b]52;c;?\x07",
        b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
        b"\x05",
    ],
)
def test_what_could_inject_input_is_never_answered(query: bytes) -> None:
    assert fed().feed(query).replies == b""


def test_a_silent_terminal_answers_again_when_it_is_no_longer_silent() -> None:
    terminal = fed()
    terminal.silent = True

    during = terminal.feed(b"\x1b[c\x07")
    terminal.silent = False

    assert during == Changes(bells=1)
    assert not terminal.silent
    assert terminal.feed(b"\x1b[c").replies == b"\x1b[?62;22c"


def test_a_map_of_a_file_is_fed_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"from the journal")
    terminal = fed()

    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        terminal.feed(memoryview(mapped)[5:])
        mapped.close()  # raises BufferError if a view were still exported
    growing = bytearray(b"!")
    terminal.feed(growing)
    growing.append(0)

    assert drawn(terminal) == "the journal!|"


def test_a_character_split_over_feeds_is_one_character() -> None:
    terminal = fed(*(bytes([byte]) for byte in "é日👩".encode()))

    assert terminal.text(join_wraps=False) == "é日👩"


def test_the_epoch_grows_with_bytes_and_sizes() -> None:
    terminal = fed()

    epochs = [terminal.epoch]
    terminal.feed(b"x")
    epochs.append(terminal.epoch)
    terminal.feed(b"")
    epochs.append(terminal.epoch)
    terminal.resize(cols=10, rows=5)
    epochs.append(terminal.epoch)

    assert epochs == [0, 1, 1, 2]


# --- size -------------------------------------------------------------------------


def test_a_narrower_terminal_wraps_rows_and_a_wider_one_joins_them() -> None:
    terminal = fed("0123456789abcdef")

    terminal.resize(cols=10, rows=5)
    narrow = drawn(terminal)
    terminal.resize(cols=20, rows=5)

    assert narrow == "0123456789\nabcdef|"
    assert drawn(terminal) == "0123456789abcdef|"


def test_a_program_that_asked_is_told_its_new_size() -> None:
    terminal = fed(b"\x1b[?2048h")

    changes = terminal.resize(cols=30, rows=6)

    assert changes.replies == b"\x1b[48;6;30;96;240t"
    assert (terminal.cols, terminal.rows) == (30, 6)


@pytest.mark.parametrize("size", [0, -1, MAX_SIZE + 1, 65_535])
def test_a_size_out_of_bounds_is_refused(size: int) -> None:
    terminal = fed()

    with pytest.raises(ValueError, match="not within"):
        terminal.resize(cols=size, rows=5)
    with pytest.raises(ValueError, match="not within"):
        Terminal(cols=80, rows=size)


def test_scrollback_cannot_be_negative() -> None:
    with pytest.raises(ValueError, match="negative"):
        Terminal(cols=80, rows=24, scrollback_rows=-1)


def test_the_largest_size_works() -> None:
    terminal = Terminal(cols=1, rows=1)

    terminal.resize(cols=MAX_SIZE, rows=MAX_SIZE)
    terminal.feed(b"x" * MAX_SIZE)
    terminal.resize(cols=1, rows=1)

    assert terminal.screen(styled=True).lines == ((Span("x"),),)


# --- screens ------------------------------------------------------------------------


def test_a_fresh_screen_has_all_its_rows_blank() -> None:
    screen = fed().screen(styled=True)

    assert (screen.lines, screen.total_lines, screen.first_line_index) == (((),) * 5, 5, 0)
    assert screen.cursor == Cursor(row=0, col=0, visible=True)


def test_neighbours_that_look_the_same_are_one_span() -> None:
    terminal = fed("a\x1b[1;31mb\x1b[8mc\x1b[0m d \x1b[38;2;1;2;3;48;5;200me\x1b[m  ")

    assert terminal.screen(styled=True).lines[0] == (
        Span("a"),
        Span("bc", fg=Indexed(1), bold=True),
        Span(" d "),
        Span("e", fg=Rgb(1, 2, 3), bg=Indexed(200)),
    )


def test_every_attribute_of_a_span_is_read() -> None:
    terminal = fed("\x1b[1;2;3;4:3;5;7;9mx")

    assert terminal.screen(styled=True).lines[0] == (
        Span(
            "x",
            bold=True,
            faint=True,
            italic=True,
            underline=True,
            strikethrough=True,
            blink=True,
            inverse=True,
        ),
    )


def test_trailing_blanks_stay_when_they_have_a_colour() -> None:
    terminal = fed("\x1b[44mab\x1b[K\r\n\x1b[48;2;1;216;255m\x1b[2K\x1b[m", cols=6)

    lines = terminal.screen(styled=True).lines

    assert lines[0] == (Span("ab    ", bg=Indexed(4)),)
    assert lines[1] == (Span("      ", bg=Rgb(1, 216, 255)),)
    assert terminal.screen(styled=False).lines[:2] == ("ab", "")


def test_wide_and_combined_characters_are_read_once() -> None:
    terminal = fed("日\x1b[1m本\x1b[me\u0301x\u0301 y")

    screen = terminal.screen(styled=True)

    assert screen.lines[0] == (Span("日"), Span("本", bold=True), Span("e\u0301x\u0301 y"))
    assert screen.cursor.col == 8


def test_a_wide_character_that_does_not_fit_leaves_no_gap_in_the_text() -> None:
    terminal = fed("abc日", cols=4)

    assert terminal.screen(styled=True).text_lines[:2] == ("abc", "日")
    assert terminal.text(join_wraps=True) == "abc日"


def test_spans_carry_their_link() -> None:
    one, two = "https://example.org/1", "https://example.org/2"
    terminal = fed(f"a\x1b]8;;{one}\x1b\\b\x1b]8;;{two}\x1b\\cd\x1b]8;;\x1b\\ ")

    assert terminal.screen(styled=True).lines[0] == (
        Span("a"),
        Span("b", link=one),
        Span("cd", link=two),
    )


def test_a_program_cannot_fill_our_memory_with_styles() -> None:
    colours = (f"\x1b[38;2;{n % 256};{n // 256};0mx" for n in range(5000))
    terminal = fed(*colours, cols=100, rows=50)

    assert len(terminal.screen(styled=True).lines[0]) == 100


def test_dirty_rows_are_those_that_changed_since_the_last_take() -> None:
    terminal = fed("one\r\ntwo\r\nthree")

    first = terminal.take_dirty()
    terminal.feed(b"\x1b[2;1Hxxx")
    terminal.screen(styled=True)
    second = terminal.take_dirty()

    assert first == frozenset(range(5))
    assert 1 in second
    assert second <= {1, 2}
    assert terminal.take_dirty() == frozenset()


# --- scrollback -----------------------------------------------------------------------


def test_scrollback_is_history_then_screen_counted_from_the_oldest() -> None:
    terminal = fed("\r\n".join(f"row {n}" for n in range(12)))

    assert terminal.total_rows == 12
    for styled in (False, True):
        first = terminal.scrollback(offset=0, limit=2, styled=styled)
        last = terminal.scrollback(offset=-3, limit=100, styled=styled)
        middle = terminal.scrollback(offset=4, limit=6, styled=styled)
        past = terminal.scrollback(offset=12, limit=5, styled=styled)
        assert (first.text_lines, first.offset) == (("row 0", "row 1"), 0)
        assert (last.text_lines, last.offset) == (("row 9", "row 10", "row 11"), 9)
        assert middle.text_lines == tuple(f"row {n}" for n in range(4, 10))
        assert (past.lines, past.total_lines) == ((), 12)
    assert terminal.scrollback(offset=-100, limit=1, styled=False).text_lines == ("row 0",)


def test_the_alternate_screen_has_no_scrollback_and_gives_it_back() -> None:
    terminal = fed("\r\n".join(f"row {n}" for n in range(12)))

    entered = terminal.feed(b"\x1b[?1049hvim")
    inside = terminal.scrollback(offset=0, limit=100, styled=False)
    left = terminal.feed(b"\x1b[?1049l")

    assert entered.alternate_changed
    assert left.alternate_changed
    assert (inside.total_lines, len(inside.lines)) == (5, 5)
    assert terminal.scrollback(offset=0, limit=1, styled=False).text_lines == ("row 0",)
    assert terminal.total_rows == 12


@pytest.mark.parametrize("cols", [1, 7, 80, 300])
def test_scrollback_keeps_what_was_promised_and_shows_no_more(cols: int) -> None:
    terminal = fed(cols=cols, scrollback_rows=1000)
    totals = set[int]()

    for _ in range(60):
        terminal.feed(b"x\r\n" * 1000)
        totals.add(terminal.total_rows)

    assert totals <= {1001, 1005}
    scrollback = terminal.scrollback(offset=0, limit=10_000, styled=False)
    assert scrollback.text_lines == ("x",) * 1004 + ("",)


def test_scrollback_survives_a_narrow_moment() -> None:
    terminal = fed(*(f"{n:070}\r\n" for n in range(1000)), cols=80, scrollback_rows=1000)

    terminal.resize(cols=10, rows=5)
    terminal.resize(cols=80, rows=5)

    assert terminal.total_rows == 1001


def test_text_is_everything_with_wraps_kept_or_joined() -> None:
    terminal = fed("0123456789", "\r\n", "x\r\n\r\n", cols=5, rows=2)

    assert terminal.text(join_wraps=False) == "01234\n56789\nx"
    assert terminal.text(join_wraps=True) == "0123456789\nx"


def test_html_is_safe_to_show() -> None:
    terminal = fed(
        "<b> \x1b]8;;javascript:alert(1)\x07bad\x1b]8;;https://ok/?a&\x07good\x1b]8;;\x07",
        "\r\n\x1b[1;2;3;4;9;31;48;2;1;2;3mall\x1b[m\x1b[7minverse\x1b[44mblue",
    )

    html = terminal.html()

    assert html == (
        '<pre class="vt">&lt;b&gt; bad<a href="https://ok/?a&amp;" rel="noopener noreferrer">good</a>\n'
        '<span style="color:var(--vt-palette-1);background:rgb(1,2,3);font-weight:bold;opacity:.5;'
        'font-style:italic;text-decoration:underline line-through">all</span>'
        '<span style="color:var(--vt-background);background:var(--vt-foreground)">inverse</span>'
        '<span style="color:var(--vt-palette-4);background:var(--vt-foreground)">blue</span></pre>'
    )


# --- modes ------------------------------------------------------------------------------


def test_modes_of_a_fresh_terminal_are_off() -> None:
    modes = fed().modes()

    assert modes.mouse_tracking is MouseTracking.NONE
    assert modes.mouse_format is MouseFormat.X10
    assert modes.cursor_visible
    assert modes.wraparound
    assert not modes.bracketed_paste
    assert not modes.application_cursor
    assert modes.kitty_keyboard == 0


def test_modes_are_what_the_program_asked_for() -> None:
    terminal = fed("\x1b[?1;25;2004;1004;1002;1006;2026;2027;5;6h\x1b[?25;7l\x1b[4h\x1b=\x1b[>5u")

    modes = terminal.modes()

    assert (modes.mouse_tracking, modes.mouse_format) == (MouseTracking.DRAG, MouseFormat.SGR)
    assert modes.kitty_keyboard == 5
    assert not modes.cursor_visible
    assert not modes.wraparound
    assert modes.application_cursor
    assert modes.application_keypad
    assert modes.bracketed_paste
    assert modes.focus_reporting
    assert modes.insert
    assert modes.origin
    assert modes.reverse_video
    assert modes.synchronized_output
    assert modes.grapheme_clusters


# --- whole states -------------------------------------------------------------------------


@pytest.mark.parametrize("snapshot", [b"", b"short", b"duetty-vt\x02" + bytes(40), bytes(64)])
def test_what_is_no_snapshot_is_refused(snapshot: bytes) -> None:
    with pytest.raises(ValueError, match="not a snapshot"):
        Terminal.restore(snapshot)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_snapshot_is_refused(data: st.DataObject) -> None:
    snapshot = bytearray(fed("hello\r\n" * 20).snapshot())

    snapshot[data.draw(st.integers(0, len(snapshot) - 1))] ^= data.draw(st.integers(1, 255))

    with pytest.raises(ValueError, match="snapshot"):
        Terminal.restore(bytes(snapshot))
    with pytest.raises(ValueError, match="snapshot"):
        Terminal.restore(bytes(snapshot[:-9]))


def test_a_restored_terminal_keeps_its_bounds_and_its_epoch() -> None:
    terminal = fed("x\r\n" * 500, scrollback_rows=50)

    restored = Terminal.restore(terminal.snapshot())

    assert (restored.scrollback_rows, restored.epoch) == (50, terminal.epoch)
    assert restored.total_rows == 55
    assert restored.feed(b"\x1b[c").replies == b"\x1b[?62;22c"


def test_a_string_broken_off_by_a_c1_control_can_be_kept() -> None:
    terminal = fed(b"a\x1b_x\x90")

    restored = Terminal.restore(terminal.snapshot())

    for each in (terminal, restored):
        each.feed(b"q\x1b\\b")
    assert drawn(restored) == drawn(terminal) == "ab|"


@pytest.mark.parametrize(
    ("opening", "ending"),
    [
        (b"\x1b]0;", b"\x07"),
        (b"\x1b]52;c;", b"\x1b\\"),
        (b"\x1bP+q", b"\x1b\\"),
        (b"\x1b_G", b"\x1b\\"),
        (b"\x1b^", b"\x1b\\"),
        (b"\x1bX", b"\x1b\\"),
        (b"\x1b[", b"m"),
    ],
)
@pytest.mark.parametrize("piece_bytes", [1_000, 100_000])
@pytest.mark.sampled(3)
def test_a_sequence_that_never_ends_is_swallowed_and_can_be_kept(
    opening: bytes, ending: bytes, piece_bytes: int
) -> None:
    terminal = fed(b"before ")

    terminal.feed(opening + b"1" * piece_bytes)
    for _ in range(300_000 // piece_bytes):
        terminal.feed(b"1" * piece_bytes)
        assert len(terminal.snapshot()) < 80_000
    restored = Terminal.restore(terminal.snapshot())

    for each in (terminal, restored):
        each.feed(b"1" + ending + b"after")
        assert drawn(each) == "before after|"


def test_an_escape_with_endless_intermediates_does_no_harm() -> None:
    terminal = fed(b"a\x1b" + b"(" * 100_000)

    assert drawn(Terminal.restore(terminal.snapshot())) == "a|"


@pytest.mark.parametrize(
    "stream",
    [
        "",
        "short",
        "\r\n".join(f"row {n}" for n in range(20)),
        "row\r\n" * 20,
        "wrapped over more than one row of it and on",
        "0" * 20,
        "\x1b[31m" + "日" * 10,
        "full row then blank\r\n\r\n\r\n",
        "0" * 20 + "\x1b[1;1H\x1b[2;1Hx\x1b[2K\x1b[4;2H",
        "\x1b[2;4r\x1b[?6h\x1b[2;2Hin the region",
        "\x1b[?69h\x1b[3;9s\x1b[?6h\x1b[2;2Hx",
        "\x1b[4h\x1b[?7lno wrap here at the end of row",
        "\x1b[5 q\x1b]2;t\x07\x1b]7;file:///x\x07",
        "\x1b[1;4:3;58;5;9;8;53;38;2;1;2;3mall",
        "\x1b]8;;https://x/\x1b\\link\x1b]8;;\x1b\\",
        "\x1b(0lqk",
        "\x1b[?2027h👩\u200d👩\u200d👧|",
        "half of a sequence\x1b]2;ti",
        "shell\r\n$ vim\x1b[?1049h\x1b[2;3HALT\x1b[1;31m",
        "pen\x1b[44m\x1b(0\x1b[?1049hplain",
    ],
)
def test_a_dump_shows_a_viewer_the_same(stream: str) -> None:
    original = fed(stream)

    rebuilt = fed(original.dump())

    assert seen(rebuilt)[0].lines == seen(original)[0].lines
    assert drawn(rebuilt) == drawn(original)
    assert rebuilt.modes() == original.modes()
    for each in (original, rebuilt):
        each.feed(b"next\x07")
    assert seen(rebuilt)[0].lines == seen(original)[0].lines
    assert rebuilt.title == original.title


def test_a_dump_brings_the_scrollback_or_the_end_of_it() -> None:
    original = fed("\r\n".join(f"\x1b[3{n % 8}mrow {n}\x1b[m" for n in range(40)) + "\r\n" * 9)

    whole, end = fed(original.dump()), fed(original.dump(scrollback_rows=3))

    assert seen(whole)[1] == seen(original)[1]
    assert end.total_rows == 8
    assert fed(original.dump(scrollback_rows=0)).total_rows == 5


def test_a_viewer_that_came_during_vim_sees_the_shell_after_it() -> None:
    original = fed("\r\n".join(f"row {n}" for n in range(9)) + "\r\n$ \x1b[?1049hvim")

    rebuilt = fed(original.dump())
    for each in (original, rebuilt):
        each.feed(b"\x1b[?1049l")

    assert drawn(rebuilt) == drawn(original)
    assert rebuilt.total_rows == original.total_rows


def test_closing_twice_is_closing_once() -> None:
    terminal = fed("x")
    terminal.take_dirty()

    terminal.close()
    terminal.close()

    with pytest.raises(TypeError):
        terminal.feed(b"x")


def test_a_dump_colours_no_cell_after_a_coloured_word_that_wrapped() -> None:
    """Scrolling with a background fills the new row with it."""
    original = Terminal(cols=12, rows=4)
    original.feed(b"row\r\n" * 5 + b"\x1b[41m" + b"w" * 14 + b"\x1b[m\x1b[K")
    rebuilt = Terminal(cols=12, rows=4)

    rebuilt.feed(original.dump())

    assert rebuilt.grid() == original.grid()


def test_a_screen_with_more_spans_than_are_wanted_is_not_read_to_its_end() -> None:
    terminal = Terminal(cols=10, rows=4)
    terminal.feed(b"\x1b[31ma\x1b[32mb\r\n\x1b[31mc\x1b[32md\r\n\x1b[31me")

    assert terminal.styled_screen(max_spans=5) == terminal.screen(styled=True)
    assert terminal.styled_screen(max_spans=4) is None
