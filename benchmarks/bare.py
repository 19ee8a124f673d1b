"""The bare PTY as benchmarks use it: a small process that measures when asked to."""

import itertools
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from duetty.ids import new_nonce
from duetty.shell import integrate
from tests.engine import child_env

WORKER = Path(__file__).with_name("bare_worker.py")


class Bare:
    """Asks block: while a bare PTY is measured, nothing of Duetty has anything to do."""

    def __init__(self, process: "subprocess.Popen[str]", home: Path) -> None:
        self._process = process
        self._home = home
        self._numbers = itertools.count()

    def start(self, shell: str) -> tuple["BareShell", float]:
        """A shell with Duetty's integration, and the seconds until its first prompt."""
        number = next(self._numbers)
        nonce = new_nonce()
        scratch = self._home / f"scratch-{number}"
        scratch.touch(mode=0o600)
        env = child_env(self._home) | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        injection = integrate((shell,), env, nonce=nonce, scratch=scratch)
        started_ns = self.ask(
            "start",
            number,
            argv=list(injection.argv),
            env=dict(injection.env),
            handed={str(fd): text for fd, text in injection.handed.items()},
            cwd=str(self._home),
            nonce=nonce,
        )
        return BareShell(self, number), started_ns / 1e9

    def ask(self, op: str, pty: int, **arguments: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"op": op, "pty": pty, **arguments}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("the bare PTY's process has ended")
        return json.loads(answer)


class BareShell:
    """One of its PTYs."""

    def __init__(self, bare: Bare, number: int) -> None:
        self._bare = bare
        self._number = number

    def trips(self, line: str, *, count: int, rested: bool) -> list[float]:
        """Seconds of each round trip; see `bare_worker`."""
        taken = self._bare.ask("trips", self._number, line=line + "\r", count=count, rested=rested)
        return [each / 1e9 for each in taken]

    def flood(self, line: str) -> tuple[float, int]:
        """Seconds and bytes of one long output."""
        taken_ns, received = self._bare.ask("flood", self._number, line=line + "\r")
        return taken_ns / 1e9, received

    def end(self) -> None:
        self._bare.ask("end", self._number)


@contextmanager
def running_bare(home: Path) -> Generator[Bare]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Bare(process, home)
    finally:
        process.communicate(timeout=10)
