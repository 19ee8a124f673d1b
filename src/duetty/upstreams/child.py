"""A program as upstream: started behind the guard, its pipes, its end, what it says on standard error."""

import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from subprocess import PIPE

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, Process

from duetty.errors import BadCommand, BadWorkingDirectory, UpstreamUnavailable
from duetty.platform import child_guard
from duetty.platform.descendants import first_child
from duetty.platform.own_process import memory_file
from duetty.policy import visible
from duetty.sandbox import Level, Places, SandboxRequest, Wrapped, inner_pid, wrap
from duetty.upstreams.link import Surroundings
from duetty.upstreams.upstream_settings import Program, expanded

GUARD = Path(child_guard.__file__)

INHERITED = ("HOME", "LOGNAME", "USER", "PATH", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""Of the server's environment, which may hold secrets of others: nothing but these, and what is named."""

CLOSE_S = 2.0
"""After its input was closed, which is how it is asked to end."""

END_S = 6.0
"""After TERM; the guard itself kills what is left after two seconds."""

_NO_FILE = "No such file or directory"

LOG_BYTES = 256 * 1024
LAST_LINES = 5
LINE_CHARS = 500


@dataclass(slots=True)
class Child:
    """A started program."""

    process: Process
    sandbox: Level
    stderr: "ErrorOutput"

    @property
    def pid(self) -> int:
        """Of the program itself: the guard's child, or its child in a sandbox."""
        return _child_of(self.process.pid, self.sandbox)

    async def wait_ended(self) -> UpstreamUnavailable:
        """Wait until it is gone; return the reason, if it is known."""
        code = await self.process.wait()
        # Its last words may still be on their way.
        with anyio.move_on_after(0.5):
            await self.stderr.closed.wait()
        reason = ended(code, self.stderr)
        if self.sandbox != "none" and any(_NO_FILE in line for line in self.stderr.last):
            reason.hint = "its sandbox may hide the file: name its directory in `workspaces`; a sandbox has a /tmp of its own"
        return reason


def ended(code: int, stderr: "ErrorOutput") -> UpstreamUnavailable:
    how = f"with exit code {code}" if code < 128 else f"by {_signal_name(code - 128)}"
    if code == 127 and not stderr.last:
        how = "before it began"
    last = f"; its last line: {stderr.last[-1]}" if stderr.last else ""
    return UpstreamUnavailable(f"it ended {how}{last}", details={"exit_code": code})


class ErrorOutput:
    """What it printed on standard error: bounded in a file, the last lines here."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = path.stat().st_size if path.exists() else 0
        self.last: list[str] = []
        self.closed = anyio.Event()

    async def follow(self, stream: ByteReceiveStream) -> None:
        """Read for as long as it prints: a full pipe would stop it."""
        self._path.unlink(missing_ok=True)
        rest = b""
        try:
            async for chunk in stream:
                self._keep(chunk)
                *lines, rest = (rest + chunk).split(b"\n")
                rest = rest[-4 * LINE_CHARS :]
                self._remember(lines)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            pass
        finally:
            self._remember([rest])
            self.closed.set()

    def note(self, text: str) -> None:
        """A line of ours, among its own."""
        self._keep(f"[duetty: {text}]\n".encode())

    def _remember(self, lines: list[bytes]) -> None:
        kept = [_plain(line) for line in lines[-LAST_LINES:] if line.strip()]
        self.last = (self.last + kept)[-LAST_LINES:]

    def _keep(self, data: bytes) -> None:
        """Two files in turn: the older one goes when the newer is full."""
        with suppress(OSError):  # a full disk costs the log, not the upstream
            if self._size + len(data) > LOG_BYTES and self._size:
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))
                self._size = 0
            fd = os.open(
                self._path,
                os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_APPEND | os.O_CLOEXEC,
                0o600,
            )
            with open(fd, "wb") as file:
                file.write(data[-LOG_BYTES:])
            self._size += len(data)


@asynccontextmanager
async def started(name: str, program: Program, around: Surroundings) -> AsyncGenerator[Child]:
    """The program, running; it and all it started have ended when this is left.

    Raises:
        BadCommand, BadWorkingDirectory, BadSetting: the table names what is not there.
        SandboxUnavailable: the sandbox that is asked for cannot be had.
    """
    process: Process | None = None
    level: Level = "none"
    with anyio.CancelScope(shield=True):  # else a program could be started and lost
        process, level = await _open(name, program, around)
    assert process is not None
    assert process.stderr is not None
    stderr = ErrorOutput(around.logs / f"{name}.log")
    stderr.note(f"started, process {process.pid}")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stderr.follow, process.stderr)
        try:
            yield Child(process=process, sandbox=level, stderr=stderr)
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)
                with anyio.move_on_after(CLOSE_S):
                    await stderr.closed.wait()
                if process.returncode is not None:
                    await process.aclose()  # its pipes too, read to their ends or not
            tasks.cancel_scope.cancel()


async def _open(name: str, program: Program, around: Surroundings) -> tuple[Process, Level]:
    """By the thread of the loop: the guard watches the thread that started it."""
    order = around.sandbox(program)
    spec_fd = memory_file("sandbox") if order.asked != "none" else -1
    try:
        wrapped, directory = await anyio.to_thread.run_sync(
            partial(_wrapped, name, program, around, order=order, spec_fd=spec_fd)
        )
        handed = ",".join(str(fd) for fd in wrapped.handed) or "-"
        guard = [sys.executable, "-I", "-S", str(GUARD), str(os.getpid()), handed, "--"]
        process = await anyio.open_process(
            [*guard, *wrapped.argv],
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=directory,
            env=dict(wrapped.env),
            start_new_session=True,
            pass_fds=tuple(wrapped.handed),
        )
    except OSError as error:
        raise UpstreamUnavailable(f"it could not be started: {error.strerror}") from error
    finally:
        if spec_fd >= 0:
            os.close(spec_fd)
    return process, wrapped.level


def _wrapped(
    name: str, program: Program, around: Surroundings, *, order: SandboxRequest, spec_fd: int
) -> tuple[Wrapped, str]:
    """What to start, and where; looks at files, so for a worker thread."""
    around.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    environment = around.environment
    env = {each: environment[each] for each in INHERITED if each in environment}
    env |= {key: expanded(value, environment) for key, value in program.env.items()}
    command = expanded(program.command, environment)
    path = shutil.which(str(Path(command).expanduser()), path=env.get("PATH"))
    if path is None:
        raise BadCommand(f"no program {command!r}", hint="give a path, or a name found in PATH")
    directory = _directory(program, environment)
    words = [path, *(expanded(each, environment) for each in program.args)]
    wrapped = wrap(
        words,
        env,
        cwd=directory,
        order=order,
        places=Places(hidden=around.hidden, private=around.logs / f"{name}.tmp"),
        spec_fd=spec_fd,
    )
    for fd, content in wrapped.handed.items():
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
    return wrapped, directory


def _directory(program: Program, environment: Mapping[str, str]) -> str:
    home = environment.get("HOME") or "/"
    text = expanded(program.cwd or "~", environment)
    directory = Path(home, text[2:] if text == "~" or text.startswith("~/") else text)
    if not directory.is_dir():
        raise BadWorkingDirectory(f"no directory {str(directory)!r}")
    return str(directory)


async def _end(process: Process) -> None:
    """Its input closes, then TERM, then KILL; every step has its time.

    What it still prints is read and dropped: one that waits for a reader could not end.
    """
    async with anyio.create_task_group() as tasks:
        drained = anyio.Event()
        tasks.start_soon(_drain, process, drained)
        await _make_end(process)
        with anyio.move_on_after(CLOSE_S):
            await drained.wait()
        tasks.cancel_scope.cancel()


async def _drain(process: Process, drained: anyio.Event) -> None:
    assert process.stdout is not None
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for _ in process.stdout:
            pass
    drained.set()


async def _make_end(process: Process) -> None:
    assert process.stdin is not None
    with anyio.move_on_after(CLOSE_S), suppress(OSError, anyio.BrokenResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(CLOSE_S):
        await process.wait()
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        with anyio.move_on_after(END_S):
            await process.wait()
    if process.returncode is None or process.returncode < 0:
        # The guard did not get to its work: its group is what is left of it.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with anyio.move_on_after(END_S):
            await process.wait()


def _child_of(guard: int, level: Level) -> int:
    program = first_child(guard)
    return guard if program is None else inner_pid(program, level)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _plain(line: bytes) -> str:
    return visible(line.decode("utf-8", "replace").strip())[:LINE_CHARS]
