"""The session's terminal on this side: what is kept between two looks is never out of date."""

from hypothesis import given, settings
from hypothesis import strategies as st

from duetty.cli.attach.mirror import KEPT_ROWS, Mirror
from duetty.vt import Terminal
from tests.vt.strategies import HOSTILE, cuts

quick = settings(max_examples=150, deadline=None)


@quick
@given(st.data(), HOSTILE)
def test_looking_often_shows_the_same_as_looking_once(data: st.DataObject, stream: bytes) -> None:
    mirror = Mirror(cols=12, rows=5)
    once = Terminal(cols=12, rows=5)

    for piece in data.draw(cuts(stream)):
        mirror.feed(piece)
        mirror.screen()
    once.feed(stream)
    seen = mirror.screen()

    assert seen.rows == once.grid()
    assert seen.modes == once.modes()
    assert (seen.cursor_row, seen.cursor_col) == (once.cursor.row, once.cursor.col)
    assert mirror.title == once.title


def test_a_mark_that_comes_later_is_seen_wherever_it_goes() -> None:
    for mark in ("\u0301", "\u20d7", "\u0e31", "\ufe0f", "\u200d", "\U0001f3fb"):
        mirror = Mirror(cols=12, rows=5)
        mirror.feed(b"a\r\nb")
        mirror.screen()
        for byte in ("\x1b[1;2H" + mark).encode():
            mirror.feed(bytes([byte]))
            seen = mirror.screen()

        assert seen.rows == mirror._terminal.grid(), mark  # pyright: ignore[reportPrivateUsage, reportPossiblyUnboundVariable] - what a fresh look says


def test_the_mirror_never_answers() -> None:
    mirror = Mirror(cols=12, rows=5)
    mirror.feed(b"\x1b[c\x1b[6n\x1b[21t")

    assert mirror._terminal.feed(b"\x1b[c").replies == b""  # pyright: ignore[reportPrivateUsage] - that there is no way out


def test_every_row_that_scrolls_off_is_taken_once_however_many_there_are() -> None:
    mirror = Mirror(cols=12, rows=5)
    taken: list[str] = []

    for first in range(0, 3 * KEPT_ROWS, 1000):
        mirror.feed(b"".join(b"%d\r\n" % at for at in range(first, first + 1000)))
        taken += [row[0].text.strip() for row in mirror.take_scrolled()]

    assert taken == [str(at) for at in range(3 * KEPT_ROWS - 4)]


def test_a_snapshot_brings_its_scrollback_only_when_it_is_new() -> None:
    source = Terminal(cols=12, rows=3)
    source.feed(b"".join(b"%d\r\n" % at for at in range(10)))
    new, known = Mirror(cols=12, rows=3), Mirror(cols=12, rows=3)

    new.restore(source.dump(), replay=True)
    known.restore(source.dump(), replay=False)

    assert len(new.take_scrolled()) == 8
    assert known.take_scrolled() == []
    assert new.screen().rows == known.screen().rows


def test_rows_printed_behind_a_full_screen_program_are_taken_when_it_leaves() -> None:
    mirror = Mirror(cols=12, rows=3)
    mirror.feed(b"a\r\nb\r\nc\r\nd\r\n\x1b[?1049hfull")

    assert mirror.take_scrolled() == []
    mirror.feed(b"\x1b[?1049l")
    assert [row[0].text.strip() for row in mirror.take_scrolled()] == ["a", "b"]
