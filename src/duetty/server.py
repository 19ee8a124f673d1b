"""The server: puts the parts together, starts and ends them in order.

lock → token → store → edges → keeper (started with the lock) → sessions → sockets      and back
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import ssl
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from functools import cache, partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import uvicorn
from anyio.abc import TaskStatus
from starlette.types import ASGIApp

from duetty import __version__
from duetty.agent import Agents, key_in, open_agents, without_key
from duetty.approvals import Approvals
from duetty.calls import Scope
from duetty.clock import Clock, SystemClock
from duetty.config import (
    Paths,
    Settings,
    base_prefix,
    make_private,
    parse_bind,
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
from duetty.edges.http.bridge_door import bridge_endpoints
from duetty.edges.http.hub_requests import HubRequests
from duetty.edges.http.probes import probe_routes
from duetty.edges.http.sse import sse_routes
from duetty.edges.http.stopping import Stopping
from duetty.edges.http.websocket import QuietWebSocket, websocket_routes
from duetty.edges.mcp import MCP_HOST, PROTECTED_PATHS, McpEdge, ProtectedResource
from duetty.edges.web import PageApp
from duetty.errors import BadSetting, DuettyError
from duetty.events import Lagged, SessionCreated, SessionRemoved, SessionRenamed
from duetty.hub import (
    Address,
    Dedupe,
    Hub,
    HubMetrics,
    IpRules,
    Joining,
    JwtTokens,
    Membership,
    Network,
    NodeKey,
    Provider,
    Replicas,
    Rooms,
    SharedRecords,
    Users,
    load_key,
    open_replicas,
)
from duetty.keeper.client import start_keeper_ahead
from duetty.ops import (
    Access,
    AgentHands,
    Dispatcher,
    Node,
    Oversight,
    PageOpening,
    Services,
    open_oversight,
)
from duetty.ops.conversations import is_at_rest
from duetty.ops.shared_access import share_access
from duetty.ops.upstream_questions import answering_unowned
from duetty.ops.upstreams import upstreams_of, workspaces_of
from duetty.platform.capabilities import check_required
from duetty.platform.orphans import adopt_orphans, forget_ended
from duetty.platform.short_turns import ask_short_turns
from duetty.policy import compile_patterns
from duetty.private_file import all_put_aside
from duetty.processes import Processes
from duetty.session import Keeping, RecordedRun, Registry, Session
from duetty.startup.instance_lock import locked
from duetty.startup.private_files import read_text, write_private
from duetty.startup.process_limits import leave_no_core, raise_descriptor_limit
from duetty.startup.token_file import load_token
from duetty.startup.web_server import WebServer
from duetty.store import Store
from duetty.upstreams import load_upstreams
from duetty.watchdog import Watchdog

DRAIN_S = 5.0
"""How long open requests get when the server ends; a second signal ends it at once."""

MAX_MESSAGE_BYTES = 1024 * 1024
"""Of a WebSocket; a longer one closes it (1009)."""

PONG_S = 8.0
"""A peer that does not answer a ping within this is taken for dead: with the ping before it, within 30 s."""

SWEEP_S = 60.0
"""At most between two looks for exited sessions that are too old; a quarter of what they stay."""

RESTING_S = 30.0
MINUTE_S = 60.0
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

SHARES_S = 1.0
FORGET_EVERY_S = 3600.0
"""Between two looks for shares whose time is up."""

LOOK_S = 0.25
"""Between two checks whether a client needs it."""

COLLECTED = 5_000, 20, 20
"""New objects, and younger collections, before one looks for those that only hold each other. The default of
700 takes a twentieth of a busy server's time; so many are some hundred kilobytes.
"""

STORE_AFTER_S = 0.005
"""Records are written after the answer of the call that made them."""

log = logging.getLogger("duetty.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """What the server prints when it has started."""

    url: str
    link: str
    token_file: Path
    restored: int
    warnings: tuple[str, ...] = ()
    """Warnings about the address that it listens on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edges:
    mcp: McpEdge
    web: WebServer


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
        bridge_secret: str = "",
        clock: Clock | None = None,
    ) -> None:
        self._hub_token = hub_token
        self._bridge_secret = bridge_secret
        self._paths = paths
        self._settings = settings
        self._environment = with_own_place(environment, paths)
        self._for_programs = without_key(self._environment, key_in(settings, self._environment))
        self._ephemeral = ephemeral
        self._clock = clock or SystemClock()
        self._stopping: Stopping | None = None
        self._keep_sessions = True
        """Programs end only on request: not because a start failed."""

        self._approvals: Approvals | None = None
        self._hub: Hub | None = None
        self._replicas: Replicas | None = None
        self._url = ""
        self._prefix = ""
        self._hostname = ""
        self._ip_rules = IpRules()
        self._tls: ssl.SSLContext | None = None
        self._bound: list[socket.socket] = []
        self._app: ASGIApp | None = None
        self._wait_keeper: Callable[[], None] = lambda: None

    def run(
        self,
        *,
        announce: Callable[[Announcement], None],
        take_over: Callable[[], None] | None = None,
    ) -> None:
        """Serve until the server is stopped.

        Args:
            announce: called when it serves.
            take_over: ends the server that runs now. Called when nothing here stands in the way.

        Raises:
            InstanceBusy: if this instance has a server.
            StateUnwritable: if its directories cannot be used.
            BadSetting: if the address cannot be bound, or TLS files cannot be used.
        """
        self._prefix = base_prefix(self._settings.server_base_prefix)
        self._hostname = server_hostname(self._settings.server_hostname, socket.gethostname())
        self._ip_rules = IpRules(block=self._settings.hub_block, allow=self._settings.hub_allow)
        self._tls = tls_context(self._settings.server_tls_cert, self._settings.server_tls_key)
        self._origins(
            "localhost", 0
        )  # a bad name in the settings is refused before anything starts
        load_upstreams(self._paths.config_file)
        make_private(self._paths.state)
        make_private(self._paths.runtime)
        make_private(self._paths.journals)
        make_private(self._paths.scratch)
        check_required()
        raise_descriptor_limit()
        if take_over is not None:
            self._bound = self._bound_beforehand()
            take_over()
        with locked(self._paths):
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
                    raise coded_error(group) from group

    def _bound_beforehand(self) -> list[socket.socket]:
        """The sockets to serve at, as long as another server runs. None, if it has the port itself.

        Raises:
            BadSetting: if the address cannot be bound.
        """
        bind = self._settings.server_bind
        _, port = parse_bind(bind)
        if not port or port != urlsplit(read_text(self._paths.address_file)).port:
            return bound_sockets(bind)
        for each in bound_sockets(f"{bind.rpartition(':')[0]}:0"):
            each.close()
        return []

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
        self._stopping = Stopping()
        adopt_orphans()
        store.wake_later(partial(asyncio.get_running_loop().call_later, STORE_AFTER_S))
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
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
                    self._paths,
                    self._settings,
                    self._clock,
                    store=store,
                    registry=registry,
                    upstreams=lambda: upstreams_of(
                        self._paths,
                        self._settings,
                        self._environment,
                        hidden=registry.hidden,
                        clock=self._clock,
                        roots=lambda: workspaces_of(registry),
                    ),
                )
            )
            self._approvals = oversight.approvals
            tcp = self._bound or bound_sockets(self._settings.server_bind)
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
        """Build the parts, start them, wait for the end."""
        network = Network(self._ip_rules, ca_file=self._settings.hub_tls_ca)
        users = Users(self._paths.users_file, self._clock)
        users.restore()
        access = Access(
            store,
            self._clock,
            own_token=token,
            is_user=users.has,
            jwt=self._jwt(network),
        )
        services = await self._services(registry, store, oversight, access, users, network, tasks)
        edges = self._edges(services, self._guard(access, registry, sockets[0]))
        serving = await self._start(services, edges, oversight.runs_of, sockets, announce, tasks)
        await self._wait(edges, serving)

    def _guard(self, access: Access, registry: Registry, listening: socket.socket) -> Guard:
        known = self._origins(*listening.getsockname()[:2])
        return Guard(
            access=access,
            origins=lambda: known,
            own_pids=lambda: frozenset({os.getpid(), registry.keeper_pid or os.getpid()}),
            own_socket=str(self._paths.server_socket),
            instance=sha256(os.fsencode(self._paths.state)).hexdigest()[:8],
        )

    async def _services(
        self,
        registry: Registry,
        store: Store,
        oversight: Oversight,
        access: Access,
        users: Users,
        network: Network,
        tasks: anyio.abc.TaskGroup,
    ) -> Services:
        """What the operations use."""
        key = load_key(self._paths.node_key_file)
        hub = Hub(
            file=self._paths.servers_file,
            hostname=self._hostname,
            identify=lambda: key.node_id,
            network=network,
            tasks=tasks,
        )
        replicas = await tasks.start(self._keep_replicas, hub)
        records: SharedRecords | None = None
        if self._settings.hub_engine:
            records = await share_access(
                replicas, users=users, store=store, access=access, clock=self._clock, tasks=tasks
            )
        rooms = Rooms()
        replicas.listen(rooms.touch)
        self._hub = hub
        self._replicas = replicas
        membership = Membership(
            file=self._paths.join_file,
            tasks=tasks,
            link=self._joining(registry, key, network, tasks),
        )
        return Services(
            hub=hub,
            replicas=replicas,
            records=records,
            metrics=HubMetrics(self._clock),
            membership=membership,
            rooms=rooms,
            users=users,
            node=Node(
                hostname=hub.hostname,
                identify=lambda: hub.server_id,
                instance=self._paths.instance,
                version=__version__,
                started_s=self._clock.monotonic_s(),
                address=lambda: self._url,
                stop=self.stop,
                is_persistent=lambda: not self._ephemeral,
                persist=self._persist,
                put_aside=lambda: [each.name for each in all_put_aside(self._paths.state)],
                new_link=lambda user: f"{self._url}/login?code={access.new_link_code(user)}",
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
            upstreams=oversight.upstreams,
        )

    def _jwt(self, network: Network) -> JwtTokens | None:
        settings = self._settings
        if not settings.hub_jwt_issuer:
            return None
        if not settings.hub_jwt_audience or not settings.hub_jwt_jwks:
            raise BadSetting(
                "hub.jwt_issuer needs hub.jwt_audience and hub.jwt_jwks",
                hint="a token that was made for something else must not count here",
            )
        provider = Provider(
            issuer=settings.hub_jwt_issuer,
            audience=settings.hub_jwt_audience,
            jwks=settings.hub_jwt_jwks,
            user_claim=settings.hub_jwt_user,
        )
        return JwtTokens(provider, network, self._clock)

    def _joining(
        self, registry: Registry, key: NodeKey, network: Network, tasks: anyio.abc.TaskGroup
    ) -> Callable[[Address, str], Joining]:
        """How this machine joins a hub: its key, its app, and what it has run already."""

        @cache
        def dedupe() -> Dedupe:
            return Dedupe(self._paths.commands_file, tasks=tasks)

        def link(address: Address, hub_token: str) -> Joining:
            assert self._app is not None
            return Joining(
                address,
                token=hub_token,
                key=key,
                hostname=self._hostname,
                version=__version__,
                network=network,
                clock=self._clock,
                serve=HubRequests(
                    self._app,
                    hub=address.host,
                    allowed=frozenset(map(Scope, self._settings.hub_scopes)),
                    once=dedupe().once,
                    clock=self._clock,
                    prefix=self._prefix,
                ),
                sessions=lambda: [(each.profile.id, each.name) for each in registry.sessions()],
            )

        return link

    def _edges(self, services: Services, guard: Guard) -> _Edges:
        """The ways in."""
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
            check=guard.check_origin,
            refuse=error_response,
            prefix=self._prefix,
            issuer=self._settings.hub_jwt_issuer,
            audience=self._settings.hub_jwt_audience,
        )
        assert self._stopping is not None
        page = PageApp(check=guard.check_origin, admit=guard.admit, refuse=error_response)
        self._app = app = make_app(
            dispatcher,
            guard,
            stopping=self._stopping,
            clock=self._clock,
            prefix=self._prefix,
            rate_limit=self._settings.server_rate_limit,
            mounts={"/ui": page, "/ui/{path:path}": page}
            | ({"/mcp": mcp, "/mcp/{dialect}": mcp} if self._settings.mcp_server_enabled else {})
            | dict.fromkeys(PROTECTED_PATHS, protected),
            routes=[
                *websocket_routes(dispatcher, guard, self._stopping),
                *sse_routes(dispatcher, guard, self._stopping),
                *probe_routes(dispatcher, guard),
            ],
            endpoints=bridge_endpoints(dispatcher, guard, self._bridge_secret, self._stopping),
        )
        web = WebServer(
            uvicorn.Config(
                app,
                http=PeerCheckedProtocol,
                ws=QuietWebSocket,
                ws_max_size=MAX_MESSAGE_BYTES,
                ws_per_message_deflate=False,  # costs memory per viewer, and gains nothing nearby
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
            services.access.bounds,
        )
        return _Edges(mcp=mcp, web=web)

    async def _start(
        self,
        services: Services,
        edges: _Edges,
        runs_of: Callable[[str], list[RecordedRun]],
        sockets: list[socket.socket],
        announce: Callable[[Announcement], None],
        tasks: anyio.abc.TaskGroup,
    ) -> "asyncio.Future[None]":
        """Sessions first, then the edges; announced when both are there."""
        registry, web, mcp = services.registry, edges.web, edges.mcp
        await anyio.to_thread.run_sync(self._wait_keeper)
        leave_no_core()  # after it, since shells inherit it from the keeper
        await registry.restore(runs_of)
        self._on_signals()
        tasks.start_soon(self._sweep, registry)
        tasks.start_soon(_see_orphans_off)
        tasks.start_soon(services.access.close_expired)
        tasks.start_soon(registry.watch_memory)
        tasks.start_soon(_end_shares, services.users)
        tasks.start_soon(_forget_machines, self._replicas)
        services.hub.restore()
        services.membership.restore(self._settings.hub_join, self._hub_token)
        tasks.start_soon(_tell_sessions, registry, services.membership)
        tasks.start_soon(services.approvals.expire)
        tasks.start_soon(self._end_resting, services.agents)
        tasks.start_soon(self._end_when_unused, registry, services.agents, web, mcp)
        await tasks.start(mcp.serve, self._paths.mcp_socket)
        serving = asyncio.ensure_future(web.serve(sockets=sockets))
        while not web.started and not serving.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await anyio.sleep(0.001)
        write_private(self._paths.address_file, self._url)
        gc.freeze()  # what a start makes stays: no collection has to look at it again
        gc.set_threshold(*COLLECTED)
        ask_short_turns()  # every key and every echo waits for this thread
        warnings = self._warnings(str(sockets[0].getsockname()[0]))
        if warnings:
            log.warning(
                "listens_beyond_this_machine", extra={"url": self._url, "tls": bool(self._tls)}
            )
        announce(
            Announcement(
                url=self._url,
                link=services.node.new_link(None),
                token_file=self._paths.token_file,
                restored=registry.alive,
                warnings=warnings,
            )
        )
        tasks.start_soon(services.upstreams.serve)  # theirs to take as long as they like
        tasks.start_soon(anyio.to_thread.run_sync, compile_patterns)
        # Its library is loaded while there are descriptors for it, and not before the first line.
        tasks.start_soon(anyio.to_thread.run_sync, services.node.identify)
        if not self._ephemeral:
            mcp.preload()
        return serving

    async def _wait(self, edges: _Edges, serving: "asyncio.Future[None]") -> None:
        """Wait until the server is stopped, or its web server ends."""
        assert self._stopping is not None
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        await edges.mcp.stop()  # its open streams would hold the draining up
        edges.web.should_exit = True
        await serving

    async def _keep_replicas(
        self, hub: Hub, *, task_status: TaskStatus[Replicas] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        opened = open_replicas(
            self._settings.hub_engine,
            self._hostname,
            hub=hub,
            file=self._paths.hub_file,
            clock=self._clock,
            forget_s=self._settings.hub_forget_s,
        )
        async with opened as replicas:
            task_status.started(replicas)
            await anyio.sleep_forever()

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
            f"Other machines can reach this server ({host}). A client with its token can type into "
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

    async def _end_resting(self, agents: Agents) -> None:
        """Sessions that the agent opened and that are of no use any more."""
        while self._settings.agent_keep_session_minutes:
            await anyio.sleep(RESTING_S)
            with _survived("resting"):
                assert agents.hands is not None
                await agents.hands.end_resting(self._settings.agent_keep_session_minutes * MINUTE_S)

    async def _end_when_unused(
        self, registry: Registry, agents: Agents, web: WebServer, mcp: McpEdge
    ) -> None:
        """A server that was started by a client ends when no client needs it."""
        used_s = self._clock.monotonic_s()
        requests = 0
        was_used, stays_s = False, EPHEMERAL_S
        while self._clock.monotonic_s() - used_s < stays_s:
            await anyio.sleep(LOOK_S)
            alive = [session for session in registry.sessions() if not session.is_exited]
            was_used = was_used or bool(alive or self._processes.running)
            stays_s = LEFT_S if alive else LINGER_S if was_used else EPHEMERAL_S
            if (
                not all(_is_left(session, agents) for session in alive)
                or agents.working()
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
        """Programs outlive the server, unless a client started it for itself."""
        if self._stopping is not None and self._stopping.is_set():
            os._exit(130)
        if self._hub is None or self._hub.is_draining or not self._hub.joined:
            self.stop(not self._ephemeral)
        else:
            self._tasks.start_soon(self._drain, self._hub)

    async def _drain(self, hub: Hub) -> None:
        """A second signal ends it at once."""
        others = self._replicas is not None and len(self._replicas.directory.replicas) > 1
        if self._replicas is not None:
            self._replicas.directory.is_draining = True
        await hub.drain(has_others=others)
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


async def _end_shares(users: Users) -> None:
    while True:
        await anyio.sleep(SHARES_S)
        with _survived("shares"):
            users.end_expired()


async def _forget_machines(replicas: Replicas | None) -> None:
    while replicas is not None:
        await replicas.away.forget_old()
        await anyio.sleep(FORGET_EVERY_S)


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


def _is_left(session: Session, agents: Agents) -> bool:
    """Whether an MCP host or the agent opened it and nothing runs in it: it is no use to anybody else."""
    owner = session.profile.owner
    is_theirs = owner == MCP_HOST.identity or agents.is_own(owner)
    return is_theirs and is_at_rest(session)


def coded_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The coded error among those that ended the server, if one did; a caller can tell that one."""
    for error in group.exceptions:
        found = coded_error(error) if isinstance(error, BaseExceptionGroup) else error  # pyright: ignore[reportUnknownArgumentType] - of whatever it holds
        if isinstance(found, DuettyError):
            return found
    return group


def _has_uvloop() -> bool:
    return find_spec("uvloop") is not None
