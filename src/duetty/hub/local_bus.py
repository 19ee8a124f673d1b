"""The engine of a hub that is one process: no server, no socket.

Members of one `LocalNetwork` are to each other what replicas on NATS are, which is how tests
run two of them.
"""

import logging
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.abc
import anyio.lowlevel

from duetty.clock import Clock, SystemClock
from duetty.errors import EngineUnavailable
from duetty.hub.bus import (
    KEPT,
    LEASED,
    BusTimeout,
    Conflict,
    Held,
    NoResponder,
    OnChange,
    OnMessage,
    Serve,
    ServingFailed,
)
from duetty.private_file import read_private, write_private

log = logging.getLogger("duetty.hub")

T = TypeVar("T")

SAVE_S = 0.2
LEASE_S = 3.0
"""A member that stopped is known to be gone after this long."""


class LocalNetwork:
    """What the members of one process share."""

    def __init__(
        self,
        *,
        file: Path | None = None,
        lease_s: float | None = LEASE_S,
        clock: Clock | None = None,
    ) -> None:
        """`file` holds the keys under `kept.`; without it they end with the process.

        `lease_s` None is for a hub with one member: what it leases ends with the process.
        """
        self.lease_s = lease_s
        self.clock = clock or SystemClock()
        self.listeners: dict[str, list[OnMessage]] = {}
        self.servers: dict[str, list[tuple[LocalBus, Serve]]] = {}
        self.watches: dict[str, list[OnChange]] = {}
        self.ends_at: dict[str, float] = {}
        self.held: dict[str, Held] = {}
        self._rev = 0
        self._file = file
        self._is_unsaved = False
        self._joined = 0
        self._members: list[LocalBus] = []
        if file is not None:
            self.held = read_private(file, self._restored) or {}

    @asynccontextmanager
    async def bus(self, name: str) -> AsyncGenerator["LocalBus"]:
        self._joined += 1
        async with anyio.create_task_group() as tasks:
            bus = LocalBus(self, f"{name}-{self._joined}", tasks)
            if self.lease_s is not None:
                tasks.start_soon(self._end_leases, self.lease_s)
            self._members.append(bus)
            try:
                yield bus
            finally:
                bus.leave()
                self._members.remove(bus)
                self._save()
                tasks.cancel_scope.cancel()

    def _restored(self, kept: Any) -> dict[str, Held]:
        return {key: Held(b64decode(text), self._next()) for key, text in kept.items()}

    def _next(self) -> int:
        self._rev += 1
        return self._rev

    def store(self, key: str, value: bytes | None) -> int:
        if value is None:
            self.held.pop(key, None)
            self.ends_at.pop(key, None)
        else:
            self.held[key] = Held(value, self._next())
        now = self.held.get(key)
        # All prefixes that are whole words of the key: never by a part of a word.
        words = key.split(".")
        for count in range(1, len(words)):
            for on_change in list(self.watches.get(".".join(words[:count]), ())):
                on_change(key, now)
        if words[0] == KEPT and self._file is not None and not self._is_unsaved:
            self._is_unsaved = True
            for member in self._members[:1]:
                member.start(self._save_soon)
        return 0 if now is None else now.rev

    async def _save_soon(self) -> None:
        await anyio.sleep(SAVE_S)
        self._save()

    def _save(self) -> None:
        """What changed since the last time, as one: thousands of machines may leave at once."""
        if self._file is None or not self._is_unsaved:
            return
        self._is_unsaved = False
        kept = {
            key: b64encode(held.value).decode()
            for key, held in self.held.items()
            if key.startswith(KEPT + ".")
        }
        try:
            write_private(self._file, kept)
        except OSError as error:
            self._is_unsaved = True
            log.warning("hub_file_not_saved", extra={"reason": str(error)})

    async def _end_leases(self, lease_s: float) -> None:
        """Of members that stopped without a word."""
        while True:
            await anyio.sleep(lease_s / 6)
            now_s = self.clock.monotonic_s()
            for key in [key for key, end_s in self.ends_at.items() if end_s <= now_s]:
                self.store(key, None)


class LocalBus:
    def __init__(self, network: LocalNetwork, name: str, tasks: anyio.abc.TaskGroup) -> None:
        self.name = name
        self.connected = True
        self.on_reconnect: list[Callable[[], Awaitable[None]]] = []
        self._network = network
        self._tasks = tasks
        self._subscriptions: list[_LocalSubscription] = []

    def leave(self) -> None:
        """No more messages to or from this member. Its leases end by themselves."""
        self.connected = False
        for each in self._subscriptions:
            each.end()
        self._subscriptions.clear()

    def _check(self) -> LocalNetwork:
        if not self.connected:
            raise EngineUnavailable("this member has left")
        return self._network

    def _add(self, end: Callable[[], None]) -> "_LocalSubscription":
        subscription = _LocalSubscription(self._subscriptions, end)
        self._subscriptions.append(subscription)
        return subscription

    # --- messages ---------------------------------------------------------------

    async def publish(self, subject: str, message: bytes) -> None:
        for on_message in list(self._check().listeners.get(subject, ())):
            on_message(message)
        await anyio.lowlevel.checkpoint()

    async def subscribe(self, subject: str, on_message: OnMessage) -> "_LocalSubscription":
        listeners = self._check().listeners
        listeners.setdefault(subject, []).append(on_message)
        await anyio.lowlevel.checkpoint()
        return self._add(lambda: _remove(listeners, subject, on_message))

    async def serve(self, subject: str, serve: Serve) -> "_LocalSubscription":
        servers, entry = self._check().servers, (self, serve)
        servers.setdefault(subject, []).append(entry)
        await anyio.lowlevel.checkpoint()
        return self._add(lambda: _remove(servers, subject, entry))

    async def request(self, subject: str, message: bytes, *, within_s: float) -> bytes:
        servers = self._check().servers.get(subject)
        if not servers:
            raise NoResponder(subject)
        member, serve = servers[0]
        answers: list[bytes | None] = []
        is_answered = anyio.Event()

        async def answer() -> None:
            # In a task of the serving member: it ends with that member, not with the caller.
            try:
                answers.append(await serve(message, within_s))
            except Exception:
                log.exception("bus_serving_failed", extra={"subject": subject})
                answers.append(None)
            is_answered.set()

        member.start(answer)
        with anyio.move_on_after(within_s):
            await is_answered.wait()
        if not answers:
            raise BusTimeout(subject)
        if answers[0] is None:
            raise ServingFailed(subject)
        return answers[0]

    def start(self, run: Callable[[], Coroutine[None, None, None]]) -> None:
        self._tasks.start_soon(run)

    # --- state ------------------------------------------------------------------

    async def create(self, key: str, value: bytes) -> int:
        network = self._check()
        await anyio.lowlevel.checkpoint()
        if (held := network.held.get(key)) is not None:
            raise Conflict(held)
        return network.store(key, value)

    async def update(self, key: str, value: bytes, rev: int) -> int:
        network = self._check()
        await anyio.lowlevel.checkpoint()
        _same_rev(network.held.get(key), rev)
        return network.store(key, value)

    async def put(self, key: str, value: bytes) -> int:
        await anyio.lowlevel.checkpoint()
        return self._check().store(key, value)

    async def get(self, key: str) -> Held | None:
        await anyio.lowlevel.checkpoint()
        return self._check().held.get(key)

    async def delete(self, key: str, rev: int | None = None) -> None:
        network = self._check()
        await anyio.lowlevel.checkpoint()
        if rev is not None:
            _same_rev(network.held.get(key), rev)
        network.store(key, None)

    async def watch(self, prefix: str, on_change: OnChange) -> "_LocalSubscription":
        network = self._check()
        await anyio.lowlevel.checkpoint()
        network.watches.setdefault(prefix, []).append(on_change)
        for key, held in list(network.held.items()):
            if key.startswith(prefix + "."):
                on_change(key, held)
        return self._add(lambda: _remove(network.watches, prefix, on_change))

    async def lease(self, key: str, value: bytes) -> "_LocalSubscription":
        assert key.startswith(LEASED + ".")
        network = self._check()
        scope = anyio.CancelScope()

        async def hold(lease_s: float) -> None:
            with scope:
                while self.connected:
                    network.ends_at[key] = network.clock.monotonic_s() + lease_s
                    await anyio.sleep(lease_s / 3)

        def end() -> None:
            scope.cancel()
            if self.connected:
                network.store(key, None)

        await self.put(key, value)
        if network.lease_s is not None:
            network.ends_at[key] = network.clock.monotonic_s() + network.lease_s
            self._tasks.start_soon(hold, network.lease_s)
        return self._add(end)


class _LocalSubscription:
    def __init__(self, all_of_them: list["_LocalSubscription"], end: Callable[[], None]) -> None:
        self._all = all_of_them
        self._end = end

    async def close(self) -> None:
        if self in self._all:
            self._all.remove(self)
            self.end()
        await anyio.lowlevel.checkpoint()

    def end(self) -> None:
        self._end()


def _remove(table: dict[str, list[T]], key: str, entry: T) -> None:
    table[key].remove(entry)
    if not table[key]:
        del table[key]


def _same_rev(held: Held | None, rev: int) -> None:
    if held is None or held.rev != rev:
        raise Conflict(held)
