"""A real shell on a real PTY, started as a session would start it."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from duetty.shell import Injection, Mark, MarkKind, MarkScanner, integrate
from tests.homes import settle_home

NONCE = "5ec2e7" * 5
WAIT_S = 60
COLS, ROWS = 200, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What the trusted marks told of one line."""

    kinds: str
    exit_code: int | None
    cwd: str | None
    command_line: str | None
    output: bytes
    """From C to D, or from the end of the echoed line where there is no C."""


class RealShell:
    def __init__(self, injection: Injection, *, cwd: Path) -> None:
        reader, writer = os.pipe()
        for text in injection.handed.values():
            os.write(writer, text.encode())
        os.close(writer)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                # A `nohup make test &` has them ignored, and a shell leaves that as it is.
                for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
                    signal.signal(number, signal.SIG_DFL)
                # Here, because a later change of size makes readline draw its prompt again.
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLS, 0, 0))
                os.chdir(cwd)
                for fd in injection.handed:
                    os.dup2(reader, fd)
                for fd in range(3, 256):
                    if fd not in injection.handed:
                        with contextlib.suppress(OSError):
                            os.close(fd)
                os.execvpe(injection.argv[0], list(injection.argv), dict(injection.env))
            finally:
                os._exit(127)
        os.close(reader)
        self.shell = injection.shell
        self.output = bytearray()
        self.marks: list[Mark] = []
        self.on_mark: Callable[[Mark], None] = lambda mark: None
        self._scanner = MarkScanner(NONCE)

    @property
    def trusted(self) -> list[Mark]:
        return [mark for mark in self.marks if mark.trusted]

    def write(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def wait(self, ready: Callable[[], bool], why: str) -> None:
        """Read until it is so; fail with what was seen if it takes too long."""
        deadline = time.monotonic() + WAIT_S
        while not ready():
            left = deadline - time.monotonic()
            readable, _, _ = select.select([self.fd], [], [], max(left, 0))
            assert readable, f"no {why} after {WAIT_S} s: {bytes(self.output[-2000:])!r}"
            self._read(why)

    def read_until_quiet(self) -> None:
        while select.select([self.fd], [], [], 0.2)[0]:
            self._read("quiet")

    def _read(self, why: str) -> None:
        try:
            chunk = os.read(self.fd, 65536)
        except OSError:
            chunk = b""
        assert chunk, f"the shell ended before {why}: {bytes(self.output[-2000:])!r}"
        marks = self._scanner.scan(chunk, len(self.output))
        self.marks += marks
        self.output += chunk
        for mark in marks:
            if mark.trusted:
                self.on_mark(mark)

    def wait_mark(self, kind: MarkKind, *, since: int, secondary: bool = False) -> Mark:
        """The first trusted mark of a kind after that many trusted marks."""

        def found() -> list[Mark]:
            return [
                mark
                for mark in self.trusted[since:]
                if mark.kind is kind and mark.secondary is secondary
            ]

        self.wait(lambda: bool(found()), f"{kind.name} mark")
        return found()[0]

    def wait_text(self, text: str, *, since: int = 0) -> None:
        self.wait(lambda: self.output.find(text.encode(), since) >= 0, f"text {text!r}")

    def wait_prompt(self, *, since: int = 0) -> None:
        self.wait_mark(MarkKind.INPUT, since=since)

    def enter(self, text: str) -> str:
        """Type a line that does not run; the kinds of the marks up to the next prompt."""
        since = len(self.trusted)
        self.write(text)
        self.wait_prompt(since=since)
        return kinds(self.trusted[since:])

    def interrupt(self) -> str:
        """Press Ctrl-C at a prompt; the kinds of the marks up to the next one.

        At rest, and again if need be: fish shows no prompt at all if it is
        interrupted while it makes one, and readline loses an interrupt that
        comes just before it waits for the next key.
        """
        since = len(self.trusted)
        deadline = time.monotonic() + WAIT_S
        self.read_until_quiet()
        while not any(mark.kind is MarkKind.PROMPT for mark in self.trusted[since:]):
            assert time.monotonic() < deadline, f"no prompt: {bytes(self.output[-2000:])!r}"
            self.write("\x03")
            self.read_until_quiet()
        self.wait_prompt(since=since)
        return kinds(self.trusted[since:])

    def run(self, line: str) -> Ran:
        """Type a line and wait for its end and the next prompt."""
        since, at = len(self.trusted), len(self.output)
        self.write(line + "\n")
        done = self.wait_mark(MarkKind.DONE, since=since)
        self.wait_prompt(since=self.trusted.index(done))
        marks = self.trusted[since:]
        begun = [mark.end for mark in marks if mark.kind is MarkKind.OUTPUT]
        start = begun[0] if begun else self.output.index(b"\n", at) + 1
        return Ran(
            kinds=kinds(marks),
            exit_code=done.exit_code,
            cwd=done.cwd,
            command_line=next((mark.command_line for mark in marks if mark.command_line), None),
            output=bytes(self.output[start : done.start]),
        )

    def close(self) -> None:
        os.close(self.fd)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def kinds(marks: Sequence[Mark]) -> str:
    """The letters of the marks; small for a continuation prompt."""
    return "".join(m.kind.lower() if m.secondary else m.kind for m in marks)


@contextlib.contextmanager
def open_shell(
    home: Path,
    *argv: str,
    env: Mapping[str, str] | None = None,
    prompt: bool = True,
    handed: bool = True,
) -> Generator[RealShell]:
    """The shell, at its first prompt."""
    environment = {
        "HOME": str(settle_home(home)),
        "PATH": os.environ["PATH"],
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        **(env or {}),
    }
    injection = integrate(
        argv,
        environment,
        nonce=NONCE,
        scratch=Path(f"/dev/shm/duetty-test-{os.getpid()}"),
    )
    if not handed:
        injection = replace(injection, handed={})
    shell = RealShell(injection, cwd=home)
    try:
        if prompt:
            shell.wait_prompt()
        yield shell
    finally:
        shell.close()
        Path(f"/dev/shm/duetty-test-{os.getpid()}").unlink(missing_ok=True)
