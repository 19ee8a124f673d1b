"""Subscriptions: notifications of changed resources, in both eras, a few times a second at most.

Each subscription has a watch of its own, so a client that does not read holds up
no other. A watch is a loop over an operation that waits; it costs nothing while
nothing happens. A resource without such an operation is polled, once a second.
"""

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import mcp_types as t
from anyio.abc import TaskGroup
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError

from duetty.edges.mcp.dialect import Calls, Resource
from duetty.edges.mcp.sdk import Context
from duetty.errors import Deadline, DuettyError, Exhausted
from duetty.events import Lagged, SessionCreated, SessionRemoved, SessionRenamed
from duetty.ops import Shares, Watch

COALESCE_S = 0.25
"""The least time between two messages about one resource: a program may print all the time."""

LOOK_S = 1.0
"""Between two looks at what can only be looked at: files, a repository."""

WAIT_MS = 3_600_000
MAX_PER_CONNECTION = 100
NAME_CHANGES = (SessionCreated, SessionRenamed, SessionRemoved)

Also = Callable[[Calls, t.SubscriptionFilter, InMemorySubscriptionBus], Coroutine[Any, Any, None]]
Tell = Callable[[], Awaitable[object]]
Watching = Callable[[Tell], Awaitable[None]]
WatchOf = Callable[[str, Calls], Awaitable[Watching | None]]


class Watches:
    """The subscriptions of one dialect's server."""

    def __init__(
        self, find: Callable[[str], tuple[Resource, dict[str, str]] | None], shares: Shares
    ) -> None:
        self._find = find
        self._shares = shares
        self._by_connection: dict[Connection, dict[str, anyio.CancelScope]] = {}
        self.group: TaskGroup | None = None
        """Who owns the watches of the handshake era; set while the server runs."""

        self._also: Also | None = None
        self._of_others: WatchOf | None = None

    def extend(self, *, also: Also, of_others: WatchOf) -> None:
        """`also`: what a listener of the modern era hears of besides. `of_others`: a watch of a
        resource that is not this dialect's own.
        """
        self._also, self._of_others = also, of_others

    # --- handshake era: a connection that lives, and messages on it -------------

    async def subscribe(self, connection: Connection, calls: Calls, uri: str) -> None:
        """Tell this connection of changes from now on, until it goes or is unsubscribed."""
        watch = await self._watch_of(uri, calls)
        if watch is None:
            raise MCPError(
                code=t.INVALID_PARAMS, message="Resource not found", data={"uri": uri[:500]}
            )

        async def tell() -> None:
            await connection.send_resource_updated(uri)

        self._start(connection, calls, uri, watch=watch, tell=tell)

    async def _watch_of(self, uri: str, calls: Calls) -> Watching | None:
        if (found := self._find(uri)) is not None:
            return await _watch(*found, calls)
        return None if self._of_others is None else await self._of_others(uri, calls)

    def unsubscribe(self, connection: Connection, uri: str) -> None:
        scope = self._by_connection.get(connection, {}).pop(uri, None)
        if scope is not None:
            scope.cancel()

    def follow_list(self, connection: Connection, calls: Calls) -> None:
        """A connection of that era gets a notification when sessions come and go, unasked."""

        async def tell() -> None:
            await connection.send_resource_list_changed()

        self._start(connection, calls, "", watch=partial(_watch_names, calls), tell=tell)

    def follow(
        self, connection: Connection, calls: Calls, key: str, *, watch: Watching, tell: Tell
    ) -> None:
        """Run this watch for as long as the connection lives."""
        self._start(connection, calls, key, watch=watch, tell=tell)

    def _start(
        self, connection: Connection, calls: Calls, uri: str, *, watch: Watching, tell: Tell
    ) -> None:
        mine = self._by_connection.get(connection)
        if mine is None:
            mine = self._by_connection[connection] = {}
            connection.exit_stack.callback(self._drop, connection)
        if uri in mine:
            return
        if len(mine) > MAX_PER_CONNECTION:
            raise MCPError(code=t.INTERNAL_ERROR, message="Subscription limit reached")
        assert self.group is not None
        give_back = self._taken(calls)
        scope = mine[uri] = anyio.CancelScope()
        self.group.start_soon(partial(self._run, scope, watch, tell, give_back=give_back))

    async def _run(
        self,
        scope: anyio.CancelScope,
        watch: Watching,
        tell: Tell,
        *,
        give_back: Callable[[], None],
    ) -> None:
        try:
            with scope:
                await watch(tell)
        except (DuettyError, anyio.EndOfStream):
            return  # what was watched is gone, or no longer allowed
        finally:
            give_back()

    def _drop(self, connection: Connection) -> None:
        for scope in self._by_connection.pop(connection, {}).values():
            scope.cancel()

    # --- modern era: one request whose answer is the stream ---------------------

    async def listen(
        self, context: Context, params: t.SubscriptionsListenRequestParams, calls: Calls
    ) -> t.SubscriptionsListenResult:
        wanted = params.notifications
        uris = list(dict.fromkeys(str(uri) for uri in wanted.resource_subscriptions or ()))
        needed = len(uris) + bool(wanted.resources_list_changed)
        if len(uris) > MAX_PER_CONNECTION:
            raise MCPError(code=t.INTERNAL_ERROR, message="Subscription limit reached")
        bus = InMemorySubscriptionBus()
        ended = t.SubscriptionsListenResult()
        give_back = self._taken(calls, needed)
        try:
            async with anyio.create_task_group() as tasks:
                watches: list[tuple[Watching, str]] = []
                for uri in uris:
                    # One that does not exist is accepted, as the revision says, and never changes.
                    with suppress(DuettyError):
                        if (watch := await self._watch_of(uri, calls)) is not None:
                            watches.append((watch, uri))
                for watch, uri in watches:  # at once: none has news before the listener is there
                    tasks.start_soon(_quietly, watch, _updated(bus, uri))
                if wanted.resources_list_changed:
                    tasks.start_soon(_quietly, partial(_watch_names, calls), _list_changed(bus))
                if self._also is not None:
                    tasks.start_soon(self._also, calls, wanted, bus)
                ended = await ListenHandler(bus)(context, params)
                tasks.cancel_scope.cancel()
        finally:
            give_back()
        return ended

    def _taken(self, calls: Calls, amount: int = 1) -> Callable[[], None]:
        try:
            return self._shares.take(calls.caller.actor, amount=amount)
        except Exhausted as error:
            raise MCPError(code=t.INTERNAL_ERROR, message=error.message) from error


def _updated(bus: InMemorySubscriptionBus, uri: str) -> Tell:
    async def tell() -> None:
        await bus.publish(ResourceUpdated(uri=uri))

    return tell


def _list_changed(bus: InMemorySubscriptionBus) -> Tell:
    async def tell() -> None:
        await bus.publish(ResourcesListChanged())

    return tell


async def _quietly(watch: Watching, tell: Tell) -> None:
    try:
        await watch(tell)
    except (DuettyError, anyio.EndOfStream):
        return  # what was watched is gone, or no longer allowed


async def _watch(resource: Resource, places: dict[str, str], calls: Calls) -> Watching:
    """A watch over what happens from now on."""
    if resource.changes_with == "reading":
        known = await resource.read(calls, places)
        return partial(_watch_reading, resource, places, calls, known)
    session = places.get(resource.session_place)
    if resource.changes_with == "sessions" or session is None:
        return partial(_watch_list, calls)
    known = await calls("session.wait", {"session": session, "idle_ms": 0})
    return partial(_watch_session, calls, session, known)


async def _watch_reading(
    resource: Resource, places: dict[str, str], calls: Calls, known: object, tell: Tell
) -> None:
    """What nothing tells of is looked at again; what cannot be read just now is so for a while."""
    while True:
        await anyio.sleep(LOOK_S)
        try:
            now = await resource.read(calls, places)
        except DuettyError as error:
            now = error.code
        if now != known:
            known = now
            await tell()


async def _watch_session(calls: Calls, session: str, known: Any, tell: Tell) -> None:
    """Until the session is gone; its end is a change, too."""
    while known.state != "exited":
        wanted = {"session": session, "idle_ms": 0, "last_generation": known.generation}
        try:
            known = await calls("session.wait", wanted | {"max_wait_ms": WAIT_MS})
        except Deadline:
            continue
        except DuettyError:
            await tell()
            return
        await tell()
        await anyio.sleep(COALESCE_S)


async def _watch_list(calls: Calls, tell: Tell) -> None:
    """Every change of what a list of sessions shows; at first, that what the caller left running has ended."""
    with calls.watch() as watch:
        with suppress(DuettyError):
            if not all(each.running for each in await calls("command.left")):
                await tell()
        await _watch_sessions(watch, tell, lambda event: True)


async def _watch_names(calls: Calls, tell: Tell) -> None:
    """Sessions that come, go, or get another name."""
    with calls.watch() as watch:
        watch.skip_updates()
        await _watch_sessions(watch, tell, lambda event: isinstance(event, NAME_CHANGES))


async def _watch_sessions(watch: Watch, tell: Tell, matters: Callable[[object], bool]) -> None:
    while True:
        item = await watch.receive()
        if isinstance(item, Lagged) or (matters(item.event) and watch.may_see(item.event.name)):
            # Changes that follow at once go with it.
            with anyio.move_on_after(COALESCE_S):
                while True:
                    await watch.receive()
            await tell()
