"""One command in a process of its own: pipes, a process group, two outputs, an end."""

import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

from duetty.clock import Clock
from duetty.config import is_directory
from duetty.errors import (
    BadCommand,
    BadWorkingDirectory,
    CommandTooLong,
    DuettyError,
    ForkFailed,
    ProcessIdConflict,
)
from duetty.platform.descendants import descendants, started_at
from duetty.platform.own_process import hold_process, memory_file
from duetty.processes.output import Output
from duetty.removal import remove_trees
from duetty.sandbox import Places, SandboxRequest, wrap
from duetty.shell import confined

CHUNK_BYTES = 64 * 1024

DRAIN_S = 0.2
"""How long output is waited for after the command's end, when something it left holds the pipe."""

SIGNALLED = 128
"""Added to the signal that ended a command, in the exit code that its waiter gets."""

KILL_S = 3.0
"""How long a stop waits after KILL; uninterruptible I/O may hold a process longer."""


PROVEN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for that were proven by name: only root writes there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one process of the command may use; None means as much as the server may."""

    cpu_s: int | None = None
    memory_mib: int | None = None
    file_mib: int | None = None
    files: int | None = None

    def words(self) -> list[str]:
        """As options of a shell's `ulimit`."""
        asked = {
            "-t": self.cpu_s,
            "-v": None if self.memory_mib is None else self.memory_mib * 1024,
            "-f": None if self.file_mib is None else self.file_mib * 2048,
            "-n": self.files,
        }
        return [f"{option} {value}" for option, value in asked.items() if value is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to start."""

    command: str
    shell: str = "/bin/sh"
    cwd: str
    env: Mapping[str, str]
    stdin: bytes = b""
    limits: Limits = field(default_factory=Limits)
    owner: str | None = None
    """Identity of the actor that asked for it."""

    sandbox: SandboxRequest = field(default_factory=lambda: SandboxRequest(asked="none"))
    hidden: tuple[Path, ...] = ()
    """Where the server keeps its own things, which no sandbox shows."""

    words: tuple[str, ...] | None = None
    """What was proven: run as these words and read by no shell, where no shell is needed."""

    def argv(self) -> list[str]:
        """What to start; the limits are set by a shell that becomes it."""
        argv = self._program() if self.words is None else self._proven(self.words)
        if self.sandbox.asked != "none":
            argv = confined(argv)
        if words := self.limits.words():
            limiting = "".join(f"ulimit {word} || exit 125; " for word in words)
            return ["/bin/sh", "-c", f'{limiting}exec "$@"', "sh", *argv]
        return argv

    def _program(self) -> list[str]:
        shell = shutil.which(self.shell, path=self.env.get("PATH"))
        if shell is None:
            raise BadCommand(
                f"no shell {self.shell!r}", hint="give a path, or a name found in PATH"
            )
        return [shell, "-c", self.command]

    def _proven(self, words: tuple[str, ...]) -> list[str]:
        """The words themselves; a plain shell for what only a shell can do (a pipe, `cd`)."""
        program = words[0] if words else ""
        found = None if "/" in program else shutil.which(program, path=self.env.get("PATH"))
        if found is not None:
            return [found, *words[1:]]
        return ["/bin/bash", "--norc", "--noprofile", "-c", self.command]


class Process:
    """Running, then ended; its outputs stay readable until it is forgotten."""

    def __init__(
        self, id_: str, order: Order, *, popen: subprocess.Popen[bytes], directory: Path,
        output_bytes: int, clock: Clock,
    ) -> None:  # fmt: skip
        self.id = id_
        self.command = order.command
        self.cwd = order.cwd
        self.owner = order.owner
        self.sandbox = "none"
        """What it runs in: none, landlock or bubblewrap."""

        self.pid = popen.pid
        self.stdout = Output(directory / "stdout", limit_bytes=output_bytes)
        self.stderr = Output(directory / "stderr", limit_bytes=output_bytes)
        self.exit_code: int | None = None
        self.exit_signal: int | None = None
        self.timed_out = False
        self.stopped = False
        """Whether a call asked for its end."""

        self.started_at_ns = clock.wall_ns()
        self.ended_s: float | None = None
        self._started_s = clock.monotonic_s()
        self._popen = popen
        self._directory = directory
        self._clock = clock
        self._changed: anyio.Event | None = None
        self._sent: set[int] = set()
        """Signals that it was sent."""

        self.ended = anyio.Event()
        """The command itself has ended, and what it printed has been read."""

    @property
    def is_running(self) -> bool:
        return not self.ended.is_set()

    @property
    def is_quiet(self) -> bool:
        """Ended, with nothing left behind that could still print."""
        return not (self.is_running or self.stdout.is_open or self.stderr.is_open)

    @property
    def duration_s(self) -> float:
        until_s = self._clock.monotonic_s() if self.ended_s is None else self.ended_s
        return until_s - self._started_s

    async def wait_changed(self) -> None:
        """Until something was printed, or the end."""
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()

    def _change(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    # --- its life, as one task --------------------------------------------------

    async def live(self, stdin: bytes, timeout_s: float | None) -> None:
        """Feed, read and reap it; returns when nothing holds its pipes any more."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._feed, stdin)
            tasks.start_soon(self._drain, self._popen.stdout, self.stdout)
            tasks.start_soon(self._drain, self._popen.stderr, self.stderr)
            try:
                with anyio.move_on_after(timeout_s) as bound:
                    await self._wait_exit()
                if bound.cancelled_caught:
                    self.timed_out = True
                    await self._kill_with_grace(1.0)
                    await self._wait_exit()
                await self._wait_read()
                self._note_end()
            finally:
                self._note_end()

    async def _wait_exit(self) -> None:
        """Until the command itself is gone; what it left behind is not waited for."""
        if self._popen.poll() is not None:
            return
        try:
            fd = hold_process(self.pid)
        except (AttributeError, OSError):  # not Linux, or no descriptor left: a thread waits
            await anyio.to_thread.run_sync(self._popen.wait, abandon_on_cancel=True)
            return
        try:
            await anyio.wait_readable(fd)
        finally:
            os.close(fd)
        self._popen.poll()

    async def _wait_read(self) -> None:
        with anyio.move_on_after(DRAIN_S):
            while self.stdout.is_open or self.stderr.is_open:
                await self.wait_changed()

    def _note_end(self) -> None:
        if self.ended.is_set():
            return
        code = self._popen.poll()
        if code is not None:
            if self.sandbox == "bubblewrap" and code - SIGNALLED in self._sent:
                code = (
                    SIGNALLED - code
                )  # what bubblewrap says for its child, and a shell for its own
            self.exit_code = code if code >= 0 else None
            self.exit_signal = -code if code < 0 else None
        self.ended_s = self._clock.monotonic_s()
        self.ended.set()
        self._change()

    async def _feed(self, data: bytes) -> None:
        pipe = self._popen.stdin
        if pipe is None:
            return
        fd = pipe.fileno()
        os.set_blocking(fd, False)
        rest = memoryview(data)
        try:
            while rest:
                try:
                    rest = rest[os.write(fd, rest[:CHUNK_BYTES]) :]
                except BlockingIOError:
                    await anyio.wait_writable(fd)
        except OSError:
            pass  # it does not read any more
        finally:
            pipe.close()

    async def _drain(self, pipe: IO[bytes] | None, output: Output) -> None:
        assert pipe is not None
        fd = pipe.fileno()
        os.set_blocking(fd, False)
        try:
            while True:
                try:
                    data = os.read(fd, CHUNK_BYTES)
                except BlockingIOError:
                    await anyio.wait_readable(fd)
                    continue
                if not data:
                    return
                output.append(data)
                self._change()
                await anyio.lowlevel.checkpoint()
        finally:
            pipe.close()
            output.end()
            self._change()

    # --- its end ----------------------------------------------------------------

    async def stop(self, first: int = signal.SIGTERM, *, grace_s: float) -> None:
        """End it and everything of its group: asked first, then by KILL."""
        if self.is_quiet:
            return
        self.stopped = True
        await self._kill_with_grace(grace_s, first)
        with anyio.move_on_after(KILL_S):
            await self.ended.wait()

    async def _kill_with_grace(self, grace_s: float, first: int = signal.SIGTERM) -> None:
        self.signal(first)
        with anyio.move_on_after(grace_s):
            await self._wait_exit()
            while self.stdout.is_open or self.stderr.is_open:
                await self.wait_changed()
            return
        self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        """To the whole group, as long as anything of it can be there.

        While the command is not reaped, or something holds its pipes, the number
        of the group cannot have been given to anybody else.
        """
        self._sent.add(number)
        if self._popen.returncode is None or self.stdout.is_open or self.stderr.is_open:
            if self._is_asked_inside(number):
                return
            try:
                os.killpg(self.pid, number)
            except (ProcessLookupError, PermissionError):
                return

    def _is_asked_inside(self, number: int) -> bool:
        """Whether those inside got the signal, and bubblewrap did not: all die with it, at once."""
        if self.sandbox != "bubblewrap" or number == signal.SIGKILL:
            return False
        inside = descendants(self.pid)
        for pid in inside:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        return bool(inside)

    def forget(self) -> None:
        self.stdout.close()
        self.stderr.close()
        remove_trees(self._directory)


async def start(
    id_: str, order: Order, *, directory: Path, output_bytes: int, clock: Clock
) -> Process:
    """Start it; `live` has to follow.

    Raises:
        BadCommand: if there is no such shell.
        BadWorkingDirectory: if it cannot begin there.
        CommandTooLong: if the system takes no such command.
        ForkFailed: if the machine has no room for it.
    """
    argv = order.argv()
    started: tuple[subprocess.Popen[bytes], str] | None = None
    with anyio.CancelScope(shield=True):  # else a child could be started and lost
        started = await anyio.to_thread.run_sync(_start, argv, order, directory)
    assert started is not None
    child, sandbox = started
    process = Process(
        id_, order, popen=child, directory=directory, output_bytes=output_bytes, clock=clock
    )
    process.sandbox = sandbox
    return process


def _start(argv: list[str], order: Order, directory: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Runs in a worker thread: a directory may be on a disk that takes its time."""
    if not is_directory(order.cwd):
        raise BadWorkingDirectory(f"{order.cwd!r} is not a directory")
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        raise ProcessIdConflict(directory.name) from None
    spec_fd = memory_file("sandbox") if order.sandbox.asked != "none" else -1
    try:
        wrapped = wrap(
            argv,
            order.env,
            cwd=order.cwd,
            order=order.sandbox,
            places=Places(hidden=order.hidden, private=directory / "tmp"),
            spec_fd=spec_fd,
        )
        for fd, content in wrapped.handed.items():
            os.write(fd, content)
            os.lseek(fd, 0, os.SEEK_SET)
        popen = partial(
            subprocess.Popen[bytes],
            wrapped.argv,
            cwd=order.cwd,
            env=dict(wrapped.env),
            stdin=subprocess.PIPE if order.stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(wrapped.handed),
            start_new_session=True,
        )
        # bubblewrap ends with the thread that started it: the loop's lives as long as the server.
        by_loop = wrapped.level == "bubblewrap"
        child = anyio.from_thread.run_sync(popen) if by_loop else popen()
    except DuettyError:
        remove_trees(directory)
        raise
    except PermissionError as error:
        remove_trees(directory)
        raise BadWorkingDirectory(f"{order.cwd!r}: {error.strerror}") from error
    except (OSError, ValueError) as error:
        remove_trees(directory)
        if isinstance(error, OSError) and error.errno == errno.E2BIG:
            raise CommandTooLong(
                "the command and its environment are too long for the system",
                hint="give fewer or shorter arguments and variables",
            ) from error
        raise ForkFailed(f"the command could not be started: {error}") from error
    finally:
        if spec_fd >= 0:
            os.close(spec_fd)
    (directory / "pid").write_text(f"{child.pid} {started_at(child.pid)}\n", encoding="utf-8")
    return child, wrapped.level
