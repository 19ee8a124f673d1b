"""The server's side of the keeper: requests out, replies, ends and losses in.

Belongs to no event loop and never waits, except in `connect`, `call` and
`start_keeper`. The owner watches `fileno()` for reading and calls
`on_readable`; while `on_backlog` has returned that bytes wait, it watches for
writing too and calls `on_writable`.
"""

import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from duetty.errors import DuettyError, ForkFailed, InstanceBusy, KeeperUnavailable
from duetty.keeper import fields
from duetty.keeper.wire import PROTOCOL, Channel, Message, parse_message
from duetty.platform.peers import credentials_of
from duetty.platform.terminal_probe import Probe, Reader

CONNECT_S = 20.0
"""For connect and hello. A keeper answers in less than a millisecond, unless it is stopped."""

CALL_S = 15.0
"""For one blocking call: longer than a keeper lets a child take to start."""

START_KEEPER_S = 20.0
"""For a new keeper to answer. It takes 50 ms; a machine that swaps takes longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the keeper answered; `fds` belong to the receiver."""

    fields: Message
    fds: tuple[int, ...] = ()


OnReply = Callable[[Reply | DuettyError], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    """A session's process has ended. Both None: how it ended is unknown."""

    session: str
    exit_code: int | None
    signal: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSession:
    """A session as the keeper has it."""

    session: str
    pid: int
    tty: str
    exited: bool
    exit_code: int | None
    signal: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A session and the master of its PTY: non-blocking, and the caller's to close."""

    session: KeptSession
    master: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOrder:
    """What an `open` request asks for."""

    session: str
    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    """Complete: the child gets this and nothing else."""
    cols: int
    rows: int
    handed: Mapping[int, str] = field(default_factory=dict[int, str])
    """Text the child reads from a descriptor of that number."""

    def fields(self) -> Message:
        return {
            "session": self.session,
            "argv": list(self.argv),
            "cwd": self.cwd,
            "env": dict(self.env),
            "cols": self.cols,
            "rows": self.rows,
            "handed": {str(number): text for number, text in self.handed.items()},
        }


def _ignore(_: object) -> None:
    """The callback of an owner that does not care."""


class KeeperClient:
    """One connection to a keeper; while it lasts, no other server has one."""

    def __init__(self, sock: socket.socket) -> None:
        """Use `connect`."""
        self._channel = Channel(sock)
        self._pending: dict[int, OnReply] = {}
        self._last_request = 0
        self._lost = False
        self._announced_backlog = False
        self.keeper_pid = 0
        self.sessions: tuple[KeptSession, ...] = ()
        """As of `connect`, with the statuses that no one has collected."""
        self._on_exited: Callable[[Exited], None] = _ignore
        self._on_lost: Callable[[KeeperUnavailable], None] = _ignore
        self._on_backlog: Callable[[bool], None] = _ignore

    @classmethod
    def connect(cls, path: str | Path) -> "KeeperClient":
        """Connect and say hello. Blocks, at most `CONNECT_S`.

        Raises:
            InstanceBusy: if another server is connected; `details["pid"]` says which.
            KeeperUnavailable: if no keeper answers, or one that speaks otherwise.
        """
        client = cls(_connected(path))
        try:
            reply = client.call(
                "hello", {"version": PROTOCOL, "server_pid": os.getpid()}, timeout_s=CONNECT_S
            )
            client._greet(reply)
        except DuettyError:
            client.close()
            raise
        return client

    def listen(
        self,
        *,
        exited: Callable[[Exited], None] = _ignore,
        lost: Callable[[KeeperUnavailable], None] = _ignore,
        backlog: Callable[[bool], None] = _ignore,
    ) -> None:
        """Call these from now on. `lost`: the keeper is gone; called once, after every pending request
        has failed, while `fileno()` is still valid: stop watching it here. `backlog`: whether to watch
        for writing.
        """
        self._on_exited, self._on_lost, self._on_backlog = exited, lost, backlog

    def fileno(self) -> int:
        return self._channel.fileno()

    def request(
        self,
        op: str,
        arguments: Message,
        *,
        on_reply: OnReply,
        fds: Sequence[int] = (),
    ) -> int:
        """Send a request; `on_reply` is called from `on_readable`, once, never from here.

        Raises:
            BadArguments: if the request is larger than a frame may be.
            KeeperUnavailable: if the connection is over, or the keeper has not read for long.
        """
        if self._lost:
            raise _unavailable("the connection is closed")
        self._last_request += 1
        number = self._last_request
        self._channel.send({**arguments, "id": number, "op": op}, fds)
        self._pending[number] = on_reply
        self._tell_backlog()
        return number

    def on_readable(self) -> None:
        """Take in what has arrived and call back."""
        for frame in self._channel.receive():
            self._take_in(frame.message, frame.fds)
        self._check_lost()

    def on_writable(self) -> None:
        """Send what waits."""
        self._channel.flush()
        self._tell_backlog()
        self._check_lost()

    def call(
        self,
        op: str,
        arguments: Message | None = None,
        *,
        fds: Sequence[int] = (),
        timeout_s: float = CALL_S,
    ) -> Reply:
        """Send a request and block until its reply; for start-up, tests and command lines.

        Raises:
            DuettyError: the class of the code the keeper answered with.
            KeeperUnavailable: if it does not answer in time, or is lost.
        """
        outcomes: list[Reply | DuettyError] = []
        number = self.request(op, arguments or {}, on_reply=outcomes.append, fds=fds)
        deadline_s = time.monotonic() + timeout_s
        while not outcomes:
            self.wait(deadline_s - time.monotonic())
            if not outcomes and time.monotonic() >= deadline_s:
                self._pending.pop(number, None)
                raise _unavailable(f"no answer to {op!r} within {timeout_s:.0f} s")
        outcome = outcomes[0]
        if isinstance(outcome, DuettyError):
            raise outcome
        return outcome

    def wait(self, timeout_s: float) -> None:
        """Block until something has arrived or could be sent, and call back."""
        if self._lost:
            return
        waiting = select.poll()
        waiting.register(
            self.fileno(), select.POLLIN | (select.POLLOUT if self._channel.has_backlog else 0)
        )
        if waiting.poll(max(0.0, timeout_s) * 1000):
            if self._channel.has_backlog:
                self.on_writable()
            if not self._lost:
                self.on_readable()

    def close(self) -> None:
        """Leave; the keeper keeps everything. Pending requests are forgotten."""
        self._lost = True
        self._pending.clear()
        self._channel.close()

    def _greet(self, reply: Reply) -> None:
        version = reply.fields.get("version")
        if version != PROTOCOL:
            raise KeeperUnavailable(
                f"the keeper speaks version {version}, this server {PROTOCOL}",
                hint="stop the sessions with the version that started them",
            )
        self.keeper_pid = fields.number(reply.fields, "keeper_pid", low=1, high=1 << 30)
        self.sessions = parse_sessions(reply)

    def _take_in(self, message: Message, fds: tuple[int, ...]) -> None:
        if message.get("event") == "exited":
            self._on_exited(_exited(message))
            return
        on_reply = self._pending.pop(fields.optional_number(message, "id") or 0, None)
        if on_reply is None:
            for fd in fds:
                os.close(fd)
        elif message.get("ok") is True:
            on_reply(Reply(fields=message, fds=fds))
        else:
            on_reply(parse_error(message))

    def _tell_backlog(self) -> None:
        if self._channel.has_backlog != self._announced_backlog:
            self._announced_backlog = self._channel.has_backlog
            self._on_backlog(self._announced_backlog)

    def _check_lost(self) -> None:
        if self._channel.lost is None or self._lost:
            return
        self._lost = True
        error = _unavailable(self._channel.lost)
        pending, self._pending = self._pending, {}
        for on_reply in pending.values():
            on_reply(error)
        self._on_lost(error)
        self._channel.close()


def parse_error(message: Message) -> DuettyError:
    """The error a refusal stands for, of the class that has its code."""
    found = _error_classes().get(str(message.get("error")), DuettyError)
    error = found.__new__(found)
    details = message.get("details")
    hint = message.get("hint")
    # Past the class's own signature: the message has been made by the keeper already.
    DuettyError.__init__(
        error,
        str(message.get("message")),
        hint=hint if isinstance(hint, str) else None,
        details=details if isinstance(details, dict) else None,  # pyright: ignore[reportUnknownArgumentType] - JSON
    )
    return error


def parse_opened(reply: Reply) -> Opened:
    """The answer to `open` and `adopt`.

    Raises:
        ForkFailed: if the master could not be received.
    """
    if len(reply.fds) != 1:
        raise ForkFailed(
            "this process has no descriptor left for the session's terminal",
            hint="close sessions, or raise the limit of open files",
        )
    return Opened(session=_kept_session(reply.fields), master=reply.fds[0])


def parse_kept(reply: Reply) -> KeptSession:
    """The answer to `take`."""
    return _kept_session(reply.fields)


def parse_sessions(reply: Reply) -> tuple[KeptSession, ...]:
    """The answer to `list`."""
    return tuple(_kept_session(each) for each in fields.messages(reply.fields, "sessions"))


def parse_probe(reply: Reply) -> Probe:
    """The answer to `probe`."""
    message = reply.fields
    commands = message.get("commands")
    found = message.get("reader")
    reader: Message | None = found if isinstance(found, dict) else None  # pyright: ignore[reportUnknownVariableType] - JSON
    return Probe(
        foreground=fields.optional_number(message, "foreground"),
        reader=None
        if reader is None
        else Reader(
            pid=fields.number(reader, "pid", low=1, high=1 << 30),
            via=fields.text(reader, "via"),
            fd=fields.number(reader, "fd", low=0, high=1 << 31),
        ),
        known=message.get("known") is True,
        processes=fields.optional_number(message, "processes") or 0,
        commands=tuple(str(name) for name in commands) if isinstance(commands, list) else (),  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - JSON
    )


def start_keeper(
    socket_path: str | Path,
    log_path: str | Path,
    python: str = sys.executable,
    *,
    orphan_s: float | None = None,
) -> int:
    """Start a keeper, detached, and wait until it answers; its pid.

    If another one was faster, that one's pid. Blocks, at most `START_KEEPER_S`.

    Raises:
        KeeperUnavailable: if it does not answer; says why.
    """
    deadline_s = time.monotonic() + START_KEEPER_S
    try:
        ready, ready_end = os.pipe()
    except OSError as error:
        raise KeeperUnavailable(f"cannot start a keeper: {error.strerror}") from None
    try:
        try:
            _launch(socket_path, log_path, python, ready_end=ready_end, orphan_s=orphan_s)
        finally:
            os.close(ready_end)
        message = parse_message(_read_until(ready, deadline_s))
    finally:
        os.close(ready)
    if message is None:
        raise KeeperUnavailable("the keeper ended before it answered", hint=f"see {log_path}")
    if message.get("error") == InstanceBusy.code:
        return _pid_of_other(socket_path, deadline_s)
    if "error" in message:
        hint = message.get("hint")
        raise KeeperUnavailable(
            str(message.get("message")), hint=hint if isinstance(hint, str) else None
        )
    return fields.number(message, "pid", low=1, high=1 << 30)


def start_keeper_ahead(socket_path: Path, log_path: Path) -> Callable[[], None]:
    """Begin to start a keeper where there is none; what is returned waits until that is over.

    A keeper takes as long as its interpreter does to start, and its server has other things to do
    meanwhile. A failure is not reported here: the connection that follows finds it again.
    """
    if socket_path.exists():
        return lambda: None

    def start() -> None:
        with suppress(KeeperUnavailable):
            start_keeper(socket_path, log_path)

    starting = threading.Thread(target=start, name="keeper-start", daemon=True)
    starting.start()
    return starting.join


def _launch(
    socket_path: str | Path,
    log_path: str | Path,
    python: str,
    *,
    ready_end: int,
    orphan_s: float | None,
) -> None:
    argv = [python, "-P", "-S", "-X", "utf8", "-m", "duetty.keeper"]
    argv += ["--socket", str(Path(socket_path).absolute()), "--log", str(Path(log_path).absolute())]
    argv += ["--ready-fd", str(ready_end)]
    if orphan_s is not None:
        argv += ["--orphan-s", str(orphan_s)]
    # Where this very package was found: an installation, a checkout, an editable one or a
    # zip. Nothing else of the server's environment goes on, least of all its secrets.
    package_root = str(Path(__file__).parent.parent.parent)
    environment = {"PYTHONPATH": package_root, "PATH": os.defpath, "LANG": "C.UTF-8"}
    try:
        # The started process ends at once, and leaves the keeper as an orphan of init.
        subprocess.run(
            argv,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=[ready_end],
            timeout=START_KEEPER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise KeeperUnavailable(f"cannot start a keeper: {error}") from None


def _read_until(fd: int, deadline_s: float) -> bytes:
    """Everything up to the end of file, or to the deadline."""
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    content = b""
    while waiting.poll(max(0.0, deadline_s - time.monotonic()) * 1000):
        chunk = os.read(fd, 4096)
        if not chunk:
            break
        content += chunk
    return content


def _pid_of_other(path: str | Path, deadline_s: float) -> int:
    """The pid of the keeper that has the lock, once it listens."""
    while True:
        try:
            with _connected(path) as sock:
                return credentials_of(sock)[0]
        except KeeperUnavailable:
            if time.monotonic() >= deadline_s:
                raise
            time.sleep(0.01)


def _connected(path: str | Path) -> socket.socket:
    try:
        sock = socket.socket(socket.AF_UNIX)
    except OSError as error:
        raise _unavailable(str(error)) from None
    sock.settimeout(CONNECT_S)
    try:
        sock.connect(str(path))
    except OSError as error:
        sock.close()
        raise _unavailable(str(error)) from None
    return sock


def _kept_session(message: Message) -> KeptSession:
    return KeptSession(
        session=fields.text(message, "session"),
        pid=fields.number(message, "pid", low=1, high=1 << 30),
        tty=fields.text(message, "tty"),
        exited=message.get("exited") is True,
        exit_code=fields.optional_number(message, "exit_code"),
        signal=fields.optional_number(message, "signal"),
    )


def _exited(message: Message) -> Exited:
    return Exited(
        session=fields.text(message, "session"),
        exit_code=fields.optional_number(message, "exit_code"),
        signal=fields.optional_number(message, "signal"),
    )


def _error_classes() -> dict[str, type[DuettyError]]:
    found: dict[str, type[DuettyError]] = {}
    waiting: list[type[DuettyError]] = [DuettyError]
    while waiting:
        each = waiting.pop()
        found.setdefault(each.code, each)
        waiting.extend(each.__subclasses__())
    return found


def _unavailable(reason: str) -> KeeperUnavailable:
    return KeeperUnavailable(f"the keeper does not answer: {reason}")
