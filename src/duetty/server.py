"""The server: puts the parts together, starts and ends them in order.

lock → token → store → edges → keeper (started with the lock) → sessions → sockets      and back
"""

import asyncio
import fcntl
import gc
import json
import logging
import os
import resource
import secrets
import signal
import socket
import ssl
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import anyio.to_thread
import uvicorn

from duetty import __version__
from duetty.agent import open_agents, without_key
from duetty.approvals import Approvals
from duetty.calls import Scope
from duetty.clock import Clock, SystemClock
from duetty.config import (
    Paths,
    Settings,
    base_prefix,
    make_private,
    server_hostname,
    with_own_place,
)
from duetty.edges.http import (
    Guard,
    Origins,
    PeerCheckedProtocol,
    bound_sockets,
    error_response,
    is_loopback,
    is_own_user,
    make_app,
    origins,
    tls_context,
    unix_socket,
    url_of,
)
from duetty.edges.http.handshakes import SecuredListener
from duetty.edges.http.hub_requests import HubRequests
from duetty.edges.http.peer import HELD, STRANGERS
from duetty.edges.http.sse import sse_routes
from duetty.edges.http.websocket import QuietWebSocket, websocket_routes
from duetty.edges.mcp import MCP_HOST, PROTECTED_PATHS, McpEdge, ProtectedResource
from duetty.edges.web import PageApp
from duetty.errors import BadSetting, DuettyError, InstanceBusy, StateUnwritable
from duetty.events import Lagged, SessionCreated, SessionRemoved, SessionRenamed
from duetty.hub import Address, Hub, IpRules, Joining, Membership, Network, load_key
from duetty.keeper.client import start_keeper_ahead
from duetty.ops import (
    Access,
    AgentHands,
    Bounds,
    Dispatcher,
    Node,
    Oversight,
    PageOpening,
    Services,
    open_oversight,
)
from duetty.ops.upstream_questions import answering_unowned
from duetty.ops.upstreams import upstreams_of, workspaces_of
from duetty.orphans import adopt_orphans, forget_ended
from duetty.processes import Processes
from duetty.session import Keeping, Registry, Session
from duetty.store import Store
from duetty.turns import ask_short_turns
from duetty.upstreams import load_upstreams
from duetty.watchdog import Watchdog

DRAIN_S = 5.0
"""How long open requests get when the server ends; a second signal ends it at once."""

MAX_MESSAGE_BYTES = 1024 * 1024
"""Of a WebSocket; a longer one closes it (1009)."""

PONG_S = 10.0
"""A peer that does not answer a ping within this is taken for dead."""

TOKEN_CHARS = 16
"""What a token written by hand must have at least; the server's own has 43."""

SWEEP_S = 60.0
"""At most between two looks for exited sessions that are too old; a quarter of what they stay."""

SHORTEST_SWEEP_S = 1.0

EPHEMERAL_S = 30.0
"""How long a server that was spawned by a client waits for its first session, as published."""

LINGER_S = 2.0
"""How long it stays after its last session and client: a client that has just found it can still
make its call."""

LEFT_S = 30.0
"""How long it stays for idle shells of an MCP host that went without ending them."""

ORPHANS_S = 10.0
"""Between two looks for orphans that ended. Who waits for a child of its own hears of it much sooner."""

LOOK_S = 0.25
"""Between two looks whether anybody needs it."""

ENDING_S = 15.0
"""How long a starting server waits for one that has closed its sockets and is about to end."""

STORE_AFTER_S = 0.005
"""What is to be kept is written when the call that made it has its answer."""

log = logging.getLogger("duetty.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What whoever starts the server wants to know."""

    url: str
    link: str
    token_file: Path
    restored: int
    warnings: tuple[str, ...] = ()
    """What whoever starts it must know about where it listens."""


class Server:
    """One running node."""

    def __init__(
        self,
        paths: Paths,
        settings: Settings,
        *,
        environment: Mapping[str, str],
        ephemeral: bool = False,
        hub_token: str = "",
        clock: Clock | None = None,
    ) -> None:
        self._hub_token = hub_token
        self._paths = paths
        self._settings = settings
        self._environment = with_own_place(environment, paths)
        self._for_programs = without_key(settings, self._environment)
        self._ephemeral = ephemeral
        self._clock = clock or SystemClock()
        self._stopping: anyio.Event | None = None
        self._keep_sessions = True
        """Programs end only when somebody asked for that: not because a start failed."""

        self._approvals: Approvals | None = None
        self._url = ""
        self._prefix = ""
        self._hostname = ""
        self._ip_rules = IpRules()
        self._tls: ssl.SSLContext | None = None
        self._wait_keeper: Callable[[], None] = lambda: None

    def run(self, *, announce: Callable[[Announcement], None]) -> None:
        """Serve until told to stop.

        Raises:
            InstanceBusy: if this instance has a server.
            StateUnwritable: if its directories cannot be used.
            BadSetting: if the address cannot be bound, or TLS files cannot be used.
        """
        self._prefix = base_prefix(self._settings.server_base_prefix)
        self._hostname = server_hostname(self._settings.server_hostname, socket.gethostname())
        self._ip_rules = IpRules(block=self._settings.hub_block, allow=self._settings.hub_allow)
        self._tls = tls_context(self._settings.server_tls_cert, self._settings.server_tls_key)
        self._origins("localhost", 0)  # a bad name in the settings is told before anything starts
        load_upstreams(self._paths.config_file)
        make_private(self._paths.state)
        make_private(self._paths.runtime)
        make_private(self._paths.journals)
        make_private(self._paths.scratch)
        raise_descriptor_limit()
        with _locked(self._paths):
            token = load_token(self._paths.token_file)
            self._wait_keeper = start_keeper_ahead(
                self._paths.keeper_socket, self._paths.keeper_log
            )
            with Store.open(self._paths.database) as store:
                if store.repaired is not None:
                    log.error("store_repaired", extra=asdict(store.repaired))
                if store.lost is not None:
                    log.error("store_lost", extra={"what": store.lost})
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
            if self._approvals is not None:
                self._approvals.stop()  # before the calls that wait for an answer are ended
            self._stopping.set()

    def _persist(self, stays: bool) -> None:
        self._ephemeral = not stays

    async def _serve(
        self, token: str, store: Store, announce: Callable[[Announcement], None]
    ) -> None:
        self._stopping = anyio.Event()
        adopt_orphans()
        store.wake_later(partial(asyncio.get_running_loop().call_later, STORE_AFTER_S))
        async with anyio.create_task_group() as tasks:
            keeping = Keeping(self._paths.keeper_socket, self._paths.keeper_log)
            registry = Registry(
                keeping=keeping,
                store=store,
                journals=self._paths.journals,
                scratch=self._paths.scratch,
                settings=self._settings,
                clock=self._clock,
                environment=self._for_programs,
                url=lambda: self._url,
                tasks=tasks,
            )
            self._processes = Processes(
                directory=self._paths.state / "processes",
                environment=self._for_programs,
                most=self._settings.process_max,
                output_bytes=self._settings.process_output_mib * 1024 * 1024,
                clock=self._clock,
                tasks=tasks,
            )
            self._processes.clear_leftovers()
            stack = ExitStack()
            knock = asyncio.get_running_loop().call_soon_threadsafe
            stack.enter_context(closing(Watchdog(knock)))
            oversight = stack.enter_context(
                open_oversight(
                    self._paths, self._settings, self._clock, store=store, registry=registry
                )
            )
            self._approvals = oversight.approvals
            tcp = bound_sockets(self._settings.server_bind)
            self._url = url_of(tcp[0], scheme=self._scheme, prefix=self._prefix)
            unix = unix_socket(self._paths.server_socket)
            try:
                await self._serve_edges(
                    registry, store, oversight, token, [*tcp, unix], announce, tasks
                )
            finally:
                with anyio.CancelScope(shield=True):
                    await self._processes.shut_down(grace_s=self._settings.session_grace_ms / 1000)
                    await registry.shut_down(
                        keep_sessions=self._keep_sessions,
                        grace_s=self._settings.session_grace_ms / 1000,
                    )
                for each in (*tcp, unix):
                    each.close()
                self._paths.server_socket.unlink(missing_ok=True)
                self._paths.address_file.unlink(missing_ok=True)
                store.wake_later(None)  # no loop any more that would wake it
                stack.close()
                tasks.cancel_scope.cancel()

    async def _serve_edges(
        self,
        registry: Registry,
        store: Store,
        oversight: Oversight,
        token: str,
        sockets: list[socket.socket],
        announce: Callable[[Announcement], None],
        tasks: anyio.abc.TaskGroup,
    ) -> None:
        access = Access(store, self._clock, own_token=token)
        known = self._origins(*sockets[0].getsockname()[:2])
        guard = Guard(
            access=access,
            origins=lambda: known,
            own_pids=lambda: frozenset({os.getpid(), registry.keeper_pid or os.getpid()}),
            own_socket=str(self._paths.server_socket),
            instance=sha256(os.fsencode(self._paths.state)).hexdigest()[:8],
        )
        key = load_key(self._paths.node_key_file)
        network = Network(self._ip_rules, ca_file=self._settings.hub_tls_ca)
        hub = Hub(
            file=self._paths.servers_file,
            hostname=self._hostname,
            server_id=key.node_id,
            network=network,
            tasks=tasks,
        )

        def link(address: Address, hub_token: str) -> Joining:
            return Joining(
                address,
                token=hub_token,
                key=key,
                hostname=self._hostname,
                version=__version__,
                network=network,
                clock=self._clock,
                serve=HubRequests(
                    app,
                    hub=address.host,
                    allowed=frozenset(map(Scope, self._settings.hub_scopes)),
                    prefix=self._prefix,
                ),
                sessions=lambda: [(each.profile.id, each.name) for each in registry.sessions()],
            )

        membership = Membership(file=self._paths.join_file, tasks=tasks, link=link)
        services = Services(
            hub=hub,
            membership=membership,
            node=Node(
                hostname=hub.hostname,
                server_id=hub.server_id,
                instance=self._paths.instance,
                version=__version__,
                started_s=self._clock.monotonic_s(),
                address=lambda: self._url,
                stop=self.stop,
                is_persistent=lambda: not self._ephemeral,
                persist=self._persist,
                new_link=lambda: f"{self._url}/login?code={access.new_link_code()}",
            ),
            settings=self._settings,
            clock=self._clock,
            registry=registry,
            store=store,
            access=access,
            processes=self._processes,
            approvals=oversight.approvals,
            trail=oversight.trail,
            deciding=oversight.deciding,
            page_opening=PageOpening(
                self._for_programs, self._clock, directory=self._paths.runtime, tasks=tasks
            ),
            agents=open_agents(
                self._settings, self._environment, store=store, clock=self._clock, tasks=tasks
            ),
            upstreams=upstreams_of(
                self._paths,
                self._settings,
                self._environment,
                hidden=registry.hidden,
                clock=self._clock,
                deciding=oversight.deciding,
                roots=lambda: workspaces_of(registry),
            ),
        )
        services.upstreams.answer_unowned = answering_unowned(services)
        dispatcher = Dispatcher(services)
        services.agents.hands = AgentHands(dispatcher, services)
        mcp = McpEdge(
            dispatcher,
            admit=guard.admit,
            refuse=error_response,
            is_own_user=is_own_user,
            live=guard.live,
            dialects=",".join(self._settings.mcp_dialects),
            takes_aliases=self._settings.terminal_aliases,
            prefix=self._prefix,
        )
        protected = ProtectedResource(
            check=guard.check_origin, refuse=error_response, prefix=self._prefix
        )
        assert self._stopping is not None
        page = PageApp(check=guard.check_origin, admit=guard.admit, refuse=error_response)
        app = make_app(
            dispatcher,
            guard,
            stopping=self._stopping.wait,
            clock=self._clock,
            prefix=self._prefix,
            rate_limit=self._settings.server_rate_limit,
            mounts={"/ui": page, "/ui/{path:path}": page}
            | ({"/mcp": mcp, "/mcp/{dialect}": mcp} if self._settings.mcp_server_enabled else {})
            | dict.fromkeys(PROTECTED_PATHS, protected),
            routes=[
                *websocket_routes(dispatcher, guard, self._stopping.wait),
                *sse_routes(dispatcher, guard, self._stopping.wait),
            ],
        )
        web = _Uvicorn(
            uvicorn.Config(
                app,
                http=PeerCheckedProtocol,
                ws=QuietWebSocket,
                ws_max_size=MAX_MESSAGE_BYTES,
                ws_per_message_deflate=False,  # costs memory per viewer, and helps nobody nearby
                ws_ping_interval=self._settings.server_ping_s,
                ws_ping_timeout=min(PONG_S, self._settings.server_ping_s),
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=int(DRAIN_S),
            ),
            self._tls,
            access.bounds,
        )
        await anyio.to_thread.run_sync(self._wait_keeper)
        leave_no_core()  # after it, since shells inherit it from the keeper
        await registry.restore()
        self._on_signals()
        tasks.start_soon(self._sweep, registry)
        tasks.start_soon(_see_orphans_off)
        tasks.start_soon(access.close_expired)
        tasks.start_soon(registry.watch_memory)
        hub.restore()
        membership.restore(self._settings.hub_join, self._hub_token)
        tasks.start_soon(_tell_sessions, registry, membership)
        tasks.start_soon(oversight.approvals.expire)
        tasks.start_soon(self._end_when_unused, registry, web, mcp)
        await tasks.start(mcp.serve, self._paths.mcp_socket)
        serving = asyncio.ensure_future(web.serve(sockets=sockets))
        while not web.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await anyio.sleep(0.001)
        write_private(self._paths.address_file, self._url)
        gc.freeze()  # what a start makes stays: no collection has to look at it again
        ask_short_turns()  # every key and every echo waits for this thread
        warnings = self._warnings(str(sockets[0].getsockname()[0]))
        if warnings:
            log.warning(
                "listens_beyond_this_machine", extra={"url": self._url, "tls": bool(self._tls)}
            )
        announce(
            Announcement(
                url=self._url,
                link=services.node.new_link(),
                token_file=self._paths.token_file,
                restored=registry.alive,
                warnings=warnings,
            )
        )
        tasks.start_soon(services.upstreams.serve)  # theirs to take as long as they like
        if not self._ephemeral:
            mcp.preload()
        assert self._stopping is not None
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        await mcp.stop()  # its open streams would hold the draining up
        web.should_exit = True
        await serving

    @property
    def _scheme(self) -> Literal["http", "https"]:
        return "http" if self._tls is None else "https"

    def _origins(self, host: str, port: int) -> Origins:
        return origins(
            scheme=self._scheme,
            port=port,
            names=("localhost", "127.0.0.1", "::1", host),
            further=self._settings.server_hosts,
            listed=self._settings.server_cors_origins,
        )

    def _warnings(self, host: str) -> tuple[str, ...]:
        if is_loopback(host):
            return ()
        reach = (
            f"Other machines can reach this server ({host}). Whoever has a token of it can type into "
            "your shells."
        )
        if self._tls is not None:
            return (reach,)
        return (
            reach,
            "Without TLS, tokens and everything typed and shown cross the network readable. "
            "Set server.tls_cert and server.tls_key, or use `ssh -L` to a loopback address.",
        )

    async def _sweep(self, registry: Registry) -> None:
        while True:
            await anyio.sleep(
                min(SWEEP_S, max(SHORTEST_SWEEP_S, self._settings.session_exited_s / 4))
            )
            with _survived("sweep"):
                await registry.sweep()

    async def _end_when_unused(self, registry: Registry, web: "_Uvicorn", mcp: McpEdge) -> None:
        """A server that nobody asked to stay goes when nobody needs it."""
        used_s = self._clock.monotonic_s()
        requests = 0
        was_used, stays_s = False, EPHEMERAL_S
        while self._clock.monotonic_s() - used_s < stays_s:
            await anyio.sleep(LOOK_S)
            alive = [session for session in registry.sessions() if not session.is_exited]
            was_used = was_used or bool(alive or self._processes.running)
            stays_s = LEFT_S if alive else LINGER_S if was_used else EPHEMERAL_S
            if (
                not all(map(_is_left, alive))
                or web.server_state.connections
                or web.server_state.total_requests != requests
                or mcp.connections
                or self._processes.running
                or not self._ephemeral
            ):
                used_s = self._clock.monotonic_s()
                requests = web.server_state.total_requests
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


async def _tell_sessions(registry: Registry, membership: Membership) -> None:
    """A hub knows which sessions there are as soon as that changes."""
    with registry.log.subscribe() as entries:
        while True:
            entry = await entries.receive()
            if isinstance(entry, Lagged) or isinstance(
                entry.event, SessionCreated | SessionRemoved | SessionRenamed
            ):
                membership.sessions_changed()


async def _see_orphans_off() -> None:
    ended: frozenset[int] = frozenset()
    while True:
        await anyio.sleep(ORPHANS_S)
        with _survived("orphans"):
            ended = forget_ended(ended)


@contextmanager
def _survived(what: str) -> Generator[None]:
    """No descriptor, no space: the next turn may have it, and no program ends for it."""
    try:
        yield
    except (OSError, DuettyError) as error:
        log.warning("turn_failed", extra={"what": what, "reason": str(error)})


def _is_left(session: Session) -> bool:
    """Whether an MCP host opened it and nothing runs in it: it is no use to anybody else."""
    if session.profile.owner != MCP_HOST.identity or session.state().word != "prompt":
        return False
    try:
        return not _has_children(session.profile.pid)
    except OSError:
        return False


def _has_children(pid: int) -> bool:
    """Whether a shell has started something; bubblewrap stands before the shell that it confines."""
    proc = Path(f"/proc/{pid}/task/{pid}")
    children = proc.joinpath("children").read_text(encoding="ascii").split()
    if proc.joinpath("comm").read_text(encoding="utf-8", errors="replace") == "bwrap\n":
        return any(_has_children(int(child)) for child in children)
    return bool(children)


class _Uvicorn(uvicorn.Server):
    """Signals are the server's own business; TLS is for the network, not for the unix socket."""

    def __init__(self, config: uvicorn.Config, tls: ssl.SSLContext | None, bounds: Bounds) -> None:
        super().__init__(config)
        self._tls = tls
        self._bounds = bounds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        loop = asyncio.get_running_loop()

        self.servers = []
        held = self._bounds.strangers
        state: dict[str, Any] = {
            **self.lifespan.state,
            STRANGERS: held,
            HELD: self._bounds["connections"],
        }

        def protocol() -> asyncio.Protocol:
            return PeerCheckedProtocol(
                config=self.config, server_state=self.server_state, app_state=state
            )

        backlog = self.config.backlog
        for each in sockets or []:
            if self._tls is None or each.family == socket.AF_UNIX:
                server = await loop.create_server(protocol, sock=each, backlog=backlog)
            else:
                secured = SecuredListener(each, protocol, self._tls, held=held, backlog=backlog)
                server = cast("asyncio.Server", secured)  # as far as uvicorn uses one
            self.servers.append(server)
        self.started = True

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


def _has_uvloop() -> bool:
    return find_spec("uvloop") is not None


@contextmanager
def _locked(paths: Paths) -> Generator[None]:
    """One server for one instance; the lock goes with the process, however it ends."""
    try:
        fd = os.open(paths.lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateUnwritable(
            f"cannot use {paths.lock_file}: {error.strerror}", hint="it must be a file of yours"
        ) from error
    try:
        if not _lock(fd, paths):
            pid = os.read(fd, 32).decode("ascii", "replace").strip() or "unknown"
            address = _read(paths.address_file) or "an address it has not told yet"
            raise InstanceBusy(
                f"a server for instance {paths.instance!r} runs already: pid {pid} at {address}",
                hint="use it, end it with `duetty stop`, or take over with `duetty server --replace`",
                details={"pid": pid, "address": address},
            )
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


def _lock(fd: int, paths: Paths) -> bool:
    """Whether the lock is ours now. One that ends closes its sockets first: whoever found nobody
    there and started us must not be told that somebody is.
    """
    deadline_s = time.monotonic() + ENDING_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if _listens(paths.server_socket) or time.monotonic() > deadline_s:
                return False
            time.sleep(0.02)
        else:
            return True


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except TimeoutError:
            return True  # it is there and has much to do
        except OSError:
            return False
        return True


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
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def load_token(path: Path) -> str:
    """The server's token, made at the first start; only its owner may read the file.

    Raises:
        BadSetting: if somebody wrote one that could be guessed.
    """
    token = _read(path)
    if not token:
        token = secrets.token_urlsafe(32)
        write_private(path, token)
    if len(token) < TOKEN_CHARS:
        raise BadSetting(
            f"the token in {path} has fewer than {TOKEN_CHARS} characters",
            hint="remove the file: the server makes a new one",
        )
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise BadSetting(
            f"the token in {path} has other characters than a token can be sent with",
            hint="remove the file: the server makes a new one",
        )
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return token


def write_private(path: Path, text: str) -> None:
    """Write a small file that only its owner may read, whole or not at all.

    Raises:
        StateUnwritable: if that is not possible.
    """
    temporary = path.with_name(f"{path.name}.new")
    try:
        fd = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC | os.O_CLOEXEC, 0o600
        )
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        temporary.replace(path)
    except OSError as error:
        raise StateUnwritable(
            f"cannot write {path}: {error.strerror}", hint="free some space or set DUETTY_HOME"
        ) from error


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


class _PrivateLog(RotatingFileHandler):
    """Its files are for their owner alone, those of an earlier version too."""

    def _open(self) -> TextIOWrapper:
        fd = os.open(
            self.baseFilename,
            os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_APPEND | os.O_CLOEXEC,
            0o600,
        )
        os.fchmod(fd, 0o600)
        return open(fd, "a", encoding="utf-8")


def leave_no_core() -> None:
    """A crash would write every token and screen into a file somewhere."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


LOG_BYTES = 8 * 1024 * 1024
LOG_FILES = 3


def log_to(path: Path) -> None:
    """Write the log to files of the state directory; a disk that is full costs log lines only."""
    handler = _PrivateLog(
        path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8", delay=True
    )
    handler.setFormatter(FieldsFormatter())
    logging.raiseExceptions = False
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
