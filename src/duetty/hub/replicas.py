"""Nodes that joined another replica, as nodes of this one.

A node's place is in the directory; the way to it is the same stream protocol that goes over the
node's own WebSocket, here over the bus: a stream is opened by a request (so an absent replica is
known at once, and one that comes late is not opened), its frames are messages. The replica that
holds the node passes frames on, both ways, as fast as the slower side takes them.

A lost message would leave a stream waiting: when the engine came back, streams over it end, and
their calls are made again with the same command id.
"""

import logging
import os
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    suppress,
)
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.abc

from duetty.clock import Clock
from duetty.errors import DuettyError, EngineUnavailable, ServerUnavailable
from duetty.hub.away import AwayMachines, away_node
from duetty.hub.bus import Bus, BusError, Subscription, joined
from duetty.hub.directory import Claim, Command, Directory, Place, open_directory
from duetty.hub.hub import Hub
from duetty.hub.joined_node import Hello, JoinedLink, packed, unpacked
from duetty.hub.local_bus import LocalNetwork
from duetty.hub.nodes import Identity, RemoteNode
from duetty.hub.streams import PART_BYTES, RESET_S, Frame, Kind, LinkBroken, Stream, Streams

log = logging.getLogger("duetty.hub")

OPEN_S = 5.0
"""For the replica that holds the node to take a stream."""

LOST_S = 2.0
_ID_BYTES = 8
_DROPPED = b""
"""A message without a frame: the other side forgot this link."""

FindNode = Callable[[str], RemoteNode | None]


@asynccontextmanager
async def open_replicas(
    engine: str, name: str, *, hub: Hub, file: Path, clock: Clock, forget_s: float
) -> AsyncGenerator["Replicas"]:
    """This process as a replica of its hub; without an engine it is the only one.

    Raises:
        EngineUnavailable: if the engine cannot be connected to.
    """
    async with AsyncExitStack() as stack:
        bus = await stack.enter_async_context(_bus(engine, name, file, clock))
        directory = await stack.enter_async_context(open_directory(bus, clock=clock))
        tasks = await stack.enter_async_context(anyio.create_task_group())
        away = AwayMachines(bus, clock, forget_s=forget_s, changed=hub.changed)
        replicas = Replicas(bus, directory, tasks, find=hub.node, clock=clock, away=away)
        await replicas.start()
        hub.add_elsewhere(replicas.elsewhere)
        hub.add_away(replicas.away_of)

        def changed(user: str | None) -> None:
            replicas.changed(user)
            hub.changed()
            replicas.tell_changed()

        directory.listen(
            changed=changed,
            replica_gone=replicas.on_replica_gone,
            cleared=replicas.on_cleared,
        )
        try:
            yield replicas
        finally:
            with anyio.move_on_after(2, shield=True):
                await replicas.close()
            tasks.cancel_scope.cancel()


def _bus(engine: str, name: str, file: Path, clock: Clock) -> AbstractAsyncContextManager[Bus]:
    if not engine:
        return LocalNetwork(file=file, lease_s=None, clock=clock).bus(name)
    from duetty.hub.nats_bus import nats_bus  # only a hub of several replicas needs NATS

    return nats_bus(engine, name, clock=clock)


class Replicas:
    def __init__(
        self,
        bus: Bus,
        directory: Directory,
        tasks: anyio.abc.TaskGroup,
        *,
        find: FindNode,
        clock: Clock,
        away: AwayMachines,
    ) -> None:
        """`find` gives the node of an id that joined here."""
        self.away = away
        self.directory = directory
        self.bus = bus
        self._tasks = tasks
        self._find = find
        self._clock = clock
        self._open: list[Subscription] = []
        self._ours: dict[bytes, _OurLink] = {}
        self._theirs: dict[bytes, _TheirLink] = {}
        self._elsewhere: dict[str, tuple[Place, RemoteNode]] = {}
        self._lost: dict[str, float] = {}
        self._listeners: list[Callable[[], None]] = []

    async def start(self) -> None:
        self._open = [
            await self.bus.subscribe(joined("link", self.bus.name), self._on_message),
            await self.bus.serve(joined("open", self.bus.name), self._on_open),
        ]
        await self.away.start()
        self.bus.on_reconnect.append(self._drop_all)

    async def close(self) -> None:
        self.bus.on_reconnect.remove(self._drop_all)
        await self.away.close()
        for each in self._open:
            with suppress(EngineUnavailable):
                await each.close()

    # --- nodes that joined here ---------------------------------------------------

    async def claim(self, hello: Hello, owner: str | None) -> "NodeClaim":
        """Say that it is here. Its old connection, wherever it is, is closed.

        Raises:
            SessionClaimed: if it is another user's.
            EngineUnavailable: if that cannot be known now.
        """
        claimed = NodeClaim(hello)
        claimed.claim = await self.directory.claim(
            hello.node_id,
            user=owner,
            node=hello.node_id,
            about=claimed.about(hello.sessions),
            after=hello.epoch,
            held=claimed,
        )
        await self.away.forget(hello.node_id)
        return claimed

    # --- nodes that are away --------------------------------------------------------

    def away_of(self, user: str | None) -> list[RemoteNode]:
        """The user's nodes that joined once; one that is back may be among them for a moment."""
        lost = [_away(place, at_ns) for place, at_ns in self.directory.lost(user)]
        return list({each.id: each for each in [*lost, *self.away.of(user)]}.values())

    async def on_cleared(self, place: Place, at_ns: int) -> None:
        """The replica that held it died, and it has not joined another."""
        if "hostname" in place.about:
            await self.away.keep(_away(place, at_ns))

    # --- nodes that joined elsewhere -------------------------------------------------

    async def know(self, user: str | None) -> None:
        """Follow where this user's nodes are. Without an engine: as far as they are known."""
        with suppress(EngineUnavailable):
            await self.directory.know(user)

    def elsewhere(self, user: str | None) -> list[RemoteNode]:
        """The user's nodes at other replicas, as far as `directory.know` was asked for them."""
        now_s = self._clock.monotonic_s()
        return [
            self._remote(place)
            for place in self.directory.places(user)
            if place.replica != self.directory.replica
            and "hostname" in place.about
            and self._lost.get(place.claim, 0) <= now_s
        ]

    def _remote(self, place: Place) -> RemoteNode:
        kept = self._elsewhere.get(place.id)
        if kept is not None and kept[0].claim == place.claim:
            node = kept[1]
        else:
            if kept is not None:
                self._forget(kept[1])
            link = _OurLink(self.bus, place, self._clock, self._on_lost)
            self._ours[link.id] = link
            node = RemoteNode(link=link, owner=place.user, epoch=place.epoch)
        node.lists(dict(place.about.get("sessions", ())))
        node.is_well(
            Identity(
                hostname=str(place.about.get("hostname")),
                server_id=place.id,
                version=str(place.about.get("version")),
            )
        )
        self._elsewhere[place.id] = place, node
        return node

    def listen(self, changed: Callable[[], None]) -> None:
        """Call this when something joined or left another replica, or changed its description."""
        self._listeners.append(changed)

    def tell_changed(self) -> None:
        for listener in self._listeners:
            listener()

    def changed(self, user: str | None) -> None:
        """Calls to nodes whose replica is gone end, and are made again elsewhere."""
        there = {place.id: place.claim for place in self.directory.places(user)}
        for id_, (place, node) in list(self._elsewhere.items()):
            if place.user == user and there.get(id_) != place.claim:
                del self._elsewhere[id_]
                self._forget(node)

    def _on_lost(self, place: Place) -> None:
        """Its replica did not take a stream: not to be asked again at once."""
        now_s = self._clock.monotonic_s()
        self._lost = {claim: end_s for claim, end_s in self._lost.items() if end_s > now_s}
        self._lost[place.claim] = now_s + LOST_S
        kept = self._elsewhere.get(place.id)
        if kept is not None and kept[0].claim == place.claim:
            del self._elsewhere[place.id]
            self._forget(kept[1])

    def on_replica_gone(self, replica: str) -> None:
        """Its callers are gone as well. Answers to their calls are dropped here, and kept by
        the node for a repeated call; their WebSockets are closed.
        """
        for link in [each for each in self._theirs.values() if each.replica == replica]:
            for stream in list(link.sockets):
                stream.end("the replica of the hub that opened it is gone")

    def _leave(self, link: "_OurLink") -> None:
        """Its node is not there any more, or what came from it may be lost."""
        for id_, (_place, node) in list(self._elsewhere.items()):
            if node.link is link:
                del self._elsewhere[id_]
                self._forget(node)

    def _forget(self, node: RemoteNode) -> None:
        link = cast("_OurLink", node.link)
        self._ours.pop(link.id, None)
        node.is_not_well("unavailable", "it left its replica of the hub")
        link.streams.end("it left its replica of the hub")

    # --- messages between replicas ----------------------------------------------------

    def _on_message(self, message: bytes) -> None:
        id_, frame = message[:_ID_BYTES], message[_ID_BYTES:]
        link = self._ours.get(id_) or self._theirs.get(id_)
        if link is None:
            return
        try:
            if frame != _DROPPED:
                link.streams.take(frame)
            elif isinstance(link, _OurLink):
                self._leave(link)
            else:
                link.streams.end("the other replica of the hub was interrupted")
        except LinkBroken as error:
            log.warning("replica_broke_protocol", extra={"reason": str(error)})
            link.streams.end(str(error))

    async def _on_open(self, message: bytes, remaining_s: float) -> bytes:
        """Another replica opens a stream to a node of ours."""
        fields, frame = unpacked(message)
        node = self._find(str(fields["node"]))
        if node is None or node.owner != fields["user"] or node.health != "healthy":
            return b"-"
        id_ = bytes.fromhex(str(fields["link"]))
        link = self._theirs.get(id_)
        if link is None:
            link = self._theirs[id_] = _TheirLink(self, id_, str(fields["from"]))
        link.node, link.left_s = node, remaining_s
        link.streams.take(frame)
        return b"+"

    def relay(self, link: "_TheirLink", stream: Stream, frame: Frame) -> None:
        assert link.node is not None
        node_link = link.node.link
        assert isinstance(node_link, JoinedLink)
        head, body = unpacked(frame.payload)
        # The node compares stamps of one clock: that of the sender.
        head["left_ms"] = min(int(head.get("left_ms", 0)), int(link.left_s * 1000))
        head["sent_ms"] = int(self._clock.monotonic_s() * 1000)
        self._tasks.start_soon(self._relays, link, stream, node_link, head, body, frame.end)

    async def _relays(
        self,
        link: "_TheirLink",
        stream: Stream,
        node_link: JoinedLink,
        head: dict[str, Any],
        body: bytes,
        end: bool,
    ) -> None:
        try:
            target = node_link.streams.open()
        except ServerUnavailable:
            await stream.close()
            return
        if head.get("type") == "websocket":
            link.sockets.add(stream)
        try:
            whole = packed(head, body)
            if len(whole) <= PART_BYTES:
                await target.send(Kind.OPEN, whole, end=end)
            else:
                await target.send(Kind.OPEN, packed(head, b""))
                await target.send(Kind.DATA, body, end=end)
            async with anyio.create_task_group() as tasks:

                async def up() -> None:
                    with suppress(ServerUnavailable):
                        while True:
                            await target.forward(await stream.receive())
                    tasks.cancel_scope.cancel()

                tasks.start_soon(up)
                with suppress(ServerUnavailable):
                    while True:
                        passed = await target.receive()
                        await stream.forward(passed)
                        if passed.end:
                            break
                tasks.cancel_scope.cancel()
        except ServerUnavailable:
            pass  # one side left: `close` tells the other side
        finally:
            link.sockets.discard(stream)
            with anyio.move_on_after(RESET_S, shield=True), suppress(DuettyError):
                if link.node is not None and link.node.health != "healthy":
                    await self.publish(link.replica, link.id, _DROPPED)
                if stream.was_reset or head.get("type") == "websocket" or target.has_got_end:
                    await target.close()
                else:  # its caller may ask again: the node goes on, and keeps its answer
                    node_link.streams.forget(target.number)
                await stream.close()

    async def publish(self, replica: str, id_: bytes, frame: bytes) -> None:
        try:
            await self.bus.publish(joined("link", replica), id_ + frame)
        except EngineUnavailable as error:
            raise ServerUnavailable(error.message) from error

    async def _drop_all(self) -> None:
        """What was sent meanwhile may be lost."""
        for _place, node in self._elsewhere.values():
            self._forget(node)
        self._elsewhere.clear()
        for link in list(self._theirs.values()):
            link.streams.end("the hub's engine was interrupted")
            with suppress(ServerUnavailable):
                await self.publish(link.replica, link.id, _DROPPED)
        self._theirs.clear()


def _away(place: Place, at_ns: int) -> RemoteNode:
    return away_node(
        place.id,
        owner=place.user,
        hostname=str(place.about.get("hostname")),
        version=str(place.about.get("version")),
        sessions=dict(place.about.get("sessions", ())),
        at_ns=at_ns,
    )


class _OurLink(JoinedLink):
    """To a node that another replica holds."""

    def __init__(self, bus: Bus, place: Place, clock: Clock, lost: Callable[[Place], None]) -> None:
        self.id = os.urandom(_ID_BYTES)
        self._lost = lost
        self._bus = bus
        self._place = place
        super().__init__(self, clock)

    async def send(self, message: str | bytes) -> None:
        assert isinstance(message, bytes)
        place = self._place
        try:
            if message[0] != Kind.OPEN:
                await self._bus.publish(joined("link", place.replica), self.id + message)
                return
            fields = {
                "link": self.id.hex(),
                "from": self._bus.name,
                "node": place.id,
                "user": place.user,
            }
            taken = await self._bus.request(
                joined("open", place.replica), packed(fields, message), within_s=OPEN_S
            )
        except EngineUnavailable as error:
            raise ServerUnavailable(error.message) from error
        except BusError as error:
            self._lost(place)
            raise ServerUnavailable("the replica of the hub that has it is gone") from error
        if taken != b"+":
            self._lost(place)
            raise ServerUnavailable("it left its replica of the hub")

    async def receive(self) -> str | bytes | None:
        raise AssertionError("messages come by the bus")


class _TheirLink:
    """Of another replica to a node that we hold."""

    def __init__(self, replicas: Replicas, id_: bytes, replica: str) -> None:
        self.id, self.replica = id_, replica
        self.node: RemoteNode | None = None
        self.left_s = 0.0
        self.sockets: set[Stream] = set()
        self.streams = Streams(
            lambda frame: replicas.publish(replica, id_, frame),
            opened=lambda stream, frame: replicas.relay(self, stream, frame),
        )


class NodeClaim:
    """A node that this replica holds."""

    claim: Claim
    node: RemoteNode | None = None
    """Set when it is one of the hub's."""

    def __init__(self, hello: Hello) -> None:
        self._hello = hello

    def about(self, sessions: Iterable[tuple[str, str]]) -> dict[str, Any]:
        hello = self._hello
        return {"hostname": hello.hostname, "version": hello.version, "sessions": list(sessions)}

    async def describe(self, sessions: Iterable[tuple[str, str]]) -> None:
        await self.claim.describe(self.about(sessions))

    async def call(self, command: Command) -> bytes:
        raise ServerUnavailable("a machine is asked by its link")

    def replaced(self) -> None:
        if self.node is not None:
            self.node.scope.cancel()
