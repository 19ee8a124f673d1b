"""One session as the keeper has it: a master, a child, and how the child ended."""

import errno
import os
import signal

from duetty.errors import BadArguments, Conflict, DuettyError, Refused, SessionExited
from duetty.keeper.wire import Message
from duetty.platform.own_process import hold_process, signal_held
from duetty.platform.pty_masters import session_leader, terminal_of
from duetty.platform.terminal_probe import Probe, probe, session_members

WHOM = ("foreground", "process", "group", "all")

MAX_LOOKS = 100
"""For processes that others start while they are ended; each takes some milliseconds at most."""


class HeldSession:
    """One session as the keeper has it."""

    __slots__ = ("exit_code", "exited", "master", "name", "pid", "pidfd", "signal", "tty")

    def __init__(
        self, name: str, *, pid: int, tty: str, master: int, pidfd: int | None = None
    ) -> None:
        self.name = name
        self.pid = pid
        self.tty = tty
        self.master = master
        self.pidfd = pidfd
        """Tells the end of a process that is not our child."""
        self.exited = False
        self.exit_code: int | None = None
        self.signal: int | None = None

    def end(self, code: int | None) -> None:
        """Remember how the child ended; negative is a signal, None unknown."""
        self.exited = True
        if code is not None:
            self.exit_code = code if code >= 0 else None
            self.signal = -code if code < 0 else None

    def status(self) -> Message:
        return {"session": self.name, "exit_code": self.exit_code, "signal": self.signal}

    def as_message(self) -> Message:
        return {**self.status(), "pid": self.pid, "tty": self.tty, "exited": self.exited}

    def foreground(self) -> int | None:
        """The process group the terminal's keys go to."""
        if self.exited:
            return None
        try:
            return os.tcgetpgrp(self.master) or None
        except OSError:
            return None

    def probe(self) -> Probe:
        return probe(self.pid, self.tty, self.foreground())

    def send(self, number: int, whom: str) -> None:
        """Send a signal.

        Raises:
            SessionExited: if the child has ended: its numbers may name others by now.
            Conflict: if no process is left to receive it.
            Refused: if they belong to another user.
        """
        if self.exited:
            raise SessionExited(self.name, self.exit_code)
        try:
            match whom:
                case "foreground":
                    group = self.foreground()
                    if group is None:
                        raise Conflict("the session has no foreground process group")
                    os.killpg(group, number)
                case "process" if self.pidfd is not None:
                    signal_held(self.pidfd, number)
                case "process":
                    os.kill(self.pid, number)  # our child: the number is its own until reaped
                case "group":
                    os.killpg(self.pid, number)
                case "all" if number == signal.SIGKILL:
                    kill_session(self.pid)
                case "all":
                    send_each(session_members(frozenset({self.pid})), number)
                case _:
                    raise BadArguments(f"'whom' must be one of {', '.join(WHOM)}")
        except ProcessLookupError:
            raise Conflict("no process is there to receive the signal") from None
        except PermissionError:
            raise Refused("the process belongs to another user") from None

    def close(self) -> None:
        os.close(self.master)
        if self.pidfd is not None:
            os.close(self.pidfd)


def send_each(pids: list[int], number: int) -> None:
    """Send a signal to each; those that vanished or are another user's are left out."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue


def kill_session(sid: int) -> None:
    """KILL for every process of a kernel session, and for those that they start meanwhile.

    They are stopped first, until a look finds no new ones: a stopped process starts no others. By groups,
    which the kernel signals as a whole: one process that starts another and ends is gone from
    its number before a signal comes there.
    """
    seen: set[int] = set()
    for _ in range(MAX_LOOKS):
        new = session_members(frozenset({sid}), besides=frozenset(seen))
        if not new:
            break
        _send_groups(new, signal.SIGSTOP)
        seen.update(new)
    _send_groups(session_members(frozenset({sid})), signal.SIGKILL)


def _send_groups(pids: list[int], number: int) -> None:
    groups: set[int] = set()
    for pid in pids:
        try:
            groups.add(os.getpgid(pid))
        except OSError:
            continue
    for group in groups - {0}:  # of a group that we cannot see; to us it would be our own
        try:
            os.killpg(group, number)
        except OSError:
            continue
    send_each(pids, number)  # some may have gone to a group that others had no part in


def adopt(name: str, *, pid: int, tty: str, master: int) -> HeldSession:
    """A session whose child another keeper forked. Owns `master` when it returns.

    Raises:
        BadArguments: if the descriptor is not the master of that terminal.
    """
    try:
        found = terminal_of(master)
    except OSError:
        raise BadArguments("the descriptor is not a PTY master") from None
    if tty != found:
        raise BadArguments(f"the descriptor is the master of {found}, not of {tty}")
    kept = HeldSession(name, pid=pid, tty=tty, master=master)
    try:
        kept.pidfd = hold_process(pid)
    except OSError as error:
        if error.errno not in (errno.ESRCH, errno.EINVAL):
            raise DuettyError(f"cannot watch process {pid}: {error.strerror}") from None
    # In this order: once the pidfd is held, the number cannot pass to another process
    # unseen, and only the leader of this terminal's session is the process we mean.
    if kept.pidfd is None or session_leader(master) != pid:
        kept.end(None)
    return kept


HANGUP = (signal.SIGHUP, signal.SIGCONT)
"""A stopped process does not see a hangup until it continues."""
