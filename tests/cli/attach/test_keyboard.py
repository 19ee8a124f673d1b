"""What a person types, on its way to the session."""

from hypothesis import given
from hypothesis import strategies as st

from duetty.cli.attach.keyboard import Answered, Keyboard, Place, Toggled, Typed
from duetty.vt.values import MouseFormat, MouseTracking


def keyboard(**place: object) -> Keyboard:
    made = Keyboard()
    made.place = Place(**place)  # type: ignore[arg-type]  # as given by a test
    return made


def test_keys_pass_as_they_are() -> None:
    assert Keyboard().feed(b"ls -l\r\x1b[A\x1bOP\xc3\xa9") == [
        Typed(b"ls -l\r\x1b[A\x1bOP\xc3\xa9")
    ]


def test_escape_alone_is_not_held_back() -> None:
    assert Keyboard().feed(b"\x1b") == [Typed(b"\x1b")]


def test_ctrl_backslash_is_told_apart_in_every_encoding_of_it() -> None:
    for pressed in (b"\x1c", b"\x1b[92;5u", b"\x1b[92::;5:1u", b"\x1b[27;5;92~", b"\x1b[92:124;5u"):
        assert Keyboard().feed(b"\x1b[A" + pressed + b"\x1b[B") == [
            Typed(b"\x1b[A"),
            Toggled(),
            Typed(b"\x1b[B"),
        ], pressed


def test_a_ctrl_backslash_within_text_was_pasted() -> None:
    pasted = Toggled(is_alone=False)

    assert Keyboard().feed(b"a\x1c\x1cb") == [Typed(b"a"), pasted, pasted, Typed(b"b")]
    assert Keyboard().feed(b"text\x1c") == [Typed(b"text"), pasted]
    assert Keyboard().feed(b"\x1ctext") == [pasted, Typed(b"text")]
    assert Keyboard().feed(b"\x1c\x1c") == [Toggled(), Toggled()]


def test_releasing_or_holding_ctrl_backslash_is_no_second_press() -> None:
    assert Keyboard().feed(b"\x1b[92;5:1u\x1b[92;5:2u\x1b[92;5:3u") == [Toggled()]


def test_nothing_in_a_paste_is_a_key() -> None:
    typed = Keyboard()

    pieces = (
        typed.feed(b"\x1b[200~a\x1c\x1c") + typed.feed(b"\x1b[92;5u\x1b[20") + typed.feed(b"1~\x1c")
    )

    assert isinstance(pieces[-1], Toggled)
    assert b"".join(piece.data for piece in pieces if isinstance(piece, Typed)) == (
        b"\x1b[200~a\x1c\x1c\x1b[92;5u\x1b[201~"
    )
    assert sum(isinstance(piece, Toggled) for piece in pieces) == 1


def test_answers_of_the_outer_terminal_are_never_typed() -> None:
    asked = Keyboard()
    asked.awaits_answer = True

    pieces = asked.feed(b"x\x1b") + asked.feed(b"[?1") + asked.feed(b"u\x1b[?62;22cy")

    assert pieces == [
        Typed(b"x"),
        Answered(has_kitty=True, is_last=False),
        Answered(has_kitty=False, is_last=True),
        Typed(b"y"),
    ]


def test_what_only_looked_like_an_answer_is_released_as_a_key() -> None:
    asked = Keyboard()
    asked.awaits_answer = True

    assert asked.feed(b"\x1b") == []
    assert asked.is_holding
    assert asked.release() == [Typed(b"\x1b")]


def test_the_mouse_is_moved_to_the_programs_place() -> None:
    under_a_panel = keyboard(
        row=2, rows=10, cols=40, tracking=MouseTracking.CLICK, format=MouseFormat.SGR
    )

    assert under_a_panel.feed(b"\x1b[<0;5;4M\x1b[<0;5;4m") == [Typed(b"\x1b[<0;5;2M\x1b[<0;5;2m")]


def test_the_mouse_outside_the_programs_screen_is_dropped() -> None:
    under_a_panel = keyboard(
        row=2, rows=10, cols=40, tracking=MouseTracking.CLICK, format=MouseFormat.SGR
    )

    assert under_a_panel.feed(b"\x1b[<0;5;1M") == []
    assert under_a_panel.feed(b"\x1b[<0;41;5M") == []
    assert under_a_panel.feed(b"\x1b[<0;5;13M") == []


def test_the_mouse_is_told_in_the_format_the_program_asked_for() -> None:
    def told(format_: MouseFormat, report: bytes) -> list[object]:
        return list(
            keyboard(rows=300, cols=300, tracking=MouseTracking.MOTION, format=format_).feed(report)
        )

    press, release = b"\x1b[<2;10;20M", b"\x1b[<2;10;20m"
    assert told(MouseFormat.X10, press) == [Typed(b"\x1b[M\x22\x2a\x34")]
    assert told(MouseFormat.X10, release) == [Typed(b"\x1b[M\x23\x2a\x34")]
    assert told(MouseFormat.X10, b"\x1b[<0;250;1M") == []
    assert told(MouseFormat.UTF8, b"\x1b[<0;250;1M") == [Typed(b"\x1b[M \xc4\x9a!")]
    assert told(MouseFormat.URXVT, press) == [Typed(b"\x1b[34;10;20M")]
    assert told(MouseFormat.SGR_PIXELS, press) == [Typed(b"\x1b[<2;76;312M")]


def test_a_program_that_wants_presses_only_gets_no_more() -> None:
    old = keyboard(rows=10, cols=10, tracking=MouseTracking.PRESS)

    assert old.feed(b"\x1b[<4;1;1M") == [Typed(b"\x1b[M !!")]
    assert old.feed(b"\x1b[<0;1;1m\x1b[<64;1;1M\x1b[<35;1;1M") == []


def test_without_mouse_tracking_reports_are_nobodys() -> None:
    assert Keyboard().feed(b"\x1b[<0;1;1M") == []


@given(st.lists(st.binary(max_size=8)))
def test_no_bytes_raise_and_plain_ones_are_never_lost(chunks: list[bytes]) -> None:
    typed = Keyboard()

    pieces = [piece for chunk in chunks for piece in typed.feed(chunk)] + typed.release()

    plain = b"".join(chunks)
    if b"\x1b" not in plain and b"\x1c" not in plain:
        assert b"".join(piece.data for piece in pieces if isinstance(piece, Typed)) == plain
