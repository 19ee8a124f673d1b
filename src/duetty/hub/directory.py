"""Which replica holds what joined, and calls to it from any of them.

How a hub plugs in (`held` is what it gives, all callbacks are its own):

    async with open_directory(bus, on_change=…) as directory:
        claim = await directory.claim(id, user=…, node=…, about={…}, after=…, held=held)
        …                                  # its socket is served; `claim.describe({…})` on changes
        await claim.release()              # it left

    await directory.know(user)             # from now on `places(user)` is all of that user's
    answer = await directory.call(id, user=…, command_id=…, body=b"…", within_s=…)

`id` is a node's id or a room's, a routing key. An id is claimed by one node of one user, by
compare-and-set: another node or user is refused; the same node wins with a higher epoch, and the
replica of its old socket calls `held.replaced()`. `after` is the last epoch that the node had, so
epochs grow even when the engine forgot them.

A call goes to the replica that holds the id, without the bus if that is this one. If that replica
dies or loses the node, the same command goes to the next holder with the same id, within the
caller's time: `held.call` may get one twice, and a node runs it once (`dedupe.py`). The holder of
the id joins a repetition to the call that is under way. Every error says in `details.executed`
whether the command can have run: false or "unknown".
"""

import json
import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Protocol, cast
from uuid import uuid4

import anyio
import anyio.abc

from duetty.clock import Clock, SystemClock
from duetty.errors import (
    CommandExpired,
    CommandIdReused,
    DuettyError,
    EngineUnavailable,
    NodeBusy,
    NodeDisconnected,
    NodeTimeout,
    SessionClaimed,
    SessionNotFound,
    SessionOffline,
)
from duetty.hub.bus import (
    Bus,
    BusError,
    BusTimeout,
    Conflict,
    Held,
    NoResponder,
    Subscription,
    joined,
)

log = logging.getLogger("duetty.hub")

REJOIN_S = 2.5
"""How long a call waits for a node that went away under it to join again."""

SETTLE_S = 5.0
"""After the engine came back every replica writes down what it holds: so long that may take."""

FORGET_S = 60.0
"""After that, what a replica held that died can be claimed by anyone."""

KNOWN_USERS = 10_000
"""Users whose places are followed here; of more, the one that was longest not asked for is let go."""

CALLS_EACH = 64
"""Calls of one id that are under way at its holder."""

DONE_EACH, DONE_BYTES = 64, 64 * 1024
"""Answers that a holder keeps for a repetition, and the size of one: a node keeps more."""

RUN_S = 600.0
"""A command that its caller gave up goes on for so long, and its answer can be had by its id."""

ATTEMPTS = 5

_MOVED = "moved"


class HeldHere(Protocol):
    """What a replica does with what it holds."""

    async def call(self, command: "Command") -> bytes:
        """Raises:
        NodeDisconnected: if it went away within the call.
        """
        ...

    def replaced(self) -> None:
        """The same node joined again, here or elsewhere: this socket is to be closed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something is that joined."""

    id: str
    user: str | None
    """None is who runs the hub."""
    node: str
    replica: str
    epoch: int
    claim: str
    """Of this joining, and of each time that the engine came back: a holder heard of anew."""
    about: Mapping[str, Any]
    """What the hub that holds it says of it; for show and for routing by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    id: str
    user: str | None
    command_id: str
    body: bytes
    within_s: float
    """The rest of the caller's time."""

    caller: str
    """One name for one caller: asked again on another way, it still waits once."""


@dataclass(slots=True)
class _Running:
    """A command under way here, and all that wait for it."""

    digest: bytes
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    is_done: anyio.Event = field(default_factory=anyio.Event)
    waiting: set[str] = field(default_factory=set[str])
    answer: bytes | None = None
    error: DuettyError | None = None


class Claim:
    """What this replica holds; made by `Directory.claim`."""

    def __init__(self, directory: "Directory", place: Place, held: HeldHere) -> None:
        self.place = place
        self.held = held
        self.rev = 0
        self.running: dict[tuple[str | None, str], _Running] = {}
        self.done: dict[tuple[str | None, str], _Running] = {}
        self._directory = directory

    @property
    def epoch(self) -> int:
        return self.place.epoch

    async def describe(self, about: Mapping[str, Any]) -> None:
        """Replace its description. Without an engine it is published when the engine is back."""
        self.place = replace(self.place, about=about)
        await self._directory.described(self)

    async def release(self) -> None:
        """It left. Commands under way end as `node_disconnected`."""
        await self._directory.released(self)


@dataclass(slots=True)
class _Known:
    """The places of one user."""

    places: dict[str, Place] = field(default_factory=dict[str, Place])
    watch: Subscription | None = None


@asynccontextmanager
async def open_directory(
    bus: Bus,
    *,
    on_change: Callable[[str | None], None] | None = None,
    clock: Clock | None = None,
    rejoin_s: float = REJOIN_S,
    forget_s: float = FORGET_S,
) -> AsyncGenerator["Directory"]:
    """`on_change` hears of each user whose places changed."""
    async with anyio.create_task_group() as tasks:
        directory = Directory(bus, tasks, clock or SystemClock(), rejoin_s, forget_s)
        if on_change is not None:
            directory.listen(changed=on_change)
        await directory.start()
        try:
            yield directory
        finally:
            with anyio.move_on_after(2, shield=True):
                await directory.close()
            tasks.cancel_scope.cancel()


class Directory:
    def __init__(
        self,
        bus: Bus,
        tasks: anyio.abc.TaskGroup,
        clock: Clock,
        rejoin_s: float,
        forget_s: float,
    ) -> None:
        self.replica = bus.name
        self.is_draining = False
        self.bus = self._bus = bus
        self._tasks = tasks
        self._on_change: Callable[[str | None], None] = lambda _user: None
        self._on_replica_gone: Callable[[str], None] = lambda _replica: None
        self._on_cleared: Callable[[Place, int], Awaitable[None]] | None = None
        self._gone_at_ns: dict[str, int] = {}
        """Replicas that died while this one lives."""
        self._clock = clock
        self._rejoin_s = rejoin_s
        self._forget_s = forget_s
        self._claims: dict[str, Claim] = {}
        self._known: dict[str | None, _Known] = {}
        self._replicas: set[str] = {self.replica}
        self._waits: dict[str, list[anyio.Event]] = {}
        self._is_idle = anyio.Event()
        self._found: dict[str, Place] = {}
        self._came_back_s = -SETTLE_S
        self._open: list[Subscription] = []

    def listen(
        self,
        *,
        changed: Callable[[str | None], None],
        replica_gone: Callable[[str], None] = lambda _replica: None,
        cleared: Callable[[Place, int], Awaitable[None]] | None = None,
    ) -> None:
        """Call these with a user whose places changed; with a replica that is gone; and, at one of
        those that live, with each place that it held and when it was found to be gone.
        """
        self._on_change, self._on_replica_gone = changed, replica_gone
        self._on_cleared = cleared

    # --- start and end ------------------------------------------------------------

    async def start(self) -> None:
        bus = self._bus
        self._open = [
            await bus.watch("lease.replica", self._on_replica),
            await bus.subscribe(_MOVED, self._on_moved),
            await bus.subscribe(joined("evict", self.replica), self._on_evict),
            await bus.subscribe(joined("cancel", self.replica), self._on_cancel),
            await bus.serve(joined("hub", self.replica), self._serve),
            await bus.lease(joined("lease", "replica", self.replica), b"1"),
        ]
        bus.on_reconnect.append(self._announce_again)

    async def close(self) -> None:
        if not self.is_draining:
            for claim in list(self._claims.values()):
                await self.released(claim)
        self._bus.on_reconnect.remove(self._announce_again)
        for each in reversed(self._open):
            with suppress(EngineUnavailable):
                await each.close()

    async def drain(self, within_s: float) -> None:
        """Take no new command, let those under way end, give up what is held."""
        self.is_draining = True
        with anyio.move_on_after(within_s):
            while any(claim.running for claim in self._claims.values()):
                self._is_idle = anyio.Event()
                await self._is_idle.wait()

    @property
    def replicas(self) -> frozenset[str]:
        """Those that live, this one among them."""
        return frozenset(self._replicas)

    def _on_replica(self, key: str, held: Held | None) -> None:
        replica = key.rpartition(".")[2]
        if (held is not None) == (replica in self._replicas):
            return  # a lease that was renewed
        if held is not None:
            self._replicas.add(replica)
            self._gone_at_ns.pop(replica, None)
        elif replica != self.replica:
            self._replicas.discard(replica)
            self._gone_at_ns[replica] = self._clock.wall_ns()
            self._on_replica_gone(replica)
            self._tasks.start_soon(self._forget, replica)
        for user, known in self._known.items():
            if any(place.replica == replica for place in known.places.values()):
                self._on_change(user)
        for id_ in list(self._waits):
            self._wake(id_)

    async def _forget(self, replica: str) -> None:
        """Clear up after a replica that died; one of those that live does it."""
        await anyio.sleep(self._forget_s)
        if replica in self._replicas or min(self._replicas) != self.replica:
            return
        left: dict[str, tuple[Place, int]] = {}

        def collect(key: str, held: Held | None) -> None:
            place = None if held is None else _parse_place(held.value)
            if held is not None and place is not None and place.replica == replica:
                left[key] = place, held.rev

        with suppress(EngineUnavailable):
            await (await self._bus.watch("claim", collect)).close()
            for key, (place, rev) in left.items():
                with suppress(Conflict):
                    if self._on_cleared is not None:
                        await self._on_cleared(place, self._gone_at_ns[replica])
                    await self._bus.delete(key, rev)
                    await self._bus.delete(_of_key(place))

    async def _announce_again(self) -> None:
        """The engine came back, perhaps without what it knew."""
        self._came_back_s = self._clock.monotonic_s()
        self._found.clear()
        for claim in list(self._claims.values()):
            await self._announce(claim)
        for id_ in list(self._waits):
            self._wake(id_)

    async def _announce(self, claim: Claim) -> None:
        place = claim.place = replace(claim.place, claim=new_claim())
        for _attempt in range(ATTEMPTS):
            try:
                claim.rev = await self._bus.create(_claim_key(place.id), _text(place))
                break
            except Conflict as conflict:
                other = None if conflict.held is None else _parse_place(conflict.held.value)
                if conflict.held is None or other is None:
                    continue
                if other.epoch > place.epoch and other.replica != self.replica:
                    self._evict(claim)  # it joined elsewhere while we could not hear of it
                    return
                with suppress(Conflict):
                    claim.rev = await self._bus.update(
                        _claim_key(place.id), _text(place), conflict.held.rev
                    )
                    break
        await self._bus.put(_of_key(place), _text(place))
        await self._say_moved(place)

    # --- claims -------------------------------------------------------------------

    async def claim(
        self,
        id_: str,
        *,
        user: str | None,
        node: str,
        about: Mapping[str, Any],
        held: HeldHere,
        after: int = 0,
    ) -> Claim:
        """Raises:
        SessionClaimed: if another node or user has it; the error does not name it.
        EngineUnavailable: if that cannot be known now.
        """
        before: Place | None = None
        before_rev = 0
        for _attempt in range(ATTEMPTS):
            place = Place(
                id=id_,
                user=user,
                node=node,
                replica=self.replica,
                epoch=max(after, before.epoch if before else 0) + 1,
                claim=new_claim(),
                about=about,
            )
            try:
                if before is None:
                    rev = await self._bus.create(_claim_key(id_), _text(place))
                else:
                    rev = await self._bus.update(_claim_key(id_), _text(place), before_rev)
                break
            except Conflict as conflict:
                before = None if conflict.held is None else _parse_place(conflict.held.value)
                before_rev = 0 if conflict.held is None else conflict.held.rev
                if before is not None and (before.user, before.node) != (user, node):
                    raise SessionClaimed from conflict
        else:
            raise SessionClaimed
        claim = Claim(self, place, held)
        claim.rev = rev
        earlier = self._claims.pop(id_, None)
        self._claims[id_] = claim
        if earlier is not None:
            self._evict(earlier)
        elif before is not None:
            message = json.dumps({"id": id_, "epoch": place.epoch}).encode()
            await self._bus.publish(joined("evict", before.replica), message)
        await self._bus.put(_of_key(place), _text(place))
        await self._say_moved(place)
        return claim

    async def described(self, claim: Claim) -> None:
        if self._claims.get(claim.place.id) is claim:
            with suppress(EngineUnavailable):
                await self._bus.put(_of_key(claim.place), _text(claim.place))

    async def released(self, claim: Claim) -> None:
        self._end(claim, None)
        if self._claims.get(claim.place.id) is not claim:
            return
        del self._claims[claim.place.id]
        with suppress(EngineUnavailable, Conflict):
            await self._bus.delete(_claim_key(claim.place.id), claim.rev)
            await self._bus.delete(_of_key(claim.place))

    def _evict(self, claim: Claim) -> None:
        if self._claims.get(claim.place.id) is claim:
            del self._claims[claim.place.id]
        self._end(claim, None)
        claim.held.replaced()

    def _end(self, claim: Claim, error: DuettyError | None) -> None:
        for running in list(claim.running.values()):
            running.error = running.error or error or NodeDisconnected(claim.place.id)
            running.scope.cancel()

    def _on_evict(self, message: bytes) -> None:
        fields = _parse(message)
        claim = self._claims.get(str(fields.get("id")))
        if claim is not None and claim.epoch < cast("int", fields.get("epoch", 0)):
            self._evict(claim)

    async def _say_moved(self, place: Place) -> None:
        fields = {"id": place.id, "replica": place.replica, "epoch": place.epoch}
        await self._bus.publish(_MOVED, json.dumps(fields).encode())

    def _on_moved(self, message: bytes) -> None:
        id_ = str(_parse(message).get("id"))
        self._found.pop(id_, None)
        self._wake(id_)

    def _wake(self, id_: str) -> None:
        for event in self._waits.pop(id_, ()):
            event.set()

    # --- who has what -------------------------------------------------------------

    def held(self, id_: str) -> Claim | None:
        """What this replica itself holds."""
        return self._claims.get(id_)

    async def know(self, user: str | None) -> None:
        """Follow this user's places from now on, if they are not followed yet."""
        known = self._known.pop(user, None)
        if known is None:
            known = _Known()
            known.watch = await self._bus.watch(_of_prefix(user), self._follows(user, known))
        self._known[user] = known  # the newest is last
        if len(self._known) > KNOWN_USERS:
            oldest = self._known.pop(next(iter(self._known)))
            if oldest.watch is not None:
                await oldest.watch.close()

    def _follows(self, user: str | None, known: _Known) -> Callable[[str, Held | None], None]:
        def on_change(key: str, held: Held | None) -> None:
            place = None if held is None else _parse_place(held.value)
            if place is None:
                gone = [id_ for id_ in known.places if _of_key_of(user, id_) == key]
                for id_ in gone:
                    del known.places[id_]
            elif place.user == user:
                earlier = known.places.get(place.id)
                if earlier is None or earlier.epoch <= place.epoch:
                    known.places[place.id] = place
            self._on_change(user)

        return on_change

    def places(self, user: str | None) -> list[Place]:
        """This user's, as far as they are here or known; none of a replica that died."""
        known = self._known.get(user)
        found = {} if known is None else dict(known.places)
        for id_, claim in self._claims.items():
            if claim.place.user == user:
                found[id_] = claim.place
        return [place for place in found.values() if place.replica in self._replicas]

    def lost(self, user: str | None) -> list[tuple[Place, int]]:
        """This user's at replicas that died, as far as they are known; and when that was found."""
        known = self._known.get(user)
        return [
            (place, self._gone_at_ns[place.replica])
            for place in (() if known is None else known.places.values())
            if place.replica in self._gone_at_ns
        ]

    async def find(self, id_: str, user: str | None) -> Place:
        """Raises:
        SessionNotFound: if there is none, or it is another user's: one cannot tell which.
        EngineUnavailable: if that cannot be known.
        """
        claim = self._claims.get(id_)
        place = claim.place if claim is not None else self._found.get(id_)
        if place is None:
            held = await self._bus.get(_claim_key(id_))
            place = None if held is None else _parse_place(held.value)
            if place is not None:
                self._found[id_] = place
                while len(self._found) > KNOWN_USERS:
                    del self._found[next(iter(self._found))]
        if place is None or place.user != user:
            raise SessionNotFound(id_)
        return place

    async def wait_elsewhere(self, place: Place) -> Place:
        """Where it joins next, at a replica that lives. The caller bounds the wait."""
        while True:
            event = anyio.Event()
            with self._woken(place.id, event):
                self._found.pop(place.id, None)
                with suppress(SessionNotFound, EngineUnavailable):
                    found = await self.find(place.id, place.user)
                    if found.claim != place.claim and found.replica in self._replicas:
                        return found
                await event.wait()

    @contextmanager
    def _woken(self, id_: str, event: anyio.Event) -> Generator[None]:
        """When it joins anywhere, a replica comes or goes, or the engine came back."""
        self._waits.setdefault(id_, []).append(event)
        try:
            yield
        finally:
            waits = self._waits.get(id_, [])
            if event in waits:
                waits.remove(event)
                if not waits:
                    del self._waits[id_]

    # --- calls --------------------------------------------------------------------

    async def call(
        self, id_: str, *, user: str | None, command_id: str, body: bytes, within_s: float
    ) -> bytes:
        """The answer of the id's holder.

        Raises:
            SessionNotFound, SessionOffline, EngineUnavailable, NodeBusy, CommandExpired: not run.
            NodeTimeout, NodeDisconnected: it may have run; the same id again gives its result.
        """
        end_s = self._clock.monotonic_s() + within_s
        was_sent = False
        caller = uuid4().hex
        place: Place | None = None
        while (left_s := end_s - self._clock.monotonic_s()) > 0:
            try:
                with anyio.move_on_after(left_s):
                    place = place or await self.find(id_, user)
                if place is None:
                    break
            except SessionNotFound:
                # Just after the engine came back not everything is written down again.
                if self._settles_s() <= 0:
                    raise
                place = Place(id=id_, user=user, node="", replica="", epoch=0, claim="", about={})
            command = Command(
                id=id_,
                user=user,
                command_id=command_id,
                body=body,
                within_s=end_s - self._clock.monotonic_s(),
                caller=caller,
            )
            try:
                return await self._at(place, command)
            except _Elsewhere as error:
                was_sent = was_sent or error.was_sent
                if error.is_interrupted and place.replica in self._replicas:
                    place = None  # ask again for the holder; a running command is not disturbed
                    self._found.pop(id_, None)
                    continue
            next_place: Place | None = None
            patience_s = max(self._rejoin_s, self._settles_s())
            with anyio.move_on_after(min(patience_s, end_s - self._clock.monotonic_s())):
                next_place = await self.wait_elsewhere(place)
            if next_place is None:
                raise NodeDisconnected(id_) if was_sent else SessionOffline(id_)
            place = next_place
        raise NodeTimeout(id_) if was_sent else CommandExpired

    def _settles_s(self) -> float:
        return self._came_back_s + SETTLE_S - self._clock.monotonic_s()

    async def _at(self, place: Place, command: Command) -> bytes:
        """Raises:
        _Elsewhere: if it is not there, or not there any more.
        """
        claim = self._claims.get(place.id)
        if claim is not None:
            try:
                return await self._run(claim, command)
            except NodeDisconnected as error:
                raise _Elsewhere(was_sent=True) from error
        if place.replica not in self._replicas or place.replica == self.replica:
            raise _Elsewhere(was_sent=False)
        return await self._ask(place, command)

    async def _ask(self, place: Place, command: Command) -> bytes:
        """Over the bus; given up when its replica dies or it is held elsewhere."""
        head = {
            "id": place.id,
            "user": command.user,
            "command_id": command.command_id,
            "caller": command.caller,
        }
        answers: list[bytes] = []
        failed: list[Exception] = []
        moved = anyio.Event()
        try:
            with self._woken(place.id, moved):
                async with anyio.create_task_group() as tasks:

                    async def ask() -> None:
                        try:
                            answer = await self._bus.request(
                                joined("hub", place.replica),
                                _packed(head, command.body),
                                within_s=command.within_s,
                            )
                            answers.append(answer)
                        except (BusError, EngineUnavailable) as error:
                            failed.append(error)
                        tasks.cancel_scope.cancel()

                    tasks.start_soon(ask)
                    await moved.wait()
                    tasks.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            self._tasks.start_soon(self._cancel, place, command)
            raise
        if answers:
            return _answered(place.id, answers[0])
        match failed:
            case [NoResponder()]:
                raise _Elsewhere(was_sent=False)
            case [BusTimeout()]:
                raise NodeTimeout(place.id)
            case [EngineUnavailable() as error]:
                raise error
            case []:
                raise _Elsewhere(was_sent=True, is_interrupted=True)
            case _:
                raise _Elsewhere(was_sent=True)

    async def _cancel(self, place: Place, command: Command) -> None:
        fields = {
            "id": place.id,
            "user": command.user,
            "command_id": command.command_id,
            "caller": command.caller,
        }
        with suppress(EngineUnavailable):
            await self._bus.publish(joined("cancel", place.replica), json.dumps(fields).encode())

    def _on_cancel(self, message: bytes) -> None:
        fields = _parse(message)
        claim = self._claims.get(str(fields.get("id")))
        key = (cast("str | None", fields.get("user")), str(fields.get("command_id")))
        if claim is not None and (running := claim.running.get(key)) is not None:
            self._leave(running, str(fields.get("caller")))

    async def _serve(self, message: bytes, remaining_s: float) -> bytes:
        """A call of another replica."""
        head, body = _unpacked(message)
        id_, user = str(head["id"]), cast("str | None", head["user"])
        claim = self._claims.get(id_)
        if claim is None or claim.place.user != user:
            return b"-not_here"  # as if there were none
        command = Command(
            id=id_,
            user=user,
            command_id=str(head["command_id"]),
            body=body,
            within_s=remaining_s,
            caller=str(head.get("caller", "")),
        )
        try:
            return b"+" + await self._run(claim, command)
        except _Elsewhere:
            return b"-not_here"
        except DuettyError as error:
            return b"-" + error.code.encode()

    async def _run(self, claim: Claim, command: Command) -> bytes:
        """Once for all who ask with one command id."""
        key = (command.user, command.command_id)
        digest = sha256(command.body).digest()
        running = claim.running.get(key) or claim.done.get(key)
        if running is None:
            if self.is_draining:
                raise _Elsewhere(was_sent=False)
            if len(claim.running) >= CALLS_EACH:
                raise NodeBusy("the session's machine", CALLS_EACH)
            running = claim.running[key] = _Running(digest)
            self._tasks.start_soon(self._runs, claim, command, running)
        elif running.digest != digest:
            raise CommandIdReused
        running.waiting.add(command.caller)
        try:
            with anyio.move_on_after(command.within_s):
                await running.is_done.wait()
        except anyio.get_cancelled_exc_class():
            self._leave(running, command.caller)
            raise
        if not running.is_done.is_set():
            raise NodeTimeout(claim.place.id)
        if running.error is not None:
            raise running.error
        assert running.answer is not None
        return running.answer

    def _leave(self, running: _Running, caller: str) -> None:
        """One who waited wants no more; the last one ends it."""
        running.waiting.discard(caller)
        if not running.waiting:
            running.scope.cancel()

    async def _runs(self, claim: Claim, command: Command, running: _Running) -> None:
        try:
            with running.scope, anyio.move_on_after(RUN_S):
                running.answer = await claim.held.call(command)
                self._keep(claim, command, running)
            if running.answer is None:
                running.error = running.error or NodeDisconnected(claim.place.id)
        except DuettyError as error:
            running.error = error
        except Exception:
            log.exception("hub_call_failed", extra={"command_id": command.command_id})
            running.error = NodeDisconnected(claim.place.id)
        finally:
            claim.running.pop((command.user, command.command_id), None)
            running.is_done.set()
            self._is_idle.set()

    def _keep(self, claim: Claim, command: Command, running: _Running) -> None:
        if running.answer is not None and len(running.answer) <= DONE_BYTES:
            claim.done[command.user, command.command_id] = running
            if len(claim.done) > DONE_EACH:
                del claim.done[next(iter(claim.done))]


class _Elsewhere(Exception):
    """The command did not get an answer where it was sent."""

    def __init__(self, *, was_sent: bool, is_interrupted: bool = False) -> None:
        super().__init__()
        self.was_sent = was_sent
        self.is_interrupted = is_interrupted
        """Something changed meanwhile; it may still be there."""


def _answered(id_: str, answer: bytes) -> bytes:
    if answer[:1] == b"+":
        return answer[1:]
    match answer[1:].decode():
        case "not_here":
            raise _Elsewhere(was_sent=False)
        case NodeTimeout.code:
            raise NodeTimeout(id_)
        case NodeBusy.code:
            raise NodeBusy("the session's machine", CALLS_EACH)
        case CommandExpired.code:
            raise CommandExpired
        case CommandIdReused.code:
            raise CommandIdReused
        case _:
            raise _Elsewhere(was_sent=True)


def new_claim() -> str:
    return os.urandom(8).hex()


def _claim_key(id_: str) -> str:
    return joined("claim", id_)


def _of_prefix(user: str | None) -> str:
    return joined("of", "-" if user is None else f"u{user}")


def _of_key_of(user: str | None, id_: str) -> str:
    return f"{_of_prefix(user)}.{joined(id_)}"


def _of_key(place: Place) -> str:
    return _of_key_of(place.user, place.id)


def _text(place: Place) -> bytes:
    return json.dumps(
        {
            "id": place.id,
            "user": place.user,
            "node": place.node,
            "replica": place.replica,
            "epoch": place.epoch,
            "claim": place.claim,
            "about": place.about,
        }
    ).encode()


def _parse(message: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}


def _parse_place(text: bytes) -> Place | None:
    fields = _parse(text)
    try:
        return Place(
            id=fields["id"],
            user=fields["user"],
            node=fields["node"],
            replica=fields["replica"],
            epoch=fields["epoch"],
            claim=fields["claim"],
            about=fields["about"],
        )
    except KeyError:
        return None


def _packed(head: Mapping[str, object], body: bytes) -> bytes:
    encoded = json.dumps(head).encode()
    return len(encoded).to_bytes(4, "big") + encoded + body


def _unpacked(message: bytes) -> tuple[dict[str, Any], bytes]:
    end = 4 + int.from_bytes(message[:4], "big")
    return _parse(message[4:end]), message[end:]
