"""What `duetty run` adds to a call: lines while they come, and standard input for the command."""

import os
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from duetty.cli.show import harmless
from duetty.client import Client, session_path
from duetty.errors import BadArguments, DuettyError
from duetty.shell import shell_kind

LOOK_S = 0.1
LOOK_SHARE = 5
"""A look at a long output costs time on the server: wait this many times as long as it took."""

JOIN_S = 5.0
_CHUNK_BYTES = 65_536


class Stream:
    """Prints the lines of a session's running block as they are finished.

    Lines, not bytes: what a program prints is resolved to text before it reaches the
    person's terminal. The last line may still change, so it is left for the end.
    """

    def __init__(self, client: Client, session: str) -> None:
        self._client = client
        self._session = session
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._last = self._newest()
        self.printed = 0

    def __enter__(self) -> "Stream":
        self._thread.start()
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join(JOIN_S)

    def _newest(self) -> int:
        """The number of the newest block there is."""
        with suppress(DuettyError):
            blocks = self._client.get(session_path(self._session, "/blocks"), limit=1)
            return int(blocks[0]["number"]) if blocks else 0
        return 0

    def _follow(self) -> None:
        wait_s = LOOK_S
        while not self._over.wait(wait_s):
            began_s = time.monotonic()
            with suppress(DuettyError):
                self._look()
            wait_s = max(LOOK_S, LOOK_SHARE * (time.monotonic() - began_s))

    def _look(self) -> None:
        number = self._newest()
        if number != self._last + 1:
            return  # not begun yet, or several lines: the end tells
        page = self._client.get(
            session_path(self._session, f"/blocks/{number}/output"), offset=self.printed
        )
        if not page["block"]["running"]:
            return
        finished: list[str] = page["lines"][:-1]
        if finished and not self._over.is_set():
            sys.stdout.write(harmless("\n".join(finished)) + "\n")
            sys.stdout.flush()
            self.printed += len(finished)


@contextmanager
def piped_input(
    line: str, shell: str, *, enabled: bool, seen_at: Path | None = None
) -> Generator[str]:
    """The command line that reads what is piped into us, where something is.

    Through a FIFO, not the session's terminal: that would echo it, and has no end of file.
    `seen_at` is a directory that the session sees, where it does not see ours for such things.
    """
    if not (enabled and _is_piped()):
        yield line
        return
    with _directory(seen_at) as directory:
        fifo = Path(directory) / "input"
        os.mkfifo(fifo, 0o600)
        threading.Thread(target=_pump, args=(fifo,), daemon=True).start()
        yield shell_kind(shell).read_from(line, fifo)
        # A command that never opened it leaves the pump waiting: let it go.
        with suppress(OSError):
            os.close(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))


def _directory(seen_at: Path | None) -> "tempfile.TemporaryDirectory[str]":
    try:
        return tempfile.TemporaryDirectory(prefix=".duetty-" if seen_at else "duetty-", dir=seen_at)
    except OSError as error:
        raise BadArguments(
            f"what is piped in has no way into the sandbox: {error.filename}: {error.strerror}",
            hint="begin in a directory that you can write, or give -n",
        ) from None


def _is_piped() -> bool:
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return False  # it was closed
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _pump(fifo: Path) -> None:
    with suppress(OSError), open(fifo, "wb", buffering=0) as target:
        while chunk := os.read(0, _CHUNK_BYTES):
            target.write(chunk)
