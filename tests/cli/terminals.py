"""Terminals of people, for tests: a real one (tmux), and one that keeps every byte it was sent."""

import fcntl
import os
import pty
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from duetty.vt import Terminal

WAIT_S = 60
DUETTY = [sys.executable, "-m", "duetty"]


def wait_for(fact: Callable[[], bool], what: Callable[[], str]) -> None:
    until_s = time.monotonic() + WAIT_S
    while not fact():
        assert time.monotonic() < until_s, what()
        time.sleep(0.02)


class Tmux:
    """One pane with a shell that prompts `outer>`."""

    def __init__(self, home: Path, env: Mapping[str, str], *, cols: int, rows: int) -> None:
        self._socket = home / f"tmux-{time.monotonic_ns()}.sock"
        self._env = {**env, "TERM": "xterm-256color"}
        self._home = self.home = home
        self.cols, self.rows = cols, rows

    def start(self) -> None:
        self._tmux("-f", "/dev/null", "new-session", "-d", "-c", str(self._home), "-x", str(self.cols), "-y", str(self.rows),
                   "env PS1='outer> ' bash --norc --noprofile")  # fmt: skip
        self._tmux("set-option", "-g", "default-terminal", "tmux-256color")
        self.wait_shown("outer>")

    def end(self) -> None:
        subprocess.run(["tmux", "-S", str(self._socket), "kill-server"], capture_output=True, check=False)  # fmt: skip

    def duetty(self, *arguments: str) -> None:
        """Type a command of ours at the outer prompt; quietly, so that it starts at the top."""
        self.type(shlex.join([*DUETTY, *arguments]))
        self.press("Enter")

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def line(self, text: str) -> None:
        self.type(text)
        self.press("Enter")

    def paste(self, text: str) -> None:
        """With brackets where the pane wants them."""
        self._tmux("set-buffer", "-b", "pasted", "--", text)
        self._tmux("paste-buffer", "-p", "-b", "pasted")

    def resize(self, *, cols: int, rows: int) -> None:
        self._tmux("resize-window", "-x", str(cols), "-y", str(rows))
        self.cols, self.rows = cols, rows

    def screen(self, *, styled: bool = False) -> str:
        return self._tmux("capture-pane", "-p", *(["-e"] if styled else []))

    def rows_shown(self) -> list[str]:
        return self.screen().split("\n")

    def history(self) -> str:
        return self._tmux("capture-pane", "-p", "-S", "-")

    def ask(self, format_: str) -> str:
        return self._tmux("display-message", "-p", format_).strip()

    def wait_shown(self, text: str) -> None:
        wait_for(lambda: text in self.screen(), lambda: f"{text!r} never showed:\n{self.screen()}")

    def wait_gone(self, text: str) -> None:
        wait_for(lambda: text not in self.screen(), lambda: f"{text!r} stayed:\n{self.screen()}")

    def wait_outer(self, said: str) -> None:
        """Back at the person's own shell, after these words."""
        wait_for(
            lambda: (
                said in self.screen()
                and self.screen().rstrip().split("\n")[-1].startswith("outer>")
            ),
            lambda: f"not back after {said!r}:\n{self.screen()}",
        )

    def _tmux(self, *arguments: str) -> str:
        return subprocess.run(
            ["tmux", "-S", str(self._socket), *arguments],
            env=self._env,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout


@contextmanager
def tmux(home: Path, env: Mapping[str, str], *, cols: int = 80, rows: int = 24) -> Generator[Tmux]:
    terminal = Tmux(home, env, cols=cols, rows=rows)
    terminal.start()
    try:
        yield terminal
    finally:
        terminal.end()


class Watched:
    """A PTY whose every byte is kept; shown by an emulator that answers nothing."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], *, cols: int, rows: int
    ) -> None:
        self._master, self._slave = pty.openpty()
        self.received = b""
        self._screen = Terminal(cols=cols, rows=rows)
        self._screen.silent = True
        self.resize(cols=cols, rows=rows)
        self.before = termios.tcgetattr(self._slave)
        self.process = subprocess.Popen(
            argv,
            env={"TERM": "xterm-256color", "COLORTERM": "truecolor", **env},
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )

    def resize(self, *, cols: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("4H", rows, cols, 0, 0))
        self._screen.resize(cols=cols, rows=rows)

    def now(self) -> list[int | list[bytes | int]]:
        """The terminal's settings as they are."""
        return termios.tcgetattr(self._slave)

    def type(self, data: bytes) -> None:
        os.write(self._master, data)

    def read(self, wait_s: float = 0.02) -> None:
        while select.select([self._master], [], [], wait_s)[0]:
            data = os.read(self._master, 65_536)
            self.received += data
            self._screen.feed(data)
            wait_s = 0

    def text(self) -> str:
        return "\n".join(self._screen.screen(styled=False).text_lines)

    def modes(self) -> tuple[object, bool]:
        return self._screen.modes(), self._screen.alternate_active

    def wait_shown(self, text: str) -> None:
        self.wait(lambda: text in self.text(), f"{text!r} never showed")

    def wait_received(self, data: bytes) -> None:
        self.wait(lambda: data in self.received, f"{data!r} never came")

    def wait(self, fact: Callable[[], bool], what: str) -> None:
        def is_so() -> bool:
            self.read()
            return fact()

        wait_for(is_so, lambda: f"{what}:\n{self.text()}")

    def wait_ended(self) -> int:
        def is_over() -> bool:
            self.read()
            return self.process.poll() is not None

        wait_for(is_over, lambda: f"it did not end:\n{self.text()}")
        self.read()
        return self.process.returncode

    def hang_up(self) -> None:
        """What a lost ssh connection does."""
        os.close(self._master)
        self._master = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(60)
        for descriptor in (self._master, self._slave):
            if descriptor >= 0:
                os.close(descriptor)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def watched(
    env: Mapping[str, str], *arguments: str, cols: int = 80, rows: int = 24
) -> Generator[Watched]:
    terminal = Watched([*DUETTY, *arguments], env, cols=cols, rows=rows)
    try:
        yield terminal
    finally:
        terminal.close()
