"""What is asked of a PTY besides bytes."""

import os
import pty
import termios
from collections.abc import Iterator

import pytest

from duetty.platform.terminals import interrupt_editor, unread_bytes


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    """Both ends of a PTY: ours, and the program's."""
    master, slave = pty.openpty()
    yield master, slave
    os.close(master)
    os.close(slave)


def read_key_by_key(slave: int) -> None:
    modes = termios.tcgetattr(slave)
    modes[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(slave, termios.TCSANOW, modes)


def test_an_interrupt_leaves_what_a_line_editor_has_printed_and_drops_what_it_has_not_read(
    ends: tuple[int, int],
) -> None:
    master, slave = ends
    read_key_by_key(slave)
    os.write(slave, b"prompt")
    os.write(master, b"half a line")

    was_sent = interrupt_editor(master)

    assert (was_sent, os.read(master, 100), unread_bytes(master)) == (True, b"prompt", 0)


def test_a_program_whose_terminal_echoes_gets_the_key_itself(ends: tuple[int, int]) -> None:
    master, _ = ends

    assert interrupt_editor(master) is False
