"""Servers forked from a process that has loaded everything already.

Loading takes a server a second of processor time, and the tests start some three hundred: without
this a fifth of what they take. A server from here is a process as any other, with a pid, an
environment and descriptors of its own; only how it came to its modules differs. Tests about that
(`tests/cli`) start `duetty` itself, and so do the benchmarks.
"""

import array
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from types import FrameType
from typing import IO, Any, NoReturn

MESSAGE_BYTES = 256 * 1024
START_S = 180

LATER = (
    "cryptography.hazmat.primitives.asymmetric.ec",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "jsonschema",
    "mcp.client.stdio",
)
"""What most servers load in the course of a test."""


# --- in the tests ---------------------------------------------------------------------


class Warm:
    """The process that forks; it ends with the one that asked for it."""

    def __init__(self) -> None:
        self._asking, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        self._codes: dict[int, int] = {}

    def fork(self, code: str, argv: Sequence[str], env: Mapping[str, str]) -> "Forked":
        """A process that runs `duetty ARGV`, after this bit of Python."""
        errors, theirs = os.pipe()
        with open(os.devnull, "wb") as nowhere:
            fds = array.array("i", [nowhere.fileno(), theirs])
            message = {"code": code, "argv": list(argv), "env": dict(env), "cwd": os.getcwd()}
            self._asking.sendmsg(
                [json.dumps(message).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
            )
        os.close(theirs)
        while (told := self._hear(START_S)) is not None:
            if "started" in told:
                self._codes.pop(told["started"], None)  # of an earlier process with this pid
                return Forked(self, told["started"], os.fdopen(errors, "rb"))
        raise AssertionError("the process that forks servers is gone")

    def code(self, pid: int, wait_s: float | None) -> int | None:
        """How a process ended; None if it has not, within this time."""
        until_s = None if wait_s is None else time.monotonic() + wait_s
        while pid not in self._codes:
            left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
            if self._hear(left_s) is None:
                return None
        return self._codes[pid]

    def _hear(self, wait_s: float | None) -> dict[str, int] | None:
        if not select.select([self._asking], [], [], wait_s)[0]:
            return None
        told = self._asking.recv(MESSAGE_BYTES)
        assert told, "the process that forks servers is gone"
        message: dict[str, int] = json.loads(told)
        if "ended" in message:
            self._codes[message["ended"]] = message["code"]
        return message


class Forked:
    """As much of `subprocess.Popen` as tests use."""

    def __init__(self, warm: Warm, pid: int, stderr: IO[bytes]) -> None:
        self._warm = warm
        self.pid = pid
        self.stderr = stderr

    @property
    def returncode(self) -> int | None:
        return self.poll()

    def poll(self) -> int | None:
        return self._warm.code(self.pid, 0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._warm.code(self.pid, timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"server {self.pid}", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> tuple[None, bytes]:
        # Not to its end: whoever it started may hold it open for ever.
        os.set_blocking(self.stderr.fileno(), False)
        self.wait(60)
        told = self.stderr.read() or b""
        self.stderr.close()
        return None, told


class _Shared:
    warm: Warm | None = None
    is_on = False


def use() -> None:
    """From here on, servers of tests come from a warm process."""
    _Shared.is_on = True


@contextmanager
def cold() -> Generator[None]:
    """Inside, servers begin as `duetty` does: for tests about what is loaded when."""
    was, warm = _Shared.is_on, _Shared.warm
    _Shared.is_on, _Shared.warm = False, None
    try:
        yield
    finally:
        _Shared.is_on, _Shared.warm = was, warm


def shared() -> Warm | None:
    """The one of this process, started when it is first asked for."""
    if _Shared.is_on and _Shared.warm is None:
        _Shared.warm = Warm()
    return _Shared.warm


# --- in the warm process --------------------------------------------------------------


def _serve(asked: socket.socket) -> None:
    """Fork whenever asked; tell of every end. Returns in a forked process only."""
    _load()
    ended_r, ended_w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, _ignore)  # the wake-up descriptor tells
    signal.set_wakeup_fd(ended_w, warn_on_full_buffer=False)
    while True:
        ready = select.select([asked, ended_r], [], [])[0]
        if ended_r in ready:
            with suppress(BlockingIOError):
                os.read(ended_r, 4096)
            _tell_ended(asked)
        if asked in ready:
            message, fds = _receive(asked)
            if "DUETTY_AGENT_MODEL" in message["env"]:
                _load_agent()
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for fd in (asked.detach(), ended_r, ended_w):
                    os.close(fd)
                _become(message, fds)
            for fd in fds:
                os.close(fd)
            _tell(asked, started=pid)


def _ignore(_number: int, _frame: FrameType | None) -> None:
    pass


def _receive(asked: socket.socket) -> tuple[dict[str, Any], list[int]]:
    told, fds, _, _ = socket.recv_fds(asked, MESSAGE_BYTES, 2)
    if not told:
        os._exit(0)  # the tests are over
    return json.loads(told), fds


def _tell(asked: socket.socket, **told: int) -> None:
    try:
        asked.send(json.dumps(told).encode())
    except OSError:
        os._exit(0)


def _tell_ended(asked: socket.socket) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            _tell(asked, ended=ended[0], code=os.waitstatus_to_exitcode(ended[1]))


def _become(message: dict[str, Any], fds: list[int]) -> NoReturn:
    """Be a process that was just started, as far as that can be."""
    for fd, number in zip(fds, (1, 2), strict=True):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(message["env"])
    os.chdir(message["cwd"])
    sys.argv = ["duetty", *message["argv"]]
    exec(message["code"], {})
    from duetty.cli.main import main

    raise SystemExit(main())


def _load() -> None:
    """What a server has loaded when it answers its first call, of every kind."""
    from duetty.edges.mcp.sdk_imports import loading, prepare

    importlib.import_module("duetty.cli.main")
    importlib.import_module("duetty.server")
    with loading():
        prepare()
        importlib.import_module("duetty.edges.mcp.dialects")
        importlib.import_module("duetty.edges.mcp.transports")
        for name in LATER:
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


@cache
def _load_agent() -> None:
    """The model's library, which takes as long as all the rest: for tests of the agent only."""
    with suppress(ImportError):  # the extra is not installed
        importlib.import_module("duetty.agent.library")
        importlib.import_module("pydantic_ai.models.openai")
        importlib.import_module("pydantic_ai.providers.openai")
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
