"""What the terminal answers to a program's questions, brought to the program that asked.

Programs ask their terminal where the cursor is, or what it is, and the answer
comes as if typed. Printed by chance, from a file that is no text, such a question
has no program that waits: the answer is echoed into the output and then read by the
shell, as part of the next command line. So an answer is given only while a program
can read one, that is while the terminal does not assemble lines (a program may ask
first and set that after), and only as long as the command line runs that asked.
"""

from collections.abc import Callable
from contextlib import suppress

from duetty.errors import InputRejected
from duetty.journal import Journal
from duetty.platform.terminals import has_output
from duetty.session.pump import InputQueue, Timer, later

HELD_BYTES = 64 * 1024
"""Answers that wait for a reader; of more than these the last ones are dropped."""

PATIENCE_S = 5.0
"""How long after its question a program may begin to read."""

FIRST_LOOK_S = 0.001
MOST_LOOK_S = 0.1

PTY_BYTES = 128 * 1024
"""More than the kernel keeps of what a program printed."""


class Replies:
    """Of one PTY master, from attaching to detaching."""

    __slots__ = (
        "_can_be_read",
        "_fd",
        "_held",
        "_input",
        "_journal",
        "_look_s",
        "_taken_at",
        "_timer",
        "_waited_s",
    )

    def __init__(
        self, fd: int, journal: Journal, into: InputQueue, *, can_be_read: Callable[[], bool]
    ) -> None:
        self._fd = fd
        self._journal = journal
        self._input = into
        self._can_be_read = can_be_read
        self._held = b""
        self._taken_at: int | None = None
        """The end of the journal at which all is taken that was printed before a program could read."""

        self._timer: Timer | None = None
        self._look_s = FIRST_LOOK_S
        self._waited_s = 0.0

    def send(self, replies: bytes) -> None:
        """Give these when they can be read. The output that asked is taken, its marks too."""
        if len(self._held) + len(replies) <= HELD_BYTES:
            self._held += replies
        self._look_s, self._waited_s = FIRST_LOOK_S, 0.0
        self.look()

    def look(self) -> None:
        """Output was taken: perhaps the answers that wait can be given now."""
        if not self._held:
            return
        if not self._can_be_read():
            self._taken_at = None
            self._look_later()
        elif self._is_all_taken():
            self._give()

    def drop(self) -> None:
        """The command line that asked has ended."""
        self._held = b""
        self._taken_at = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _is_all_taken(self) -> bool:
        """Whether the end of the command line that asked would be known.

        A shell says that the line has ended before it reads the next one.
        """
        journal = self._journal
        if (
            not has_output(self._fd) and journal.is_all_taken()
        ):  # in this order: it is read meanwhile
            return True
        if self._taken_at is None:
            self._taken_at = journal.end + journal.ahead_bytes + PTY_BYTES
        return journal.end >= self._taken_at

    def _give(self) -> None:
        held = self._held
        self.drop()
        # A program that asks and never reads loses the answer, not the session.
        with suppress(InputRejected):
            self._input.write(held)

    def _look_later(self) -> None:
        """The kernel announces no change of a terminal's settings: poll."""
        if self._timer is None:
            self._timer = later(self._look_s, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._waited_s += self._look_s
        self._look_s = min(self._look_s * 2, MOST_LOOK_S)
        if self._waited_s < PATIENCE_S:
            self.look()
        else:
            self.drop()
