"""tmux as people use it: a detached session of its default size, history limit and speed."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.engine import child_env


class Tmux:
    """One detached pane with a plain bash in it."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._done = home / "tmux-done"
        self._env = child_env(home) | {"TERM": "xterm-256color"}

    def start(self) -> None:
        os.mkfifo(self._done)
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "bash --norc")

    def print_file(self, path: Path) -> float:
        """Seconds that `cat` took in the pane, by the pane's own clock: nothing of the start counts."""
        self._tmux(
            "send-keys",
            f"s=$EPOCHREALTIME; cat {path}; echo $s $EPOCHREALTIME > {self._done}",
            "Enter",
        )
        begun, ended = self._done.read_text().split()
        return float(ended) - float(begun)

    def end(self) -> None:
        self._tmux("kill-server", check=False)

    def _tmux(self, *arguments: str, check: bool = True) -> None:
        subprocess.run(
            ["tmux", "-S", str(self._home / "tmux.sock"), *arguments],
            env=self._env,
            cwd=self._home,
            check=check,
            stdout=subprocess.DEVNULL,
            timeout=20,
        )


@contextmanager
def running_tmux(home: Path) -> Generator[Tmux]:
    tmux = Tmux(home)
    tmux.start()
    try:
        yield tmux
    finally:
        tmux.end()
