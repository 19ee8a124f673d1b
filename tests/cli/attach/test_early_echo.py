"""What the person's terminal shows, with characters that are printed before their frame is known."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from duetty.cli.attach.display import Showing
from duetty.cli.attach.mirror import Mirror
from duetty.cli.attach.outer import Outer
from duetty.cli.attach.paint import Abilities
from duetty.cli.attach.scene import Surface
from tests.cli.attach.test_paint import COLS, ROWS, looks, shown
from tests.vt.strategies import PROGRAM

TYPED = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=8)


class Screen(Outer):
    """A person's terminal that is an emulator, and counts what is written to it."""

    def __init__(self) -> None:
        self.mirror = Mirror(cols=COLS, rows=ROWS)
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.written.append(data)
        self.mirror.feed(data)


class Attached:
    def __init__(self) -> None:
        self.screen = Screen()
        self.program = Mirror(cols=COLS, rows=ROWS)
        self._showing = Showing(
            self.screen, self.program, Surface(cols=COLS, rows=ROWS), Abilities()
        )
        self._showing.begin()
        self.show()

    def show(self) -> None:
        self._showing.show(notice=None, title="t")

    def print(self, data: bytes) -> None:
        self.program.feed(data)
        self.show()

    def echo(self, data: bytes) -> list[bytes]:
        """What is written for an echo: before its frame, and with it."""
        self.screen.written.clear()
        self._showing.echo(data)
        self.print(data)
        return list(self.screen.written)


def test_an_echo_is_printed_at_once_when_the_one_before_was_plain() -> None:
    attached = Attached()
    attached.print(b"$ ")

    first, second, third = (attached.echo(key) for key in (b"l", b"s", b" "))

    assert len(first) == 1
    assert first[0].startswith(b"\x1b")  # a frame: nothing was known of how it prints
    assert (second, third) == ([b"s"], [b" "])


def test_a_wrong_guess_is_put_right_with_its_frame_and_not_repeated() -> None:
    attached = Attached()
    for key in (b"a", b"b"):
        attached.echo(key)
    attached.print(b"\x1b[31m")

    guessed, drawn = attached.echo(b"c"), attached.echo(b"d")

    assert [guessed[0], len(guessed)] == [b"c", 2]
    assert b"\x1b[0;31mc" in guessed[1]
    assert len(drawn) == 1
    assert looks(shown(attached.screen.mirror)) == looks(shown(attached.program))


def test_nothing_is_guessed_beside_what_it_might_join_or_at_the_end_of_a_row() -> None:
    attached = Attached()
    for key in (b"a", b"b"):
        attached.echo(key)
    for before in ("\u0600", "日", "🇩"):
        attached.print(b"\r\n" + before.encode())
        assert attached.echo(b"x")[0].startswith(b"\x1b")
        attached.echo(b"y")
    attached.print(b"\r" + b"-" * (COLS - 2))

    assert attached.echo(b"x")[0] == b"x"
    assert attached.echo(b"y")[0].startswith(b"\x1b")


@example([b"\x1b(0", "qx", "qx", b"\x1b(B", "a"])
@example([b"\x1b[4h", b"abc\r", "x", "y"])
@example(["a", "b", b"\x1b[?25l", "c", "d"])
@example(["a", "b", b"\x1b[?1049h", "c", "d", b"\x1b[?1049l", "e"])
@settings(max_examples=150)
@given(st.lists(TYPED | PROGRAM, max_size=8))
def test_whatever_a_program_makes_of_keys_the_terminal_shows_it(parts: list[bytes | str]) -> None:
    attached = Attached()
    for part in parts:
        if isinstance(part, bytes) or attached.program.is_within_sequence:
            attached.print(part if isinstance(part, bytes) else part.encode())
        else:
            attached.echo(part.encode())

        assert looks(shown(attached.screen.mirror)) == looks(shown(attached.program))
