"""From call to effect, on one path: find, permit, validate, decide, obtain approval, run, record.

No edge can reach a session around it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar

import anyio
from pydantic import ValidationError

from duetty.approvals import HostAsk
from duetty.calls import Actor, Call, Scope
from duetty.errors import (
    BadArguments,
    DuettyError,
    NotFound,
    Refused,
    ScopeMissing,
    SessionNotFound,
    with_executed,
)
from duetty.hosts import HostClient, Hosts
from duetty.hub import Channel, NodeSocket, RemoteNode, Room, parse_aside
from duetty.ops.approval_feed import ApprovalFeed, follow_approvals
from duetty.ops.away_sessions import away_sessions
from duetty.ops.bounds import Bounds
from duetty.ops.documents import Stream, whole
from duetty.ops.follow import (
    Captures,
    View,
    Watch,
    captures_of,
    follow_session,
    watch_sessions,
)
from duetty.ops.guardrail.decision_path import Passage
from duetty.ops.hub_routing import Reachable, destination, reachable
from duetty.ops.joined_nodes import may_join, serve_node
from duetty.ops.operation import Operation, OperationCall
from duetty.ops.permits import REMOVED, keep_within, named_now, permit, permit_change
from duetty.ops.remote_callers import Hearing
from duetty.ops.remote_calls import everywhere, forward
from duetty.ops.remote_streams import begin_typing, relayed_events, relayed_socket
from duetty.ops.resolved_call import ResolvedCall
from duetty.ops.rooms import close_room, hear_room, open_room
from duetty.ops.sandbox_choice import keep_confined
from duetty.ops.selection import Candidate
from duetty.ops.services import Node, Services, Steps
from duetty.ops.sessions import own_candidates
from duetty.ops.shapes import with_answer
from duetty.ops.table import OPERATIONS
from duetty.session import Session, ViewerKind
from duetty.upstreams import Progress
from duetty.wire.base import field_of
from duetty.wire.results import SessionInfo
from duetty.wire.upstreams import ToolResult

T = TypeVar("T")


class UnknownOperation(NotFound):
    code = "unknown_method"


class Dispatcher:
    """What an edge is given: names and arguments in, results or coded errors out."""

    def __init__(self, services: Services) -> None:
        self._services = replace(services, candidates=services.candidates or self._candidates)

    async def _candidates(self, actor: Actor) -> list[Candidate]:
        """Sessions that a call may mean which names none: those here, and of the caller's machines."""
        services = self._services
        own = [] if actor.user is not None else own_candidates(services, actor)
        if actor.via is not None or actor.session is not None or not reachable(actor, services):
            return own
        listing = OPERATIONS["session.list"]
        call = ResolvedCall(
            call=Call(actor=actor, operation=listing.name),
            operation=listing,
            params=listing.params.model_validate({}),
        )
        listed: list[SessionInfo] = await everywhere(call, services)
        return [*own, *(_candidate(each) for each in listed if each.state != "exited")]

    @property
    def operations(self) -> Mapping[str, Operation[Any, Any]]:
        return OPERATIONS

    async def _dispatch(
        self,
        call: Call,
        operation: Operation[Any, Any],
        *,
        streaming: bool = False,
        host: HostAsk | None = None,
        client: HostClient | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Raises:
        DuettyError: with a code, whatever went wrong.
        """
        await self.know(call.actor)
        if (actor := self._now(call.actor)) is not call.actor:
            call = replace(call, actor=actor)
        is_asked_of_all = (
            operation.everywhere and not call.dialect and "server" not in call.arguments
        )
        node, resolved = self._resolved(call, operation)
        actor = resolved.actor
        if node is not None:
            hearing = Hearing(host=host, progress=progress)
            try:
                result = await forward(node, resolved, self._services, hearing)
            except DuettyError as error:
                with_executed(error)
                raise
        elif actor.user is not None and operation.everywhere:
            result = await everywhere(resolved, self._services)
        elif operation.composed:
            steps = self._steps_of(resolved.call, host, client)
            services = replace(self._services, steps=steps, client=client)
            try:
                return await operation.perform(resolved, services)
            except DuettyError as error:
                # Its steps are recorded each; what it refuses itself, and by which name, is so only here.
                services.deciding.refused(resolved.call, operation, error)
                raise
        else:
            services = self._services
            if progress is not None or client is not None:
                services = replace(services, progress=progress, client=client, host=host)
            result = await self._performed(resolved, services, host)
            if is_asked_of_all and actor.session is None:
                result = [*result, *await everywhere(resolved, self._services)]
        return result if streaming or not isinstance(result, Stream) else await whole(result)

    async def _performed(
        self, call: OperationCall, services: Services, host: HostAsk | None
    ) -> Any:
        """Decided, asked about, done here and recorded."""
        operation = call.operation
        check = partial(operation.check_of, call, self._services)

        async def run(passage: Passage) -> Any:
            doing = operation.perform(call.with_params(passage.call.params), services)
            result: Any = None  # to the checker, a scope may end without a word
            if operation.ends_with_caller:
                result = await doing
            else:
                # A caller may leave while it waits or is asked about, not in the middle of a change.
                with anyio.CancelScope(shield=True):
                    result = await doing
            if services.records is not None:
                await services.records.written()
            # A run has it itself, a command without a terminal with the rest of its process.
            passage.exit_code = field_of(field_of(result, "process") or result, "exit_code")
            result = with_answer(result, passage.granted)
            if isinstance(result, ToolResult):
                result = result.model_copy(update={"decided_by": passage.decided_by})
            return result

        return await self._services.deciding.through(call, host, check, run)

    def _resolved(
        self, call: Call, operation: Operation[Any, Any]
    ) -> tuple[RemoteNode | None, OperationCall]:
        """The node that a call is for, None for this one; and the call with all that it names.

        Raises:
            DuettyError: if it cannot be for any, or is not permitted; that is recorded.
        """
        try:
            node, call = destination(operation, call, self._services)
            params = self._permitted(call, operation)
            resolved = ResolvedCall(
                call=call,
                operation=operation,
                params=params,
                session=self._session(params) if node is None else None,
            )
            keep_confined(resolved, self._services, elsewhere=node is not None)
        except DuettyError as error:
            refused = self._services.deciding.refused
            if operation.malformed is not None and isinstance(error, Refused):
                refusal = operation.malformed(error)
                refused(call, operation, refusal)
                raise refusal from error
            refused(call, operation, error)
            raise
        return node, resolved

    def _session(self, params: Any) -> Session | None:
        name = field_of(params, "session")
        if not isinstance(name, str):
            return None
        try:
            return self._services.registry.find(name)
        except SessionNotFound:
            return None  # who needs it says so

    async def know(self, actor: Actor) -> None:
        """Find out which machines this actor's user has at other replicas of the hub."""
        replicas, users = self._services.replicas, self._services.users
        if replicas is not None:
            await replicas.know(actor.user)
            for share in users.of(actor.user):
                await replicas.know(share.owner)

    @property
    def readiness(self) -> tuple[bool, str]:
        """Whether new callers are welcome; and how the hub's engine is, which some can do without."""
        replicas = self._services.replicas
        is_away = replicas is not None and not replicas.bus.connected
        return not self._services.hub.is_draining, "away" if is_away else "connected"

    def metrics(self, actor: Actor) -> bytes:
        """Counts of this hub, for who runs it.

        Raises:
            ScopeMissing: for a user of the hub, or a credential that does not read.
        """
        permit(actor, Scope.READ)
        if actor.user is not None or actor.session is not None:
            raise ScopeMissing("these are counts of all users of this hub")
        services = self._services
        replicas = services.replicas
        return services.metrics.text(
            {
                "nodes": ("Machines that are connected here", services.hub.joined),
                "rooms": ("Tool hosts that are connected here", len(services.rooms)),
                "calls_under_way": ("Calls to machines", services.hub.under_way),
                "replicas": (
                    "Processes of this hub that live",
                    1 if replicas is None else len(replicas.directory.replicas),
                ),
                "engine_connected": (
                    "Whether the engine can be asked",
                    float(replicas is None or replicas.bus.connected),
                ),
            }
        )

    def _now(self, actor: Actor) -> Actor:
        return named_now(actor, self._services.registry)

    def _permitted(self, call: Call, operation: Operation[Any, Any]) -> Any:
        """The arguments, checked, for an actor whose credential allows this."""
        if not (operation.any_scope and call.actor.scopes):
            permit(call.actor, operation.scope)
        permit_change(call.actor, operation)
        try:
            params = operation.params.model_validate(call.arguments)
        except ValidationError as error:
            raise bad_arguments(error) from error
        return params if call.actor.session is None else keep_within(call.actor, operation, params)

    async def call(
        self,
        actor: Actor,
        name: str,
        arguments: Mapping[str, object],
        *,
        streaming: bool = False,
        dialect: str = "",
        mode: Literal["interactive", "headless"] = "interactive",
        host: HostAsk | None = None,
        client: HostClient | None = None,
        progress: Progress | None = None,
        command_id: str = "",
    ) -> Any:
        """Run the operation for this actor; `streaming` takes a document as a `Stream`.

        `host` puts a question of ours to the person at the caller's own host, where that can be done;
        `client` is that host, for an operation that asks it for something;
        `progress` is called by operations that report their progress.

        Raises:
            DuettyError: with a code, whatever went wrong.
        """
        operation = _operation(name)
        call = Call(
            actor=actor,
            operation=name,
            arguments=arguments,
            dialect=dialect,
            mode=mode,
            command_id=command_id,
        )
        give_back = self.bounds["waits"].take(actor) if operation.waits else None
        try:
            return await self._dispatch(
                call,
                operation,
                streaming=streaming,
                host=host,
                client=client,
                progress=progress,
            )
        except DuettyError as error:
            if actor.user is not None:
                with_executed(error)
            raise
        finally:
            if give_back is not None:
                give_back()

    @property
    def bounds(self) -> Bounds:
        """What callers share."""
        return self._services.access.bounds

    def _steps_of(self, call: Call, host: HostAsk | None, client: HostClient | None) -> Steps:
        async def step(
            operation: str,
            arguments: Mapping[str, object],
            *,
            dialect: str = "",
            mode: Literal["interactive", "headless"] = "interactive",
            patience_s: float | None = None,
        ) -> Any:
            made = Call(
                actor=call.actor,
                operation=operation,
                arguments=arguments,
                dialect=dialect,
                mode=mode,
                patience_s=patience_s,
            )
            return await self._dispatch(made, _operation(operation), host=host, client=client)

        return step

    @property
    def hosts(self) -> Hosts:
        return self._services.hosts

    @property
    def has_left_runs(self) -> bool:
        """Whether some caller stopped waiting for a run: without one `command.ended` has nothing."""
        return any(session.left for session in self._services.registry.sessions())

    @property
    def node(self) -> Node:
        return self._services.node

    def is_this(self, server: str) -> bool:
        """Whether this node is meant."""
        return self._services.hub.is_self(server)

    def elsewhere(
        self, actor: Actor, *, server: str | None, session: str | None
    ) -> tuple[RemoteNode, Actor] | None:
        """The node that is named or that has the session, and as whom it is followed; None for this one.

        Raises:
            ServerNotFound, SessionNotFound: if it is none that this actor reaches.
            SessionAmbiguous: if several machines have a session of this name.
        """
        operation = OPERATIONS["screen.get" if session is not None else "server.status"]
        named = {"session": session} if session is not None else {}
        if server is not None:
            named["server"] = server
        call = Call(actor=actor, operation=operation.name, arguments=named)
        node, call = destination(operation, call, self._services)
        return None if node is None else (node, call.actor)

    def machines(self, actor: Actor) -> list[Reachable]:
        """Machines that joined and answer now: the caller's, and those of sessions shared with them."""
        if actor.via is not None or actor.session is not None:
            return []
        found = reachable(actor, self._services)
        return [each for each in found if each.node.has_joined and each.node.health == "healthy"]

    def away_sessions(self, actor: Actor) -> list[SessionInfo]:
        """Of machines that are away: the caller's, and those that were shared with them."""
        is_other = actor.via is not None or actor.session is not None
        return [] if is_other else away_sessions(actor, self._services)

    async def machines_changed(self) -> None:
        """Returns when a machine came or left, or may have."""
        await self._services.hub.wait_changed()

    def may_join(self, actor: Actor) -> None:
        """Raises what `joined_nodes.may_join` says."""
        may_join(actor)

    async def join_room(
        self,
        actor: Actor,
        announcement: Mapping[str, Any],
        size: int,
        *,
        send: Callable[[str], Awaitable[None]],
    ) -> Room:
        """Of an announcement of so many characters.

        Raises:
            BadArguments, Exhausted: if it cannot be one.
        """
        announced = await parse_aside(announcement, size)
        return await open_room(self._services, actor, announced, send)

    async def hear_room(self, room: Room, message: Mapping[str, Any], size: int) -> None:
        """A message of its tool host, of so many characters.

        Raises:
            BadArguments: if it is none.
        """
        await hear_room(self._services, room, message, size)

    async def leave_room(self, room: Room) -> None:
        await close_room(self._services, room)

    async def serve_node(self, actor: Actor, channel: Channel) -> None:
        """A node that dialled us, until either side ends it; raises what `serve_node` says."""
        await serve_node(self._services, actor, channel)

    def relayed_socket(
        self, actor: Actor, node: RemoteNode, target: str
    ) -> AbstractAsyncContextManager[NodeSocket]:
        """A WebSocket of another node; entering it raises what `relayed_socket` says."""
        return relayed_socket(self._services, actor, node, target)

    def relayed_events(
        self, actor: Actor, node: RemoteNode, target: str, headers: dict[str, str]
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Events of another node; entering it raises what `relayed_events` says."""
        return relayed_events(self._services, actor, node, target, headers)

    def begin_typing(self, actor: Actor, node: RemoteNode, session: str) -> None:
        """Raises what `relaying.begin_typing` says: then no keys may be sent there."""
        begin_typing(self._services, actor, node, session)

    def follow(
        self,
        actor: Actor,
        session: str,
        *,
        kind: ViewerKind = "api",
        size: tuple[int, int] | None = None,
    ) -> AbstractContextManager[View]:
        """Look at one session; entering it raises what `follow_session` says."""

        def call(name: str, arguments: Mapping[str, object]) -> Awaitable[Any]:
            return self.call(actor, name, arguments)

        if actor.user is not None:
            raise SessionNotFound(session)  # what is here is not a user's of the hub
        following = follow_session(
            call, self._services, self._now(actor), session, kind=kind, size=size
        )
        return following if kind == "api" else self._attended(following, actor, kind=kind)

    def captures(self, actor: Actor) -> AbstractContextManager[Captures]:
        """Keyboards that this connection of the actor captures; released when it is left."""
        return captures_of(self._services)

    def watch(self, actor: Actor) -> AbstractContextManager[Watch]:
        """Look at all sessions; entering it raises what `watch_sessions` says."""
        return self._attended(watch_sessions(self._services, _here(actor)), _here(actor))

    def approval_feed(self, actor: Actor) -> AbstractContextManager[ApprovalFeed]:
        """Look at the questions to a person; entering it raises what `follow_approvals` says."""
        return follow_approvals(self._services, self._now(_here(actor)))

    @contextmanager
    def _attended(
        self, looking: AbstractContextManager[T], actor: Actor, *, kind: ViewerKind = "page"
    ) -> Generator[T]:
        """A person who looks is a person who can be asked. A page shows every session."""
        with looking as look:
            only = look.session_id if kind == "attach" and isinstance(look, View) else None
            with self._services.approvals.attendance.attending(actor, session_id=only):
                yield look


def _operation(name: str) -> Operation[Any, Any]:
    operation = OPERATIONS.get(name)
    if operation is None:
        raise UnknownOperation(f"no operation {name!r}")
    return operation


def _candidate(info: SessionInfo) -> Candidate:
    """Named with its machine: two may have a session of one name."""
    return Candidate(
        session_id=info.id,
        name=f"{info.server}/{info.name}",
        title=info.title or info.command,
        machine=info.server,
        cwd=info.cwd,
        last_activity_ms=info.last_activity_ms,
        away_since=info.away_since,
    )


def _here(actor: Actor) -> Actor:
    """The actor for sessions of this node. A user of a hub has none of the hub's own."""
    return actor if actor.user is None else replace(actor, session=REMOVED, session_id=REMOVED)


def bad_arguments(error: ValidationError) -> BadArguments:
    """One sentence per wrong field; never the value, which may be input."""
    problems = {
        ".".join(str(part) for part in problem["loc"]) or "arguments": problem["msg"]
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    }
    return BadArguments(
        "; ".join(f"{place}: {message}" for place, message in problems.items()),
        details={"fields": problems},
    )
