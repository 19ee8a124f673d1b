"""The server: puts the parts together, starts and ends them in order.

lock → token → store → keeper → sessions → sockets      and back
"""

import asyncio
import fcntl
import json
import logging
import os
import resource
import secrets
import signal
import socket
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from logging.handlers import RotatingFileHandler
from pathlib import Path

import anyio
import uvicorn

from duetty import __version__
from duetty.calls import Actor
from duetty.clock import Clock, SystemClock
from duetty.config import Paths, Settings, make_private, parse_bind
from duetty.edges.http import (
    Guard,
    PeerCheckedProtocol,
    digest,
    error_response,
    is_own_user,
    make_app,
)
from duetty.edges.mcp import McpEdge
from duetty.edges.web import page
from duetty.errors import BadSetting, DuettyError, InstanceBusy, StateUnwritable
from duetty.ops import Dispatcher, Node, Services
from duetty.session import Keeping, Registry
from duetty.store import Store

DRAIN_S = 5.0
"""How long open requests get when the server ends; a second signal ends it at once."""

SWEEP_S = 60.0
"""Between two looks for exited sessions that are too old."""

EPHEMERAL_S = 30.0
"""How long a server that was spawned by a client stays with no session and no request."""

log = logging.getLogger("duetty.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What whoever starts the server wants to know."""

    url: str
    link: str
    token_file: Path
    restored: int


class Server:
    """One running node."""

    def __init__(
        self,
        paths: Paths,
        settings: Settings,
        *,
        environment: Mapping[str, str],
        ephemeral: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self._paths = paths
        self._settings = settings
        self._environment = environment
        self._ephemeral = ephemeral
        self._clock = clock or SystemClock()
        self._stopping: anyio.Event | None = None
        self._keep_sessions = True
        """Programs end only when somebody asked for that: not because a start failed."""

        self._url = ""

    def run(self, *, announce: Callable[[Announcement], None]) -> None:
        """Serve until told to stop.

        Raises:
            InstanceBusy: if this instance has a server.
            StateUnwritable: if its directories cannot be used.
            BadSetting: if the address cannot be bound.
        """
        make_private(self._paths.state)
        make_private(self._paths.runtime)
        make_private(self._paths.journals)
        make_private(self._paths.scratch)
        raise_descriptor_limit()
        with _locked(self._paths):
            token = load_token(self._paths.token_file)
            with Store.open(self._paths.database) as store:
                if store.repaired is not None:
                    log.error("store_repaired", extra=asdict(store.repaired))
                try:
                    anyio.run(
                        self._serve,
                        token,
                        store,
                        announce,
                        backend_options={"use_uvloop": _has_uvloop()},
                    )
                except BaseExceptionGroup as group:
                    raise told_error(group) from group

    def stop(self, keep_sessions: bool) -> None:
        """Begin to end; the second call changes nothing."""
        if self._stopping is not None and not self._stopping.is_set():
            self._keep_sessions = keep_sessions
            self._stopping.set()

    async def _serve(
        self, token: str, store: Store, announce: Callable[[Announcement], None]
    ) -> None:
        self._stopping = anyio.Event()
        async with anyio.create_task_group() as tasks:
            keeping = Keeping(self._paths.keeper_socket, self._paths.keeper_log)
            registry = Registry(
                keeping=keeping,
                store=store,
                journals=self._paths.journals,
                scratch=self._paths.scratch,
                settings=self._settings,
                clock=self._clock,
                environment=self._environment,
                url=lambda: self._url,
                tasks=tasks,
            )
            tcp = bound_socket(self._settings.server_bind)
            self._url = url_of(tcp)
            unix = unix_socket(self._paths.server_socket)
            try:
                await registry.restore()
                await self._serve_edges(registry, store, token, [tcp, unix], announce, tasks)
            finally:
                with anyio.CancelScope(shield=True):
                    await registry.shut_down(
                        keep_sessions=self._keep_sessions,
                        grace_s=self._settings.session_grace_ms / 1000,
                    )
                tcp.close()
                unix.close()
                self._paths.server_socket.unlink(missing_ok=True)
                self._paths.address_file.unlink(missing_ok=True)
                tasks.cancel_scope.cancel()

    async def _serve_edges(
        self,
        registry: Registry,
        store: Store,
        token: str,
        sockets: list[socket.socket],
        announce: Callable[[Announcement], None],
        tasks: anyio.abc.TaskGroup,
    ) -> None:
        hosts = allowed_hosts(sockets[0])
        guard = Guard(
            token_digest=digest(token),
            clock=self._clock,
            allowed_hosts=lambda: hosts,
            token_actor=lambda given: _stored_actor(store, given),
        )
        services = Services(
            node=Node(
                hostname=socket.gethostname(),
                server_id=secrets.token_hex(8),
                instance=self._paths.instance,
                version=__version__,
                started_s=self._clock.monotonic_s(),
                address=lambda: self._url,
                stop=self.stop,
                new_link=lambda: f"{self._url}/login?code={guard.new_link_code()}",
            ),
            settings=self._settings,
            clock=self._clock,
            registry=registry,
            store=store,
        )
        dispatcher = Dispatcher(services)
        mcp = McpEdge(dispatcher, admit=guard.admit, refuse=error_response, is_own_user=is_own_user)
        assert self._stopping is not None
        app = make_app(
            dispatcher, guard, page=page(), stopping=self._stopping.wait, mounts={"/mcp": mcp}
        )
        web = _Uvicorn(
            uvicorn.Config(
                app,
                http=PeerCheckedProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=int(DRAIN_S),
            )
        )
        self._on_signals()
        tasks.start_soon(self._sweep, registry)
        if self._ephemeral:
            tasks.start_soon(self._end_when_unused, registry, web, mcp)
        await tasks.start(mcp.serve, self._paths.mcp_socket)
        serving = asyncio.ensure_future(web.serve(sockets=sockets))
        while not web.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await anyio.sleep(0.001)
        write_private(self._paths.address_file, self._url)
        announce(
            Announcement(
                url=self._url,
                link=services.node.new_link(),
                token_file=self._paths.token_file,
                restored=registry.alive,
            )
        )
        if not self._ephemeral:
            mcp.preload()
        assert self._stopping is not None
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        mcp.stop()  # its open streams would hold the draining up
        web.should_exit = True
        await serving

    async def _sweep(self, registry: Registry) -> None:
        while True:
            await anyio.sleep(SWEEP_S)
            await registry.sweep()

    async def _end_when_unused(self, registry: Registry, web: "_Uvicorn", mcp: McpEdge) -> None:
        """A server that nobody asked for by name goes when nobody needs it."""
        unused_s = 0.0
        while unused_s < EPHEMERAL_S:
            await anyio.sleep(1)
            busy = registry.alive or web.server_state.connections or mcp.connections
            unused_s = 0.0 if busy else unused_s + 1
        self.stop(False)

    def _on_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal)
        # The terminal that started the server may close; the server goes on.
        loop.add_signal_handler(signal.SIGHUP, lambda: None)

    def _on_signal(self) -> None:
        """Programs outlive the server, unless nobody asked for the server itself."""
        if self._stopping is not None and self._stopping.is_set():
            os._exit(130)
        self.stop(not self._ephemeral)


class _Uvicorn(uvicorn.Server):
    """Signals are the server's own business."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def told_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The coded error among those that ended the server, if one did; a caller can tell that one."""
    for error in group.exceptions:
        found = told_error(error) if isinstance(error, BaseExceptionGroup) else error  # pyright: ignore[reportUnknownArgumentType] - of whatever it holds
        if isinstance(found, DuettyError):
            return found
    return group


def _stored_actor(store: Store, token: str) -> Actor | None:
    record = store.valid_token(token)
    return Actor(kind="agent", name=record.name) if record is not None else None


def _has_uvloop() -> bool:
    return find_spec("uvloop") is not None


@contextmanager
def _locked(paths: Paths) -> Generator[None]:
    """One server for one instance; the lock goes with the process, however it ends."""
    fd = os.open(paths.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.read(fd, 32).decode("ascii", "replace").strip() or "unknown"
            address = _read(paths.address_file) or "an address it has not told yet"
            raise InstanceBusy(
                f"a server for instance {paths.instance!r} runs already: pid {pid} at {address}",
                hint="use it, end it with `duetty stop`, or take over with `duetty server --replace`",
                details={"pid": pid, "address": address},
            ) from None
        try:
            os.truncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            raise StateUnwritable(
                f"cannot write {paths.lock_file}: {error.strerror}", hint="free some space"
            ) from error
        yield
    finally:
        os.close(fd)


def is_locked(paths: Paths) -> bool:
    """Whether a server holds this instance; one that ends does so a little longer than its sockets."""
    try:
        fd = os.open(paths.lock_file, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def load_token(path: Path) -> str:
    """The server's token, made at the first start; only its owner may read the file."""
    token = _read(path)
    if not token:
        token = secrets.token_urlsafe(32)
        write_private(path, token)
    return token


def write_private(path: Path, text: str) -> None:
    """Write a small file that only its owner may read, whole or not at all.

    Raises:
        StateUnwritable: if that is not possible.
    """
    temporary = path.with_name(f"{path.name}.new")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        temporary.replace(path)
    except OSError as error:
        raise StateUnwritable(
            f"cannot write {path}: {error.strerror}", hint="free some space or set DUETTY_HOME"
        ) from error


def bound_socket(bind: str) -> socket.socket:
    """A listening socket at HOST:PORT.

    Raises:
        BadSetting: if the address is taken or is not one of this machine.
    """
    host, port = parse_bind(bind)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    tcp = socket.socket(family, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        tcp.bind((host, port))
        tcp.listen(512)
    except OSError as error:
        tcp.close()
        raise BadSetting(
            f"cannot listen on {bind}: {error.strerror}",
            hint="another program may have this port; try --bind 127.0.0.1:0 for a free one",
        ) from error
    tcp.setblocking(False)
    return tcp


def unix_socket(path: Path) -> socket.socket:
    """The socket for clients of the same user; the directory is ours alone."""
    with suppress(FileNotFoundError):
        path.unlink()  # we hold the instance's lock, so nobody listens there
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        unix.bind(str(path))
    except OSError as error:
        unix.close()
        raise StateUnwritable(f"cannot make the socket {path}: {error.strerror}") from error
    finally:
        os.umask(mask)
    unix.listen(512)
    unix.setblocking(False)
    return unix


def url_of(tcp: socket.socket) -> str:
    host, port = str(tcp.getsockname()[0]), int(tcp.getsockname()[1])
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 - a name for it, not a bind
    return (
        f"http://[{shown}]:{port}"
        if ":" in shown and "[" not in shown
        else f"http://{shown}:{port}"
    )


def allowed_hosts(tcp: socket.socket) -> frozenset[str]:
    """Names by which a browser or client may call us: a rebinding page uses another."""
    host, port = tcp.getsockname()[:2]
    names = {"localhost", "127.0.0.1", "[::1]", f"[{host}]" if ":" in host else host}
    return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set[str]()))


def raise_descriptor_limit() -> None:
    """Each session takes a descriptor, each connection another."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class FieldsFormatter(logging.Formatter):
    """One JSON object a line: an event with fields, never a sentence."""

    _KNOWN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}

    def format(self, record: logging.LogRecord) -> str:
        fields = {key: value for key, value in record.__dict__.items() if key not in self._KNOWN}
        entry: dict[str, object] = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **fields,
        }
        if record.exc_info:
            entry["trace"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


LOG_BYTES = 8 * 1024 * 1024
LOG_FILES = 3


def log_to(path: Path) -> None:
    """Write the log to files of the state directory; a disk that is full costs log lines only."""
    handler = RotatingFileHandler(
        path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8", delay=True
    )
    handler.setFormatter(FieldsFormatter())
    logging.raiseExceptions = False
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
