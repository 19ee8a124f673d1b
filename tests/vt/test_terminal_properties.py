"""What holds for every stream of bytes."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from duetty.vt import Terminal, encode_keys, render_text, text_of
from tests.vt.drawn import fed, seen
from tests.vt.strategies import HOSTILE, PROGRAM, QUERIES, cuts

quick = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SIZES = st.tuples(st.integers(1, 40), st.integers(1, 12))


@quick
@given(st.data(), HOSTILE)
def test_any_split_of_the_bytes_gives_the_same_terminal(data: st.DataObject, stream: bytes) -> None:
    whole, split = fed(stream), fed()

    for piece in data.draw(cuts(stream)):
        split.feed(piece)

    assert seen(split) == seen(whole)


@quick
@given(HOSTILE, SIZES, SIZES)
def test_no_bytes_and_no_size_raise(
    stream: bytes, before: tuple[int, int], after: tuple[int, int]
) -> None:
    terminal = fed(stream, cols=before[0], rows=before[1])

    terminal.resize(cols=after[0], rows=after[1])
    terminal.feed(stream)

    screen = terminal.screen(styled=True)
    assert len(screen.lines) == screen.rows
    assert 0 <= screen.cursor.row < screen.rows
    assert 0 <= screen.cursor.col < screen.cols
    assert terminal.take_dirty() == frozenset(range(screen.rows))
    assert isinstance(terminal.html() + terminal.text(join_wraps=True), str)
    assert isinstance(encode_keys(["Up", "C-x"], terminal), bytes)
    assert Terminal.restore(terminal.snapshot()).dump() == terminal.dump()


@quick
@given(HOSTILE)
def test_styled_and_plain_lines_say_the_same(stream: bytes) -> None:
    terminal = fed(stream)

    plain = terminal.scrollback(offset=0, limit=1000, styled=False)
    styled = terminal.scrollback(offset=0, limit=1000, styled=True)

    assert [text_of(line).rstrip() for line in styled.lines] == list(plain.lines)


@quick
@given(st.data(), HOSTILE)
def test_a_restored_terminal_goes_on_as_if_nothing_had_happened(
    data: st.DataObject, stream: bytes
) -> None:
    at = data.draw(st.integers(0, len(stream)))
    original = fed(stream[:at])

    restored = Terminal.restore(original.snapshot())

    assert seen(restored) == seen(original)
    assert restored.snapshot() == original.snapshot()
    original.feed(stream[at:])
    restored.feed(stream[at:])
    assert seen(restored) == seen(original)


def test_a_snapshot_can_be_taken_at_every_byte() -> None:
    stream = (
        b"one\r\n\x1b[1;31mred\x1b[0m\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\"
        b"\xe6\x97\xa5\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7\x1bP+q544e\x1b\\\x1b_Gx=1\x1b\\"
        b"\x1b^pm\x1b\\\x1b[?1049h\x1b[31mALT\x1b[2;3H\x1b[?1049l\x1b]0;title\x07\x1b[?2004h"
    )
    expected = seen(fed(stream))

    for at in range(len(stream) + 1):
        restored = Terminal.restore(fed(stream[:at]).snapshot())
        restored.feed(stream[at:])

        assert seen(restored) == expected, f"cut at byte {at}"


@quick
@given(PROGRAM)
def test_a_dump_rebuilds_screen_cursor_and_modes(stream: bytes) -> None:
    original = fed(stream)

    rebuilt = fed(original.dump(), cols=original.cols, rows=original.rows)

    was, now = original.screen(styled=True), rebuilt.screen(styled=True)
    assert now.lines == was.lines
    assert (now.cursor, now.alternate_active) == (was.cursor, was.alternate_active)
    assert rebuilt.modes() == original.modes()
    assert (rebuilt.title, rebuilt.cwd) == (original.title, original.cwd)


@quick
@given(st.lists(HOSTILE | QUERIES, max_size=8))
def test_a_replay_is_silent(chunks: list[bytes]) -> None:
    terminal = fed()
    terminal.silent = True

    replies = [terminal.feed(chunk).replies for chunk in chunks]

    assert set(replies) <= {b""}


@quick
@given(st.data(), HOSTILE)
def test_rendered_text_does_not_depend_on_how_output_was_cut(
    data: st.DataObject, stream: bytes
) -> None:
    whole = list(render_text([stream], cols=20))

    split = list(render_text(data.draw(cuts(stream)), cols=20))

    assert split == whole
