"""What is asked of a PTY besides bytes, and of processes, also where no descriptor is left."""

import os
import pty
import resource
import subprocess
import termios
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

from duetty.platform import terminal_probe
from duetty.platform.memory import memory_bytes
from duetty.platform.terminals import foreground, interrupt_editor, unread_bytes


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


@contextmanager
def no_descriptor_left() -> Generator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_nobody_has_a_terminal_that_no_program_was_started_on(ends: tuple[int, int]) -> None:
    master, _ = ends

    assert os.tcgetpgrp(master) == 0  # as have the processes of the kernel
    assert foreground(master) is None


def test_who_has_the_terminal_is_unknown_where_no_descriptor_is_left() -> None:
    pid, master = pty.fork()
    if pid == 0:
        os.execvp("cat", ["cat"])
    with open(master, "wb", buffering=0):
        while (known := foreground(master)) is None:
            time.sleep(0.01)  # the child has not taken it yet
        with no_descriptor_left():
            unknown = foreground(master)
    os.waitpid(pid, 0)

    assert known.pid == pid
    assert unknown is None


def test_a_look_at_memory_without_a_descriptor_sees_nothing_and_fails_nobody() -> None:
    with no_descriptor_left():
        taken = memory_bytes([os.getpid()])

    assert taken == {os.getpid(): 0}


def test_a_process_that_starts_another_and_ends_while_we_look_does_not_hide_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = subprocess.Popen(["true"])
    first.wait()
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as second:
        lists = [[first.pid], [second.pid]]
        monkeypatch.setattr(terminal_probe, "_all_pids", lambda: lists.pop(0))

        found = terminal_probe.session_members(frozenset({second.pid}))

        second.kill()
    assert found == [second.pid]
