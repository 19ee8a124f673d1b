"""The master of one PTY, from attaching to detaching: read, written, and asked about its settings.

Knows descriptors and the kernel. Knows nothing of shells, lines or screens.
"""

import os
from collections.abc import Callable

from duetty.journal import Journal
from duetty.platform.terminals import (
    Foreground,
    drop_unread,
    foreground,
    has_output,
    is_asleep,
    is_still_the_shell,
    line_settings,
    make_sane,
    processes_output,
    set_window_size,
    unread_bytes,
)
from duetty.session.lane import Lane
from duetty.session.pty_reader import Reading
from duetty.session.pump import INTERRUPT, InputQueue
from duetty.session.replies import Replies


class Pty:
    """Closed before it is attached and after it is detached: then nothing is read or written."""

    __slots__ = ("_input", "_journal", "_lane", "_reading", "_replies", "fd")

    def __init__(self, journal: Journal, *, lane: Lane | None) -> None:
        self.fd = -1
        self._journal = journal
        self._lane = lane
        self._reading: Reading | None = None
        self._input: InputQueue | None = None
        self._replies: Replies | None = None

    def attach(
        self,
        fd: int,
        name: str,
        *,
        took: Callable[[memoryview, int], None],
        failed: Callable[[Exception], None],
        reads_keys: Callable[[], bool],
    ) -> None:
        """Begin to read and write this master, which is ours from now on."""
        os.set_blocking(fd, False)
        self.fd = fd
        self._input = InputQueue(fd, name)
        self._replies = Replies(fd, self._journal, self._input, can_be_read=reads_keys)
        self._reading = Reading(fd, self._journal, lane=self._lane, took=took, failed=failed)

    def detach(self) -> None:
        """Stop reading and give the descriptor up; the keeper still has its own."""
        if self._reading is not None:
            self._reading.close()
            self._reading = None
        if self._replies is not None:
            self._replies.drop()
            self._replies = None
        if self._input is not None:
            self._input.close()
            self._input = None
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    @property
    def is_open(self) -> bool:
        return self.fd >= 0

    # --- bytes ----------------------------------------------------------------

    def write(self, data: bytes, *, hush: bool) -> None:
        """`hush`: these are keys, whose echo a person waits for.

        Raises:
            InputRejected: if the program does not read.
        """
        if self._input is not None:
            self._input.write(data)
        if hush:
            self._hush()

    def interrupt(self) -> bool:
        """Write Ctrl-C ahead of everything that waits; False if even that cannot be written."""
        if self._input is None:
            return False
        self._hush()
        if self._input.pending_bytes:
            drop_unread(self.fd)
        return self._input.write_instead(INTERRUPT)

    def _hush(self) -> None:
        if self._lane is not None:
            self._lane.hush()

    def reply(self, replies: bytes, *, is_line_over: bool = False) -> None:
        """Give the program the terminal's answers, or look whether earlier ones can be read now."""
        if self._replies is None:
            return
        if is_line_over:
            self._replies.drop()
        if replies:
            self._replies.send(replies)
        else:
            self._replies.look()

    def settle(self) -> None:
        """Take everything that was read ahead."""
        if self._reading is not None:
            self._reading.settle()

    def drain(self) -> None:
        """Take what is left after the process is gone."""
        if self._reading is not None:
            self._reading.drain()

    @property
    def is_all_read(self) -> bool:
        """The program has read all that was written."""
        is_written = self._input is not None and not self._input.pending_bytes
        return is_written and unread_bytes(self.fd) == 0

    @property
    def has_output(self) -> bool:
        """The program has printed bytes that were not read yet."""
        return has_output(self.fd)

    @property
    def pending_input_bytes(self) -> int:
        return self._input.pending_bytes if self._input else 0

    # --- settings -------------------------------------------------------------

    def echo_and_canonical(self) -> tuple[bool, bool]:
        return line_settings(self.fd) if self.is_open else (True, True)

    def processes_output(self) -> bool:
        return processes_output(self.fd) if self.is_open else True

    def make_sane(self) -> None:
        """Give it the settings of a new terminal: lines, echo, signals."""
        if self.is_open:
            make_sane(self.fd)

    def set_size(self, *, cols: int, rows: int) -> None:
        if self.is_open:
            set_window_size(self.fd, cols=cols, rows=rows)

    def foreground(self) -> Foreground | None:
        """The program that has the terminal; None where it is unknown."""
        return foreground(self.fd) if self.is_open else None

    def is_asleep(self) -> bool:
        """Every program that has the terminal waits for something; False where that is unknown."""
        return self.is_open and is_asleep(self.fd)

    def is_still_the_shell(self, name: str) -> bool:
        """Whether a shell of this name has not yet handed the terminal to a program."""
        return is_still_the_shell(self.fd, name)
