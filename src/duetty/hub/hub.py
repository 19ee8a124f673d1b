"""The other nodes: added by a person and dialled, or such that dialled us; each with its user."""

import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import anyio.abc

from duetty.errors import (
    BadArguments,
    Conflict,
    DuettyError,
    Exhausted,
    ServerAlreadyRegistered,
    ServerNotFound,
    ServerUnavailable,
)
from duetty.hub.addresses import Address, parse_address
from duetty.hub.health_watch import keep_link
from duetty.hub.joined_node import Hello, JoinedLink
from duetty.hub.links import DialledLink
from duetty.hub.network import Network
from duetty.hub.nodes import DRAINING, Identity, RemoteNode
from duetty.private_file import read_private, write_private

log = logging.getLogger("duetty.hub")

MAX_NODES = 64
"""That we dial."""

MAX_JOINED = 20_000
JOINED_EACH = 5_000
"""Of one user."""

MAX_TOKEN_CHARS = 1_000

DRAIN_S = 20.0
"""For calls that are under way when the hub ends."""

QUIET_S = 1.0
"""For a moment without a call to a machine, where another replica can take it."""


class Hub:
    def __init__(
        self,
        *,
        file: Path,
        hostname: str,
        identify: Callable[[], str],
        network: Network,
        tasks: anyio.abc.TaskGroup,
    ) -> None:
        self.hostname = hostname
        self._identify = identify
        self._file = file
        self.network = network
        self._tasks = tasks
        self._nodes: list[RemoteNode] = []
        self._joined: dict[str, RemoteNode] = {}
        """Nodes that dialled us, by their id."""

        self._of_user: dict[str | None, dict[str, RemoteNode]] = {}
        self._elsewhere: Callable[[str | None], list[RemoteNode]] = lambda _user: []
        self._away: Callable[[str | None], list[RemoteNode]] = lambda _user: []
        self._changed = anyio.Event()
        self._came = anyio.Event()
        self.is_draining = False
        self._moving: dict[str, RemoteNode] = {}
        """Nodes that this hub sent away when it began to end: they come back elsewhere."""
        self.under_way = 0
        """Calls of this hub's own callers to machines that joined."""

    # --- which there are --------------------------------------------------------

    def nodes(self, user: str | None = None) -> list[RemoteNode]:
        """Those of one user, in the order in which they came, then those that are away; None is
        who runs the hub.
        """
        dialled = [each for each in self._nodes if each.owner == user]
        return [*dialled, *self.joined_of(user), *self.away_of(user)]

    def add_elsewhere(self, nodes_of: Callable[[str | None], list[RemoteNode]]) -> None:
        """Find a user's nodes that other replicas of this hub hold by this."""
        self._elsewhere = nodes_of

    def add_away(self, nodes_of: Callable[[str | None], list[RemoteNode]]) -> None:
        """Find a user's nodes that joined once and are not connected by this."""
        self._away = nodes_of

    def away_of(self, user: str | None) -> list[RemoteNode]:
        """Those that dialled this hub before, and are at none of its replicas now."""
        away = self._away(user)
        here = {each.id for each in self.joined_of(user)} if away else set[str]()
        return [each for each in away if each.id not in here]

    def joined_of(self, user: str | None) -> list[RemoteNode]:
        """Those that dialled this hub, at whichever replica."""
        found = {each.id: each for each in self._moving.values() if each.owner == user}
        found |= {each.id: each for each in self._elsewhere(user)}
        found |= self._of_user.get(user, {})
        return list(found.values())

    def joined_node(self, id_: str, owner: str | None) -> RemoteNode | None:
        """This owner's node, at whichever replica, or away."""
        own = [*self.joined_of(owner), *self.away_of(owner)]
        return next((each for each in own if each.id == id_), None)

    def changed(self) -> None:
        """A node came or left, here or elsewhere."""
        self._stirred()
        self._came.set()
        self._came = anyio.Event()

    def _stirred(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_changed(self) -> None:
        """Until a node comes or leaves; calls that end are none of this."""
        await self._came.wait()

    async def wait_again(self, node: RemoteNode) -> RemoteNode:
        """The node after it joined again, at whichever replica. The caller bounds the wait."""
        while True:
            for each in self.joined_of(node.owner):
                if each.id == node.id and each is not node and each.health == "healthy":
                    return each
            await self._changed.wait()

    def node(self, id_: str) -> RemoteNode | None:
        """The joined node of this id, of any user."""
        return self._joined.get(id_)

    @property
    def server_id(self) -> str:
        return self._identify()

    @property
    def joined(self) -> int:
        return len(self._joined)

    def is_self(self, name: str) -> bool:
        """`local`, as it stands in the list of servers, means this one everywhere."""
        name = name.lower()
        return name in ("local", self.hostname.lower()) or name == self.server_id

    def find(self, name: str, user: str | None = None) -> RemoteNode:
        """One of the user's: by hostname, by `host:port` of its address, or by its id.

        Raises:
            ServerNotFound: if there is none; another user's is none.
            BadArguments: if several are called so.
        """
        called = [node for node in self.nodes(user) if node.is_called(name)]
        found = [node for node in called if node.health != "away"] or called
        if not found:
            raise ServerNotFound(name[:100])
        if len(found) > 1:
            raise BadArguments(
                f"server: {len(found)} machines are called {name[:100]!r}",
                hint=f"name one by its id: {', '.join(each.id or each.place for each in found[:10])}",
            )
        return found[0]

    def with_session(self, named: str, user: str | None = None) -> list[RemoteNode]:
        """The user's nodes that have a session of this id, else those with one of this name; those that
        are away only where no other has one.
        """
        return _having(named, self.joined_of(user)) or _having(named, self.away_of(user))

    # --- those that dial us -----------------------------------------------------

    def join(self, hello: Hello, link: JoinedLink, owner: str | None, *, epoch: int) -> RemoteNode:
        """A node that proved who it is. The newest connection of a node counts.

        Raises:
            Exhausted: if there are too many.
            Conflict: if another user has it.
        """
        if self.is_draining:
            raise ServerUnavailable(DRAINING.reason)
        earlier = self._joined.get(hello.node_id)
        if earlier is not None and earlier.owner != owner:
            raise Conflict("this machine belongs to another user of this hub")
        if earlier is None and len(self._joined) >= MAX_JOINED:
            raise Exhausted(f"there are {MAX_JOINED} machines", hint="remove one")
        own = self._of_user.setdefault(owner, {})
        if earlier is None and len(own) >= JOINED_EACH:
            raise Exhausted(f"this user has {JOINED_EACH} machines", hint="remove one")
        if earlier is not None:
            self._left(earlier, "it joined again")
            earlier.scope.cancel()
        node = RemoteNode(link=link, owner=owner, epoch=epoch, sessions=dict(hello.sessions))
        node.is_well(
            Identity(hostname=hello.hostname, server_id=hello.node_id, version=hello.version)
        )
        self._joined[hello.node_id] = own[hello.node_id] = node
        log.info("node_joined", extra={"node": hello.node_id, "hostname": hello.hostname})
        self.changed()
        return node

    @contextmanager
    def calling(self) -> Generator[None]:
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
            self._stirred()

    async def drain(self, *, has_others: bool) -> None:
        """Before this process ends: no machine more; calls end, or go on at another replica.

        The hub asks a machine to dial again when no call to it is under way, or after a while: what it
        does then goes on, and is asked for at its new place.
        """
        self.is_draining = True
        with anyio.move_on_after(QUIET_S if has_others else DRAIN_S):
            while any(each.is_called_now for each in self._joined.values()):
                await self._changed.wait()
        for node in list(self._joined.values()):
            node.closing = DRAINING
            self._moving[node.id] = node
            node.scope.cancel()
        with anyio.move_on_after(DRAIN_S):
            while self.under_way:
                await self._changed.wait()

    def leave(self, node: RemoteNode, why: str) -> None:
        """Its connection is over; calls under way end now."""
        if self._joined.get(node.id) is node:
            del self._joined[node.id]
            del self._of_user[node.owner][node.id]
            if not self._of_user[node.owner]:
                del self._of_user[node.owner]
            log.info("node_left", extra={"node": node.id, "reason": why})
        self._left(node, why)
        self.changed()

    def _left(self, node: RemoteNode, why: str) -> None:
        node.is_not_well("unavailable", why)
        assert isinstance(node.link, JoinedLink)
        node.link.streams.end(why)

    async def add(self, text: str, token: str | None) -> RemoteNode:
        """Raises:
        BadArguments: if it is no address, or one that this node may not go to.
        ServerAlreadyRegistered: if there is one at this address.
        Exhausted: if there are too many.
        """
        address = parse_address(text)
        _check_token(token)
        with suppress(ServerUnavailable):  # an unknown name may be known later
            await self.network.resolved(address)
        if any(each.address == address for each in self._nodes):
            raise ServerAlreadyRegistered(str(address))
        if len(self._nodes) >= MAX_NODES:
            raise Exhausted(f"there are {MAX_NODES} servers", hint="remove one")
        node = self._dialled(address, token)
        self._nodes.append(node)
        self._save()
        self._start(node)
        return node

    def remove(self, name: str) -> None:
        """Raises:
        ServerNotFound: if there is none.
        """
        node = self.find(name)
        if node.has_joined:  # `user.forget_machine` is for those that are away
            raise BadArguments(
                f"server: {name[:100]!r} joined by itself",
                hint="end it there: `duetty join --leave`",
            )
        self._nodes.remove(node)
        self._save()
        node.is_not_well("unavailable", "it was removed")
        node.scope.cancel()

    # --- over a restart ---------------------------------------------------------

    def restore(self) -> None:
        """Take up the nodes that were added before."""
        kept = read_private(self._file, lambda kept: [dict(each) for each in kept["servers"]])
        for each in (kept or [])[:MAX_NODES]:
            try:
                node = self._dialled(parse_address(each["address"]), each.get("token"))
            except (DuettyError, KeyError, TypeError) as error:
                log.warning("server_unreadable", extra={"reason": str(error)})
                continue
            self._nodes.append(node)
            self._start(node)

    def _save(self) -> None:
        """Whole or not at all, and for this user only: it holds tokens."""
        kept: list[Mapping[str, object]] = [
            {"address": str(each.address), "token": each.token} for each in self._nodes
        ]
        try:
            write_private(self._file, {"servers": kept})
        except OSError as error:
            log.warning("servers_not_saved", extra={"reason": str(error)})

    def _dialled(self, address: Address, token: str | None) -> RemoteNode:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        link = DialledLink(address, headers, self.network)
        return RemoteNode(link=link, address=address, token=token)

    # --- links ------------------------------------------------------------------

    def _start(self, node: RemoteNode) -> None:
        def clash(identity: Identity) -> str | None:
            return self._clash(node, identity)

        self._tasks.start_soon(keep_link, node, self.network, clash)

    def _clash(self, node: RemoteNode, identity: Identity) -> str | None:
        """Why a node of this identity cannot be one of ours; None if it can."""
        if identity.server_id == self.server_id:
            return "it is this server itself"
        if self.is_self(identity.hostname):
            return f"it is called {identity.hostname!r}, as this server is"
        for other in self._nodes:
            if other is node or other.identity is None or other.health == "rejected":
                continue
            if other.identity.server_id == identity.server_id:
                return f"it is the server at {other.address}"
            if other.identity.hostname.lower() == identity.hostname.lower():
                return f"the server at {other.address} is called {identity.hostname!r} too"
        return None


def _having(session: str, nodes: list[RemoteNode]) -> list[RemoteNode]:
    for node in nodes:
        if session in node.sessions:
            return [node]
    return [node for node in nodes if session in node.sessions.values()]


def _check_token(token: str | None) -> None:
    if token is None:
        return
    if not 0 < len(token) <= MAX_TOKEN_CHARS or not all("!" <= char <= "~" for char in token):
        raise BadArguments("token: printable characters without spaces")
