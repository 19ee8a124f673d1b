"""Modes of the person's terminal: exactly those the program asked for, and none afterwards."""

from hypothesis import given
from hypothesis import strategies as st

from duetty.cli.attach.mirror import Mirror
from duetty.cli.attach.modes import NO_WISHES, Wishes, begin, end, switch, wishes_of
from duetty.vt import Terminal
from duetty.vt.values import Modes, MouseTracking

WISHES = st.builds(
    Wishes,
    alternate=st.booleans(),
    application_cursor=st.booleans(),
    application_keypad=st.booleans(),
    bracketed_paste=st.booleans(),
    focus_reporting=st.booleans(),
    mouse=st.sampled_from(MouseTracking),
    kitty_keyboard=st.integers(0, 31),
    reverse_video=st.booleans(),
    grapheme_clusters=st.booleans(),
)


def modes_of(told: bytes) -> tuple[Modes, bool]:
    terminal = Terminal(cols=10, rows=4)
    terminal.feed(told)
    return terminal.modes(), terminal.alternate_active


@given(st.lists(WISHES, max_size=5))
def test_after_any_wishes_the_terminal_is_as_it_was(wanted: list[Wishes]) -> None:
    told, before = begin(), NO_WISHES
    for wishes in wanted:
        told += switch(before, wishes)
        before = wishes

    assert modes_of(told + end(before)) == modes_of(b"")


@given(WISHES, WISHES)
def test_switching_gives_the_terminal_what_the_program_wished(one: Wishes, other: Wishes) -> None:
    modes, alternate = modes_of(switch(NO_WISHES, one) + switch(one, other))

    assert wishes_of(modes, alternate=alternate, kitty=True) == other


def test_a_terminal_without_the_kitty_keyboard_is_not_asked_for_it() -> None:
    mirror = Mirror(cols=10, rows=4)
    mirror.feed(b"\x1b[>5u")
    modes = mirror.screen().modes

    assert wishes_of(modes, alternate=False, kitty=False).kitty_keyboard == 0
    assert wishes_of(modes, alternate=False, kitty=True).kitty_keyboard == 5
