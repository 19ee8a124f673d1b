"""The keeper process: one thread, one loop, few imports.

It must outlive everything else, so it does little: fork, hold, hand over, reap,
remember. A bad request costs an error, a bad frame the connection, and neither
costs a session. No dataclasses, argparse or logging: together they would be a
third of its memory.
"""

# ruff: noqa: PTH100, PTH108 - pathlib would cost the keeper 1 MB

import errno
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from duetty.errors import (
    BadArguments,
    Conflict,
    DuettyError,
    ForkFailed,
    InstanceBusy,
    NotAPerson,
    SessionNameConflict,
    SessionNotFound,
)
from duetty.keeper import fields, spawn
from duetty.keeper.claim import claim
from duetty.keeper.held_session import HANGUP, HeldSession, adopt, send_each
from duetty.keeper.wire import PROTOCOL, Channel, Frame, Message
from duetty.platform.orphans import adopt_orphans
from duetty.platform.peers import ancestors_of, credentials_of, is_beside_us
from duetty.platform.terminal_probe import session_members

ORPHAN_S = 60.0
"""How long a keeper with nothing to keep waits for a server.

A server that restarts takes seconds; a keeper that waited forever would be left
behind by every server that was killed.
"""

UNCOLLECTED_S = 24 * 3600.0
"""How long exit statuses and last output wait for a server, when every child has ended.

They are the promise that nothing is lost; a day covers a night and a broken upgrade.
"""

START_S = 10.0
"""How long a child may take to run its command: longer means a file system that hangs."""

HELLO_S = 5.0
"""How long a connection may stay silent before it says who it is."""

STOP_GRACE_S = 5.0
"""Between hangup and kill when SIGTERM ends the keeper."""

KILLED_S = 2.0
"""How long to wait for killed processes; one in uninterruptible I/O must not hold the end."""

STOP_LOOK_S = 0.02
"""While stopping, how often to look for processes that are not our children."""

FAULT_PAUSE_S = 0.05
"""After a fault that the next turn will meet again: slow is better than spinning."""

MAX_GUESTS = 16
"""Connections that have not sent `hello`."""

LOG_BYTES = 1024 * 1024
"""The log starts anew at this size. It has a line for each server, not for each session."""


class Peer:
    """A connection: a guest until hello, then the server."""

    __slots__ = ("channel", "hello_by_s", "pid")

    def __init__(self, channel: Channel, pid: int) -> None:
        self.channel = channel
        self.pid = pid
        self.hello_by_s = time.monotonic() + HELLO_S


class Ticket(NamedTuple):
    """A request that is answered later."""

    peer: Peer
    request: int


class Pending(NamedTuple):
    """A session whose command does not run yet."""

    name: str
    child: spawn.Starting
    order: spawn.Order
    ticket: Ticket
    by_s: float


class Stopping:
    __slots__ = ("end_at_s", "kill_at_s", "sids", "tickets")

    def __init__(self, sids: frozenset[int], grace_s: float) -> None:
        self.sids = sids
        self.tickets: list[Ticket] = []
        self.kill_at_s = time.monotonic() + grace_s
        self.end_at_s = self.kill_at_s + KILLED_S

    def hasten(self, grace_s: float) -> None:
        """A second request to stop can only bring the end nearer."""
        self.kill_at_s = min(self.kill_at_s, time.monotonic() + grace_s)
        self.end_at_s = self.kill_at_s + KILLED_S


class Answer(NamedTuple):
    message: Message
    fds: tuple[int, ...] = ()


Operation = Callable[[Ticket, Message, tuple[int, ...]], Answer | None]


class Keeper:
    """Sessions, the server they belong to, and the loop."""

    def __init__(self, listener: socket.socket, *, orphan_s: float = ORPHAN_S) -> None:
        self._listener = listener
        self._orphan_s = orphan_s
        self._own = spawn.surroundings()
        self._selector = selectors.DefaultSelector()
        self._kept: dict[str, HeldSession] = {}
        self._pending: dict[str, Pending] = {}
        self._guests: list[Peer] = []
        self._server: Peer | None = None
        self._stopping: Stopping | None = None
        self._terminations = 0
        self._terminations_seen = 0
        self._alone_since_s: float | None = None
        self._done = False
        self._operations: dict[str, Operation] = {
            "open": self._open,
            "adopt": self._adopt,
            "take": self._take,
            "list": self._list,
            "forget": self._forget,
            "signal": self._signal,
            "probe": self._probe,
            "stop": self._stop,
        }

    def run(self) -> None:
        """Serve until there is nothing left to serve."""
        self._watch_signals()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        while not self._done:
            for key, _ in self._selector.select(self._wait_s()):
                # What ran before may have closed this one.
                if self._selector.get_map().get(key.fd) is key:
                    self._guarded(key.data)
            self._guarded(self._pass_time)

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end every session
            log("fault", fault=repr(error))
            time.sleep(FAULT_PAUSE_S)

    # --- the loop's own ---------------------------------------------------------

    def _watch_signals(self) -> None:
        wakeup, wakeup_end = os.pipe()
        os.set_blocking(wakeup, False)
        os.set_blocking(wakeup_end, False)
        signal.set_wakeup_fd(wakeup_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _wake_only)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note_termination)
        self._selector.register(wakeup, selectors.EVENT_READ, lambda: self._wake(wakeup))

    def _note_termination(self, *_: object) -> None:
        self._terminations += 1

    def _wake(self, wakeup: int) -> None:
        os.read(wakeup, 65536)
        self._reap()
        if self._terminations > self._terminations_seen:
            self._terminations_seen = self._terminations
            log("terminated", times=self._terminations)
            # A second signal skips the grace.
            self._begin_stop(STOP_GRACE_S if self._terminations == 1 else 0.0)

    def _wait_s(self) -> float | None:
        """Until the next thing that happens by time alone."""
        times = [guest.hello_by_s for guest in self._guests]
        times += [pending.by_s for pending in self._pending.values()]
        if (orphaned := self._orphaned_at_s()) is not None:
            times.append(orphaned)
        if self._stopping is not None:
            times.append(time.monotonic() + STOP_LOOK_S)
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _pass_time(self) -> None:
        now_s = time.monotonic()
        for guest in [guest for guest in self._guests if guest.hello_by_s <= now_s]:
            self._drop(guest, "silent")
        for pending in [each for each in self._pending.values() if each.by_s <= now_s]:
            self._give_up(pending)
        if self._stopping is not None:
            self._go_on_stopping(self._stopping, now_s)
        orphaned = self._orphaned_at_s()
        if orphaned is not None and orphaned <= now_s:
            log("orphaned", sessions=len(self._kept))
            self._done = True

    def _orphaned_at_s(self) -> float | None:
        alive = self._pending or any(not kept.exited for kept in self._kept.values())
        if self._server is not None or self._stopping is not None or alive:
            self._alone_since_s = None
            return None
        if self._alone_since_s is None:
            self._alone_since_s = time.monotonic()
        return self._alone_since_s + (UNCOLLECTED_S if self._kept else self._orphan_s)

    # --- connections ------------------------------------------------------------

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError as error:
            self._survive_accept(error)
            return
        pid, uid = credentials_of(sock)
        is_ours = uid in (os.geteuid(), 0) and is_beside_us(pid)  # in no sandbox
        if not is_ours or len(self._guests) >= MAX_GUESTS:
            log("connection_refused", pid=pid, uid=uid)
            sock.close()
            return
        peer = Peer(Channel(sock), pid)
        self._guests.append(peer)
        self._selector.register(
            peer.channel.fileno(), selectors.EVENT_READ, lambda: self._serve(peer)
        )

    def _survive_accept(self, error: OSError) -> None:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            # The connection stays in the queue and would wake the loop at once, for ever.
            log("accept_failed", reason=error.strerror)
            time.sleep(FAULT_PAUSE_S)

    def _serve(self, peer: Peer) -> None:
        peer.channel.flush()
        for frame in peer.channel.receive():
            self._dispatch(peer, frame)
        self._settle(peer)

    def _settle(self, peer: Peer) -> None:
        """After reading or writing: watch what is left to write, or let go."""
        if peer.channel.lost is not None:
            self._drop(peer, peer.channel.lost)
            return
        events = selectors.EVENT_READ
        if peer.channel.has_backlog:
            events |= selectors.EVENT_WRITE
        key = self._selector.get_map().get(peer.channel.fileno())
        if key is not None and key.events != events:
            self._selector.modify(key.fd, events, key.data)

    def _drop(self, peer: Peer, reason: str) -> None:
        if peer.channel.fileno() < 0:
            return
        self._selector.unregister(peer.channel.fileno())
        peer.channel.close()
        if peer is self._server:
            log("server_lost", pid=peer.pid, reason=reason)
            self._server = None
        elif peer in self._guests:
            self._guests.remove(peer)

    def _dispatch(self, peer: Peer, frame: Frame) -> None:
        request = fields.optional_number(frame.message, "id") or 0
        ticket = Ticket(peer, request)
        try:
            answer = self._answer(ticket, frame)
            if answer is not None:
                self._reply(ticket, answer)
        except DuettyError as error:
            self._refuse(ticket, error)
        except Exception as error:  # noqa: BLE001 - a fault in one request must not cost every session
            log("request_failed", op=frame.message.get("op"), fault=repr(error))
            self._refuse(ticket, DuettyError(f"the keeper failed: {type(error).__name__}"))
        finally:
            for fd in frame.fds:
                os.close(fd)

    def _answer(self, ticket: Ticket, frame: Frame) -> Answer | None:
        op = fields.text(frame.message, "op")
        if op == "hello":
            return self._hello(ticket, frame.message)
        if ticket.peer is not self._server:
            raise BadArguments("say hello first")
        operation = self._operations.get(op)
        if operation is None:
            raise BadArguments(f"no operation {op!r}")
        return operation(ticket, frame.message, frame.fds)

    def _reply(self, ticket: Ticket, answer: Answer) -> None:
        self._tell(ticket.peer, {"id": ticket.request, "ok": True, **answer.message}, answer.fds)

    def _refuse(self, ticket: Ticket, error: DuettyError) -> None:
        message: Message = {
            "id": ticket.request,
            "ok": False,
            "error": error.code,
            "message": error.message,
            "hint": error.hint,
            "details": dict(error.details),
        }
        self._tell(ticket.peer, message)
        if ticket.peer is not self._server:
            self._drop(ticket.peer, error.code)

    def _tell(self, peer: Peer, message: Message, fds: tuple[int, ...] = ()) -> None:
        if peer.channel.lost is not None:
            return
        try:
            peer.channel.send(message, fds)
        except (DuettyError, OSError) as error:
            # A server that stopped reading, or no descriptor left to queue one: it comes
            # back and finds everything in `hello`.
            self._drop(peer, str(error))
            return
        self._settle(peer)

    # --- operations -------------------------------------------------------------

    def _hello(self, ticket: Ticket, message: Message) -> Answer:
        peer = ticket.peer
        if os.getpid() in ancestors_of(peer.pid):
            log("server_refused", pid=peer.pid, reason="it runs in a session")
            raise NotAPerson(
                "what runs in a session cannot be the server of it",
                hint="start the server in another terminal",
            )
        if self._server is not None and self._server is not peer:
            # It may have died without being noticed yet, in this very turn of the loop.
            self._serve(self._server)
        if self._server is not None and self._server is not peer:
            raise InstanceBusy(
                f"process {self._server.pid} is the server of this instance",
                hint="stop it, or use another instance",
                details={"pid": self._server.pid},
            )
        if peer in self._guests:
            self._guests.remove(peer)
        peer.hello_by_s = float("inf")
        self._server = peer
        log("server_connected", pid=peer.pid, version=message.get("version"))
        return Answer({"keeper_pid": os.getpid(), "version": PROTOCOL, **self._sessions()})

    def _open(self, ticket: Ticket, message: Message, _: tuple[int, ...]) -> None:
        name = self._new_name(message)
        order = spawn.parse_order(message)
        child = spawn.start(order, self._own)
        pending = Pending(name, child, order, ticket, time.monotonic() + START_S)
        self._pending[name] = pending
        self._selector.register(
            child.report, selectors.EVENT_READ, lambda: self._finish_open(pending)
        )

    def _finish_open(self, pending: Pending) -> None:
        """The child runs its command, or reported why not."""
        report = os.read(pending.child.report, 64)
        child = pending.child
        self._forget_pending(pending)
        error = spawn.failure(report, pending.order)
        if error is not None:
            os.close(child.master)
            self._refuse(pending.ticket, error)
            return
        kept = HeldSession(pending.name, pid=child.pid, tty=child.tty, master=child.master)
        self._kept[kept.name] = kept
        self._reply(pending.ticket, _handed_over(kept))

    def _give_up(self, pending: Pending) -> None:
        os.kill(pending.child.pid, signal.SIGKILL)
        self._forget_pending(pending)
        os.close(pending.child.master)
        self._refuse(
            pending.ticket,
            ForkFailed(
                f"the command did not start within {START_S:.0f} s",
                hint="its directory or program may be on a file system that does not answer",
            ),
        )

    def _forget_pending(self, pending: Pending) -> None:
        del self._pending[pending.name]
        self._selector.unregister(pending.child.report)
        os.close(pending.child.report)

    def _adopt(self, _: Ticket, message: Message, __: tuple[int, ...]) -> Answer:
        return _handed_over(self._find(message))

    def _take(self, _: Ticket, message: Message, fds: tuple[int, ...]) -> Answer:
        name = self._new_name(message)
        if len(fds) != 1:
            raise BadArguments("'take' needs the master")
        pid = fields.number(message, "pid", low=2, high=1 << 30)
        master = os.dup(fds[0])
        try:
            kept = adopt(name, pid=pid, tty=fields.text(message, "tty"), master=master)
        except DuettyError:
            os.close(master)
            raise
        self._kept[name] = kept
        if kept.pidfd is not None and not kept.exited:
            self._selector.register(
                kept.pidfd, selectors.EVENT_READ, lambda: self._end_adopted(kept)
            )
        return Answer(kept.as_message())

    def _end_adopted(self, kept: HeldSession) -> None:
        if kept.pidfd is not None:
            self._selector.unregister(kept.pidfd)
        self._end(kept, None)

    def _list(self, _: Ticket, __: Message, ___: tuple[int, ...]) -> Answer:
        return Answer(self._sessions())

    def _forget(self, _: Ticket, message: Message, __: tuple[int, ...]) -> Answer:
        kept = self._find(message)
        del self._kept[kept.name]
        if kept.pidfd is not None and kept.pidfd in self._selector.get_map():
            self._selector.unregister(kept.pidfd)
        kept.close()
        return Answer({})

    def _signal(self, _: Ticket, message: Message, __: tuple[int, ...]) -> Answer:
        kept = self._find(message)
        number = fields.number(message, "signal", low=1, high=64)
        kept.send(number, fields.text(message, "whom"))
        return Answer({})

    def _probe(self, _: Ticket, message: Message, __: tuple[int, ...]) -> Answer:
        found = self._find(message).probe()
        reader = None if found.reader is None else found.reader._asdict()
        return Answer({**found._asdict(), "reader": reader})

    def _stop(self, ticket: Ticket, message: Message, _: tuple[int, ...]) -> None:
        self._begin_stop(fields.seconds(message, "grace_s")).tickets.append(ticket)

    def _sessions(self) -> Message:
        return {"sessions": [kept.as_message() for kept in self._kept.values()]}

    def _find(self, message: Message) -> HeldSession:
        name = fields.text(message, "session")
        if name not in self._kept:
            raise SessionNotFound(name)
        return self._kept[name]

    def _new_name(self, message: Message) -> str:
        if self._stopping is not None:
            raise Conflict("the keeper is stopping")
        name = fields.text(message, "session")
        if name in self._kept or name in self._pending:
            raise SessionNameConflict(name)
        return name

    # --- children ---------------------------------------------------------------

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._record(pid, os.waitstatus_to_exitcode(status))

    def _record(self, pid: int, code: int) -> None:
        for pending in list(self._pending.values()):
            if pending.child.pid == pid:
                self._finish_open(pending)  # so that the answer comes before the end
        for kept in self._kept.values():
            # A taken process is never our child: its number may be one we reap.
            if kept.pid == pid and not kept.exited and kept.pidfd is None:
                self._end(kept, code)
                return

    def _end(self, kept: HeldSession, code: int | None) -> None:
        kept.end(code)
        if self._server is not None:
            self._tell(self._server, {"event": "exited", **kept.status()})

    # --- the end ----------------------------------------------------------------

    def _begin_stop(self, grace_s: float) -> Stopping:
        if self._stopping is not None:
            self._stopping.hasten(grace_s)
            return self._stopping
        for pending in list(self._pending.values()):
            self._give_up(pending)
        alive = frozenset(kept.pid for kept in self._kept.values() if not kept.exited)
        self._stopping = Stopping(alive, grace_s)
        members = session_members(alive)
        for number in HANGUP:
            send_each(members, number)
        log("stopping", processes=len(members), grace_s=grace_s)
        return self._stopping

    def _go_on_stopping(self, stopping: Stopping, now_s: float) -> None:
        members = session_members(stopping.sids)
        if members and now_s < stopping.end_at_s:
            if now_s >= stopping.kill_at_s:
                send_each(members, signal.SIGKILL)
            return
        self._reap()
        for ticket in stopping.tickets:
            self._reply(ticket, Answer({"left": len(members)}))
        log("stopped", left=len(members))
        self._done = True


def _wake_only(*_: object) -> None:
    """A signal with a function behind it is one that reaches the wakeup descriptor."""


def _handed_over(kept: HeldSession) -> Answer:
    return Answer(kept.as_message(), (kept.master,))


def log(event: str, **about: object) -> None:
    """One line on standard error, which is the keeper's log. Never what was typed or shown."""
    line = json.dumps({"at_ns": time.time_ns(), "event": event, "keeper": os.getpid(), **about})
    try:
        if os.fstat(2).st_size > LOG_BYTES:
            os.ftruncate(2, 0)
        os.write(2, line.encode() + b"\n")
    except OSError:
        pass  # a full disk must not end the sessions


class Options(NamedTuple):
    socket: str
    log: str
    ready_fd: int | None
    """Gets one JSON line when the keeper answers, or cannot; the keeper then runs detached."""
    orphan_s: float


USAGE = "usage: duetty keeper --socket PATH --log PATH [--orphan-s SECONDS] [--ready-fd NUMBER]\n"


def parse_options(argv: Sequence[str]) -> Options | None:
    given = dict(zip(argv[::2], argv[1::2], strict=False))
    known = {"--socket", "--log", "--orphan-s", "--ready-fd"}
    if len(argv) % 2 or not {"--socket", "--log"} <= given.keys() <= known:
        return None
    try:
        return Options(
            socket=os.path.abspath(given["--socket"]),
            log=os.path.abspath(given["--log"]),
            ready_fd=int(given["--ready-fd"]) if "--ready-fd" in given else None,
            orphan_s=float(given.get("--orphan-s", ORPHAN_S)),
        )
    except ValueError:
        return None


def main(argv: Sequence[str] | None = None) -> int:
    """Be the keeper: `duetty keeper`, `python -m duetty.keeper`."""
    options = parse_options(sys.argv[1:] if argv is None else argv)
    if options is None:
        sys.stderr.write(USAGE)
        return 2
    if options.ready_fd is not None and os.fork():
        return 0  # init adopts the keeper: its starter leaves no zombie behind
    _clear_descriptors(options)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        # The lock is held by its descriptor until the process ends.
        _lock, listener = claim(options.socket)
        _settle_down(options)
    except (DuettyError, OSError) as error:
        failure = error if isinstance(error, DuettyError) else DuettyError(str(error))
        sys.stderr.write(f"duetty keeper: {failure.message}\n")
        _announce(
            options,
            {"error": failure.code, "message": failure.message, "hint": failure.hint, "pid": 0},
        )
        return 1
    adopt_orphans()
    log("started", socket=options.socket)
    _announce(options, {"pid": os.getpid()})
    Keeper(listener, orphan_s=options.orphan_s).run()
    os.unlink(options.socket)
    return 0


def _clear_descriptors(options: Options) -> None:
    """Nothing of the starter's is kept open; 0, 1 and 2 are taken, so nothing else gets them."""
    while (fd := os.open("/dev/null", os.O_RDWR)) <= 2:
        pass
    os.close(fd)
    spawn.close_all_but({0, 1, 2, -1 if options.ready_fd is None else options.ready_fd})


def _settle_down(options: Options) -> None:
    """Leave the starter's directory and streams."""
    os.chdir("/")
    nothing = os.open("/dev/null", os.O_RDONLY)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    written = os.open(options.log, flags, 0o600)
    os.dup2(nothing, 0)
    os.dup2(written, 1)
    os.dup2(written, 2)
    os.close(nothing)
    os.close(written)


def _announce(options: Options, message: Message) -> None:
    if options.ready_fd is None:
        return
    try:
        os.write(options.ready_fd, json.dumps(message).encode() + b"\n")
        os.close(options.ready_fd)
    except OSError:
        pass  # the starter is gone; a server will come or not
