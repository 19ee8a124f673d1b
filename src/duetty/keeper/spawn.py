"""A child on a new PTY: its order in, a running process or a coded error out.

Uses fork, not posix_spawn: that one knows no working directory, restores no
limit or OOM score, and cannot tell a missing directory from a missing command.
Fork is safe here because the keeper has one thread and cheap because it is
small. The child reports what failed through a pipe that exec closes, so the
keeper never waits for it: a dead network directory hangs only the child.
"""

# ruff: noqa: PTH118 - pathlib would cost the keeper 1 MB

import errno
import fcntl
import os
import resource
import signal
import termios
from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple, NoReturn

from duetty.errors import (
    BadArguments,
    BadCommand,
    BadWorkingDirectory,
    CommandTooLong,
    DuettyError,
    ForkFailed,
)
from duetty.keeper import fields
from duetty.keeper.wire import Message
from duetty.platform.own_process import memory_file, oom_score, open_descriptors, set_oom_score

MAX_HANDED_BYTES = 1024 * 1024
_PIPE_BYTES = 4096
"""A pipe always holds this much (one page, even for a user who has many pipes),
so handing it over never blocks the keeper. What is longer is a file in memory."""

_HANDED_NUMBERS = range(3, 256)
_IUTF8 = 0o40000
_DEFAULT_PATH = b"/usr/local/bin:/usr/bin:/bin"
_ALL_SIGNALS = tuple(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
_EXHAUSTION = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC})


class Order(NamedTuple):
    """What to start, as the kernel takes it."""

    argv: tuple[bytes, ...]
    cwd: bytes
    env: dict[bytes, bytes]
    cols: int
    rows: int
    handed: dict[int, bytes]


class Surroundings(NamedTuple):
    """What the keeper changed for itself and a child gets back."""

    nofile: tuple[int, int]
    oom_score_adj: bytes | None
    """None where the keeper could not change its own."""


class Starting(NamedTuple):
    """A forked child that has not run its command yet."""

    pid: int
    master: int
    """Non-blocking, for the keeper and for everyone it is handed to."""
    tty: str
    report: int
    """Readable once the command runs (end of file) or has failed (see `failure`)."""


def parse_order(message: Message) -> Order:
    """The order in an `open` request.

    Raises:
        BadArguments: if it is not one.
        BadWorkingDirectory: if the directory is relative: the keeper's own is `/`.
    """
    cwd = fields.raw(message, "cwd")
    if not cwd.startswith(b"/"):
        raise BadWorkingDirectory(
            f"the working directory {os.fsdecode(cwd)!r} is relative",
            hint="give an absolute directory",
        )
    argv = fields.raw_texts(message, "argv")
    if not argv[0]:
        raise BadCommand("the command is empty")
    return Order(
        argv=argv,
        cwd=cwd,
        env=fields.raw_map(message, "env"),
        cols=fields.number(message, "cols", low=1, high=0xFFFF),
        rows=fields.number(message, "rows", low=1, high=0xFFFF),
        handed=_parse_handed(message),
    )


def start(order: Order, own: Surroundings) -> Starting:
    """Fork the child; it goes on by itself.

    Raises:
        ForkFailed: if the machine has no PTY, descriptor or process left.
    """
    lent: list[int] = []  # the child's ends; ours to close, whatever happens
    kept: list[int] = []
    try:
        master, slave = os.openpty()
        kept.append(master)
        lent.append(slave)
        tty = os.ttyname(slave)
        _prepare_terminal(master, slave, order)
        ends: dict[int, int] = {}
        for number, content in order.handed.items():
            if len(content) > _PIPE_BYTES:
                ends[number] = write_end = memory_file("handed")
                lent.append(write_end)
            else:
                ends[number], write_end = os.pipe()
                lent += [ends[number], write_end]
            os.write(write_end, content)
            if len(content) > _PIPE_BYTES:
                os.lseek(write_end, 0, os.SEEK_SET)
        report, report_end = os.pipe()
        kept.append(report)
        lent.append(report_end)
        os.set_blocking(report, False)
        pid = _fork(order, own, slave=slave, report=report_end, ends=ends)
        kept.clear()
        return Starting(pid, master, tty, report)
    except OSError as error:
        raise ForkFailed(
            f"cannot start a process: {error.strerror}", hint=_exhausted_hint(error.errno)
        ) from None
    finally:
        for fd in lent + kept:
            os.close(fd)


def failure(report: bytes, order: Order) -> DuettyError | None:
    """What the child reported, or None if its command runs."""
    if not report:
        return None
    stage, _, text = report.partition(b" ")
    number = int(text)
    reason = os.strerror(number) if number else "unexpected error"
    if stage == b"cwd":
        return BadWorkingDirectory(
            f"cannot enter {os.fsdecode(order.cwd)!r}: {reason}",
            hint="give a directory that exists and that this user may enter",
        )
    if stage == b"exec" and number == errno.E2BIG:
        return CommandTooLong(
            "the command and its environment are too long for the system",
            hint="give fewer or shorter arguments and variables",
        )
    if stage == b"exec" and number not in _EXHAUSTION:
        return BadCommand(
            f"cannot run {os.fsdecode(order.argv[0])!r}: {reason}",
            hint="give the path of a program, or a name found in the session's PATH",
        )
    return ForkFailed(f"cannot start a process: {reason}", hint=_exhausted_hint(number))


def close_all_but(keep: Collection[int]) -> None:
    """Close every descriptor of this process that is not in `keep`."""
    # Not closerange: without close_range(2) it would try a million numbers.
    for fd in open_descriptors():
        if fd not in keep:
            with suppress(OSError):  # the descriptor of the listing itself
                os.close(fd)


def _parse_handed(message: Message) -> dict[int, bytes]:
    if message.get("handed") is None:
        return {}
    handed: dict[int, bytes] = {}
    for name, content in fields.contents_map(message, "handed").items():
        number = int(name) if name.isdigit() else -1
        if number not in _HANDED_NUMBERS:
            raise BadArguments("'handed' must name descriptors from 3 to 255")
        if len(content) > MAX_HANDED_BYTES:
            raise BadArguments(f"'handed' may have {MAX_HANDED_BYTES} bytes a descriptor")
        handed[number] = content
    return handed


def _prepare_terminal(master: int, slave: int, order: Order) -> None:
    termios.tcsetwinsize(master, (order.rows, order.cols))
    modes = termios.tcgetattr(slave)
    modes[0] |= _IUTF8  # else erasing a character in a cooked line leaves half of it
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    os.set_blocking(master, False)


def _fork(order: Order, own: Surroundings, *, slave: int, report: int, ends: dict[int, int]) -> int:
    # A signal that reached the child before its reset would be written to the wakeup
    # descriptor it shares with the keeper.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL_SIGNALS)
    try:
        pid = os.fork()
        if pid == 0:
            _become(order, own, slave=slave, report=report, ends=ends)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return pid


def _become(
    order: Order, own: Surroundings, *, slave: int, report: int, ends: dict[int, int]
) -> NoReturn:
    """In the child: become the command, or report why not."""
    stage = b"setup"
    try:
        signal.set_wakeup_fd(-1)
        for number in _ALL_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        os.login_tty(slave)  # new session, own group, controlling terminal, 0 1 2
        report = _place_descriptors(report, ends)
        if own.oom_score_adj is not None:
            set_oom_score(own.oom_score_adj)
        resource.setrlimit(resource.RLIMIT_NOFILE, own.nofile)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        stage = b"cwd"
        os.chdir(order.cwd)
        stage = b"exec"
        _exec(order)
    except OSError as error:
        os.write(report, b"%s %d" % (stage, error.errno))
    except BaseException:  # noqa: BLE001 - nothing may run on in a copy of the keeper
        os.write(report, b"setup 0")
    finally:
        os._exit(127)


def _place_descriptors(report: int, ends: dict[int, int]) -> int:
    """Give the handed descriptors their numbers, close the rest, say where `report` is now."""
    free = max(ends, default=2) + 1
    report = fcntl.fcntl(report, fcntl.F_DUPFD_CLOEXEC, free)
    lifted = {number: fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, free) for number, end in ends.items()}
    for number, end in lifted.items():
        os.dup2(end, number)
    close_all_but({0, 1, 2, report, *ends})
    return report


def _exec(order: Order) -> NoReturn:
    """As execvp, but with the PATH of the order."""
    name = order.argv[0]
    if b"/" in name:
        os.execve(name, order.argv, order.env)
    refused: OSError | None = None
    for directory in order.env.get(b"PATH", _DEFAULT_PATH).split(b":"):
        try:
            os.execve(os.path.join(directory or b".", name), order.argv, order.env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            refused = error
    raise refused or FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def surroundings() -> Surroundings:
    """Raise the keeper's own limits, and tell what children get back."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return Surroundings((soft, hard), _lower_oom_score_adj())


_OOM_SCORE_ADJ = b"-500"
"""Every session hangs on the keeper, which itself needs about 10 MB."""


def _lower_oom_score_adj() -> bytes | None:
    try:
        before = oom_score()
        if int(before) <= int(_OOM_SCORE_ADJ):
            return None
        set_oom_score(_OOM_SCORE_ADJ)
    except OSError:
        return None  # only root may; the keeper works without
    return before


def _exhausted_hint(number: int | None) -> str | None:
    match number:
        case errno.EMFILE | errno.ENFILE:
            return "close sessions, or raise the limit of open files"
        case errno.EAGAIN | errno.ENOMEM:
            return "close sessions, or raise the limit of processes or memory"
        case errno.ENOSPC:
            return "close sessions, or raise kernel.pty.max"
        case _:
            return None
