"""The terminal of the person: raw while we have it, as it was when we give it back."""

import os
import select
import signal
import termios
import tty
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType

from duetty.cli.attach.paint import Abilities, Depth
from duetty.errors import BadArguments

WRITE_BYTES = 16_384

_TRUE_COLOUR_TERMS = (
    "kitty", "ghostty", "alacritty", "wezterm", "foot", "contour", "tmux", "direct",
)  # fmt: skip
_NO_LINKS = ("linux", "dumb", "vt")


class NeedsTerminal(BadArguments):
    """Attaching draws on a terminal and reads its keyboard; pipes have neither."""

    code = "needs_terminal"


class Signalled(BaseException):
    """A signal that ends us. No `Exception`: nothing but the way out may catch it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


class Outer:
    """Standard input and output, if both are a terminal."""

    def __init__(self, *, stdin: int = 0, stdout: int = 1) -> None:
        if not (os.isatty(stdin) and os.isatty(stdout)):
            raise NeedsTerminal(
                "this needs a terminal", hint="for scripts there are `duetty run` and `screen`"
            )
        self.stdin, self.stdout = stdin, stdout
        self._saved = termios.tcgetattr(stdin)
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def size(self) -> tuple[int, int]:
        """Columns and rows. Terminals that do not know (some serial lines) count as 80 by 24."""
        cols, rows = os.get_terminal_size(self.stdout)
        return cols or 80, rows or 24

    @property
    def wake(self) -> int:
        """Readable when a signal came that is no end."""
        return self._wake_read

    def take_signals(self) -> set[int]:
        with suppress(BlockingIOError):
            return set(os.read(self._wake_read, 512))
        return set()

    @contextmanager
    def raw(self) -> Generator[None]:
        """Keys as they are pressed; signals that would end us raise `Signalled` instead."""
        before = {number: signal.getsignal(number) for number in (*_ENDING, *_WAKING)}
        for number in _ENDING:
            signal.signal(number, _raise)
        for number in _WAKING:
            signal.signal(number, _ignore)
        old_wakeup = signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        try:
            self.enter()
            yield
        finally:
            for number in _ENDING:
                signal.signal(number, signal.SIG_IGN)
            self.leave()
            signal.set_wakeup_fd(old_wakeup)
            for number, action in before.items():
                signal.signal(number, action)

    def enter(self) -> None:
        tty.setraw(self.stdin, termios.TCSANOW)

    def leave(self) -> None:
        """Keys typed meanwhile are dropped: they were meant for the program, not for a shell."""
        with suppress(termios.error, OSError):
            termios.tcsetattr(self.stdin, termios.TCSAFLUSH, self._saved)

    def read(self) -> bytes:
        """Raises:
        EOFError: if the terminal is gone.
        """
        try:
            data = os.read(self.stdin, 65_536)
        except OSError as error:
            raise EOFError("the terminal is gone") from error
        if not data:
            raise EOFError("the terminal is gone")
        return data

    def write(self, data: bytes) -> None:
        """Raises:
        EOFError: if the terminal is gone.
        """
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self.stdout, rest[:WRITE_BYTES]) :]
        except BlockingIOError:
            # Another process on this terminal made it non-blocking.
            self._wait_writable()
            self.write(bytes(rest))
        except OSError as error:
            raise EOFError("the terminal is gone") from error

    def _wait_writable(self) -> None:
        poll = select.poll()
        poll.register(self.stdout, select.POLLOUT)
        poll.poll(1000)

    def close(self) -> None:
        os.close(self._wake_read)
        os.close(self._wake_write)


_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_WAKING = (signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)


def _raise(signum: int, _frame: FrameType | None) -> None:
    raise Signalled(signum)


def _ignore(_signum: int, _frame: FrameType | None) -> None:
    """The wake-up descriptor tells."""


def abilities_of(env: Mapping[str, str]) -> Abilities:
    """What the terminal can show, from what it says of itself in the environment."""
    term = env.get("TERM", "dumb").lower()
    depth = _depth(term, env)
    return Abilities(
        depth=depth,
        links=not term.startswith(_NO_LINKS),
        fancy_underlines=depth is Depth.TRUE,
    )


def _depth(term: str, env: Mapping[str, str]) -> Depth:
    if term.startswith("dumb") or term in ("vt100", "vt220"):
        return Depth.MONO
    # tmux reads every colour, and shows what its own terminal can.
    if env.get("COLORTERM", "").lower() in ("truecolor", "24bit") or "TMUX" in env:
        return Depth.TRUE
    if any(name in term for name in _TRUE_COLOUR_TERMS):
        return Depth.TRUE
    return Depth.PALETTE if "256" in term else Depth.ANSI
