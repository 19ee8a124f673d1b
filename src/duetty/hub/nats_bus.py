"""The engine of a hub of several replicas: NATS, core messages and JetStream key values.

What nats-py does that a hub cannot use, and what is done here instead:
- It keeps what is published while there is no connection and sends it later. Requests check the
  connection first, and a serving member does not run a request that is older than its caller
  waits. (An age is the time since the sender's stamp, less the shortest such time seen from that
  sender: the clocks of two machines need not agree.)
- A server that is frozen is noticed after minutes. Each member hears its own beat, every
  second; after three without one there is no connection.
- `keys(filters=…)` loads all keys and compares parts of words: watches are by whole words.
- A key that expired reads as an entry without value and cannot be created: it is overwritten.
- Buckets in memory are gone when the server was: they are made again, leases and watches too,
  before `on_reconnect`.
- `flush` does not wait for what waits to be written: a message to ourselves does.
- It gives up after sixty attempts: here never.
- Answers come by one subscription of our own with a callback that never waits, in parts when
  they are larger than a message may be.
"""
# pyright: reportUnknownMemberType=false
# nats-py leaves a parameter here and there without a type.

import logging
import os
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.abc
import nats
import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import Header, KeyValueConfig, StorageType
from nats.js.kv import KeyValue

from duetty.clock import Clock, SystemClock
from duetty.errors import EngineUnavailable
from duetty.hub.bus import (
    KEPT,
    LEASED,
    MAX_MESSAGE_BYTES,
    START_S,
    BusTimeout,
    Conflict,
    Held,
    NoResponder,
    OnChange,
    OnMessage,
    Serve,
    ServingFailed,
)

log = logging.getLogger("duetty.hub")

LEASE_S = 3.0
BEAT_S = 1.0
BEATS_MISSED = 3
KEY_VALUE_S = 2.0
"""How long a read or write of state may take."""

CONNECT_S = 5.0
RECONNECT_WAIT_S = 0.25
PENDING_BYTES = 16 * 1024 * 1024
"""Room for answers that are made while there is no connection."""

MAX_SERVED = 1_000
"""Requests that are served at a time; more wait in the subscription, and expire there."""

PART_BYTES = 512 * 1024
"""A server takes messages of up to 1 MiB by default."""

MARKER_S = 60.0
"""How long the engine remembers that a key was deleted, for watches that lag."""

_HEAD = struct.Struct("!BQddII")
"""Version, request id, sender's stamp, seconds the caller waits, part, parts."""
_ANSWER = struct.Struct("!BBII")
"""Version, whether it failed, part, parts."""
_VERSION = 1
_DONE, _FAILED, _NOT_RUN = 0, 1, 2
_WRONG_LAST = (10071, 10164)

MAX_ASSEMBLED = 64
"""Requests of several parts that are being put together; of more, the oldest is given up."""


@dataclass(slots=True)
class _Waiting:
    is_done: anyio.Event = field(default_factory=anyio.Event)
    parts: dict[int, bytes] = field(default_factory=dict[int, bytes])
    failure: Callable[[str], Exception] | None = None


class Ages:
    """How old a message is, by the clock of its sender and without that clock being right."""

    WINDOW_S = 300.0
    MAX_SENDERS = 10_000

    def __init__(self) -> None:
        self._shortest: dict[str, tuple[float, float, float]] = {}

    def age_s(self, sender: str, stamp_s: float, now_s: float) -> float:
        """Since it was sent, beyond what the quickest message of the last minutes took."""
        took_s = now_s - stamp_s
        began_s, before_s, since_s = self._shortest.pop(sender, (now_s, took_s, took_s))
        if now_s - began_s > self.WINDOW_S:  # clocks drift apart: forget the older half
            began_s, before_s, since_s = now_s, since_s, took_s
        since_s = min(since_s, took_s)
        self._shortest[sender] = began_s, before_s, since_s
        if len(self._shortest) > self.MAX_SENDERS:
            del self._shortest[next(iter(self._shortest))]
        return took_s - min(before_s, since_s)


@asynccontextmanager
async def nats_bus(
    url: str,
    name: str,
    *,
    prefix: str = "duetty",
    lease_s: float = LEASE_S,
    beat_s: float = BEAT_S,
    clock: Clock | None = None,
) -> AsyncGenerator["NatsBus"]:
    """A member of the hub at this server, or servers separated by commas.

    Raises:
        EngineUnavailable: if none can be connected to, or it is too old.
    """
    bus = NatsBus(name, prefix, lease_s=lease_s, beat_s=beat_s, clock=clock)
    await bus.connect(url.split(","))
    async with anyio.create_task_group() as tasks:
        bus.run(tasks)
        try:
            yield bus
        finally:
            with anyio.move_on_after(CONNECT_S, shield=True):
                await bus.close()
            tasks.cancel_scope.cancel()


class NatsBus:
    def __init__(
        self,
        name: str,
        prefix: str,
        *,
        lease_s: float,
        beat_s: float,
        clock: Clock | None,
    ) -> None:
        self.name = f"{name}-{os.urandom(4).hex()}"
        self.on_reconnect: list[Callable[[], Awaitable[None]]] = []
        self._prefix = prefix
        self._tasks: anyio.abc.TaskGroup
        self._lease_s = lease_s
        self._beat_s = beat_s
        self._clock = clock or SystemClock()
        self._client = Client()
        self._streams: JetStreamContext = self._client.jetstream(timeout=KEY_VALUE_S)
        self._buckets: dict[str, KeyValue] = {}
        self._is_ready = False
        self._heard_s = self._clock.monotonic_s()
        self._came_back = anyio.Event()
        self._ages = Ages()
        self._requests = 0
        self._waiting: dict[int, _Waiting] = {}
        self._assembled: dict[tuple[str, int], dict[int, bytes]] = {}
        self._served = 0
        self._watches: list[_Watch] = []
        self._leases: list[_Lease] = []

    # --- connection -------------------------------------------------------------

    async def connect(self, servers: list[str]) -> None:
        try:
            with anyio.fail_after(CONNECT_S):
                await self._client.connect(
                    servers,
                    name=self.name,
                    error_cb=self._on_error,
                    disconnected_cb=self._on_disconnected,
                    reconnected_cb=self._on_reconnected,
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=RECONNECT_WAIT_S,  # pyright: ignore[reportArgumentType]
                    connect_timeout=2,
                    ping_interval=5,
                    max_outstanding_pings=2,
                    pending_size=PENDING_BYTES,
                )
        except (OSError, TimeoutError, nats.errors.Error) as error:
            with anyio.move_on_after(1, shield=True):
                await self._client.close()
            raise EngineUnavailable(f"no NATS server answers: {error or 'in time'}") from error
        try:
            await self._make_buckets()
            await self._client.subscribe(f"{self._prefix}.beat", cb=self._on_beat)
            await self._client.subscribe(f"{self._prefix}.answer.{self.name}.*", cb=self._on_answer)
            await self._beat()
            await self._settle()
        except nats.js.errors.ServiceUnavailableError as error:
            await self._client.close()
            raise EngineUnavailable(
                "this NATS server runs without JetStream, which a hub needs",
                hint="start it with `nats-server -js`, or `jetstream {}` in its configuration",
            ) from error
        except (OSError, TimeoutError, nats.errors.Error) as error:
            await self._client.close()
            raise EngineUnavailable(
                f"NATS 2.11 or newer with JetStream is needed: {error}",
                hint="start it with `nats-server -js`",
            ) from error
        self._heard_s = self._clock.monotonic_s()
        self._is_ready = True

    def run(self, tasks: anyio.abc.TaskGroup) -> None:
        self._tasks = tasks
        self._tasks.start_soon(self._keep_beating)
        self._tasks.start_soon(self._keep_restoring)

    async def close(self) -> None:
        for lease in list(self._leases):
            with suppress(EngineUnavailable):
                await lease.close()
        self._is_ready = False
        await self._client.close()

    @property
    def connected(self) -> bool:
        return self._is_ready and self._client.is_connected and not self._is_stalled()

    def _is_stalled(self) -> bool:
        return self._clock.monotonic_s() - self._heard_s > BEATS_MISSED * self._beat_s

    def _check(self) -> None:
        if not self._client.is_connected:
            raise EngineUnavailable("the connection to NATS is down")
        if self._is_stalled():
            raise EngineUnavailable("NATS does not answer")
        if not self._is_ready:
            raise EngineUnavailable("NATS came back just now")

    async def _on_error(self, error: Exception) -> None:
        log.warning("engine_error", extra={"reason": f"{type(error).__name__}: {error}"})

    async def _on_disconnected(self) -> None:
        self._is_ready = False  # it is connected again a moment before we hear of that

    async def _on_reconnected(self) -> None:
        self._is_ready = False
        self._heard_s = self._clock.monotonic_s()
        self._came_back.set()

    async def _beat(self) -> None:
        stamp = struct.pack("!d", self._clock.monotonic_s())
        await self._client.publish(f"{self._prefix}.beat", stamp + self.name.encode())

    async def _keep_beating(self) -> None:
        while True:
            await anyio.sleep(self._beat_s)
            if self._client.is_connected:
                with suppress(nats.errors.Error, OSError):
                    await self._beat()

    async def _on_beat(self, message: Msg) -> None:
        sender, (stamp_s,) = message.data[8:].decode(), struct.unpack("!d", message.data[:8])
        now_s = self._clock.monotonic_s()
        self._ages.age_s(sender, stamp_s, now_s)
        if sender == self.name:
            if self._is_stalled():  # leases may have run out meanwhile
                self._is_ready = False
                self._came_back.set()
            self._heard_s = now_s

    async def _keep_restoring(self) -> None:
        while True:
            await self._came_back.wait()
            self._came_back = anyio.Event()
            try:
                await self._restore()
                log.info("engine_came_back")
            except (EngineUnavailable, nats.errors.Error, OSError, TimeoutError) as error:
                log.warning("engine_not_restored", extra={"reason": str(error)})
                await anyio.sleep(RECONNECT_WAIT_S)
                self._came_back.set()

    async def _restore(self) -> None:
        await self._make_buckets()
        await self._beat()
        for lease in self._leases:
            await lease.renew()
        self._is_ready = True
        for hook in self.on_reconnect:
            await hook()
        for watch in list(self._watches):
            await self._open_watch(watch)

    async def _make_buckets(self) -> None:
        for name, storage in (("soft", StorageType.MEMORY), (KEPT, StorageType.FILE)):
            self._buckets[name] = await self._streams.create_key_value(
                KeyValueConfig(
                    bucket=f"{self._prefix}_{name}", storage=storage, limit_marker_ttl=MARKER_S
                )
            )

    # --- messages ---------------------------------------------------------------

    async def publish(self, subject: str, message: bytes) -> None:
        self._check()
        with _asking():
            await self._client.publish(f"{self._prefix}.m.{subject}", message)

    async def subscribe(self, subject: str, on_message: OnMessage) -> "_NatsSubscription":
        self._check()

        async def on(message: Msg) -> None:
            on_message(message.data)

        with _asking():
            subscribed = await self._client.subscribe(f"{self._prefix}.m.{subject}", cb=on)
            await self._settle()
        return _NatsSubscription(subscribed.unsubscribe)

    async def serve(self, subject: str, serve: Serve) -> "_NatsSubscription":
        self._check()

        async def on(message: Msg) -> None:
            self._take(message, serve)

        with _asking():
            subscribed = await self._client.subscribe(f"{self._prefix}.r.{subject}", cb=on)
            await self._settle()
        return _NatsSubscription(subscribed.unsubscribe)

    async def _settle(self) -> None:
        """Until the server has what was sent: a message to ourselves came back.

        `flush` of nats-py sends its PING ahead of what waits to be written.
        """
        self._requests += 1
        waiting = self._waiting[self._requests] = _Waiting()
        subject = f"{self._prefix}.answer.{self.name}.{self._requests}"
        try:
            await self._client.publish(subject, _ANSWER.pack(_VERSION, _DONE, 0, 1))
            with anyio.fail_after(KEY_VALUE_S):
                await waiting.is_done.wait()
        finally:
            del self._waiting[int(subject.rpartition(".")[2])]

    async def request(self, subject: str, message: bytes, *, within_s: float) -> bytes:
        self._check()
        self._requests += 1
        number, waiting = self._requests, _Waiting()
        self._waiting[number] = waiting
        reply = f"{self._prefix}.answer.{self.name}.{number}"
        try:
            with anyio.move_on_after(within_s):
                with _asking():
                    parts = self._parts(message)
                    for part, each in enumerate(parts):
                        stamp_s = self._clock.monotonic_s()
                        head = _HEAD.pack(_VERSION, number, stamp_s, within_s, part, len(parts))
                        sent = _named(head, self.name) + each
                        await self._client.publish(f"{self._prefix}.r.{subject}", sent, reply)
                await waiting.is_done.wait()
        finally:
            del self._waiting[number]
        if waiting.failure is not None:
            raise waiting.failure(subject)
        if not waiting.is_done.is_set():
            raise BusTimeout(subject)
        return b"".join(waiting.parts[each] for each in sorted(waiting.parts))

    def _parts(self, message: bytes) -> list[bytes]:
        size = min(PART_BYTES, self._client.max_payload - 1024)
        return [message[at : at + size] for at in range(0, len(message) or 1, size)]

    def _take(self, message: Msg, serve: Serve) -> None:
        """One request, or a part of one."""
        version, number, stamp_s, within_s, part, parts = _HEAD.unpack_from(message.data)
        if version != _VERSION:
            log.warning("engine_request_of_other_version", extra={"version": version})
            return
        sender, body = _split_name(message.data[_HEAD.size :])
        age_s = self._ages.age_s(sender, stamp_s, self._clock.monotonic_s())
        remaining_s = within_s - age_s
        if remaining_s <= 0 or age_s > START_S:
            log.warning("engine_request_came_late", extra={"sender": sender})
            return
        if parts > 1:
            gathered = self._assembled.setdefault((sender, number), {})
            gathered[part] = body
            size = sum(len(each) for each in gathered.values())
            if len(gathered) < parts and size <= MAX_MESSAGE_BYTES:
                if len(self._assembled) > MAX_ASSEMBLED:
                    del self._assembled[next(iter(self._assembled))]
                return
            body = b"".join(gathered[each] for each in sorted(gathered))
            del self._assembled[sender, number]
            if size > MAX_MESSAGE_BYTES:
                return
        if self._served >= MAX_SERVED:
            self._tasks.start_soon(self._answer, message.reply, _NOT_RUN, b"")
            return
        self._served += 1
        self._tasks.start_soon(self._serve, message.reply, serve, body, remaining_s)

    async def _serve(self, reply: str, serve: Serve, body: bytes, remaining_s: float) -> None:
        try:
            answer = await serve(body, remaining_s)
        except Exception:
            log.exception("bus_serving_failed")
            await self._answer(reply, _FAILED, b"")
        else:
            await self._answer(reply, _DONE, answer)
        finally:
            self._served -= 1

    async def _answer(self, reply: str, kind: int, answer: bytes) -> None:
        """Kept by the client, and sent when there is a connection again."""
        parts = self._parts(answer)
        try:
            for part, each in enumerate(parts):
                head = _ANSWER.pack(_VERSION, kind, part, len(parts))
                await self._client.publish(reply, head + each)
        except (nats.errors.Error, OSError) as error:
            log.warning("engine_answer_lost", extra={"reason": str(error)})

    async def _on_answer(self, message: Msg) -> None:
        waiting = self._waiting.get(int(message.subject.rpartition(".")[2]))
        if waiting is None:
            return
        if not message.data:  # no responders: a status of the server without a body
            waiting.failure = NoResponder
            waiting.is_done.set()
            return
        _version, kind, part, parts = _ANSWER.unpack_from(message.data)
        if kind != _DONE:
            waiting.failure = NoResponder if kind == _NOT_RUN else ServingFailed
        waiting.parts[part] = message.data[_ANSWER.size :]
        if len(waiting.parts) == parts or kind != _DONE:
            waiting.is_done.set()

    # --- state ------------------------------------------------------------------

    def _bucket(self, key: str) -> KeyValue:
        return self._buckets[KEPT if key.startswith(KEPT + ".") else "soft"]

    async def create(self, key: str, value: bytes) -> int:
        self._check()
        with _asking():
            for _attempt in range(3):
                try:
                    return await self._bucket(key).create(key, value)
                except nats.js.errors.KeyWrongLastSequenceError:
                    entry = await self._entry(key)
                if entry is not None and entry.value:
                    raise Conflict(Held(entry.value, entry.revision or 0))
                if entry is not None:  # the marker of a key that expired
                    with suppress(nats.js.errors.KeyWrongLastSequenceError):
                        return await self._bucket(key).update(key, value, last=entry.revision)
        raise Conflict(await self.get(key))

    async def update(self, key: str, value: bytes, rev: int) -> int:
        self._check()
        with _asking():
            try:
                return await self._bucket(key).update(key, value, last=rev)
            except nats.js.errors.KeyWrongLastSequenceError:
                pass
        raise Conflict(await self.get(key))

    async def put(self, key: str, value: bytes) -> int:
        self._check()
        with _asking():
            return await self._bucket(key).put(key, value)

    async def get(self, key: str) -> Held | None:
        self._check()
        with _asking():
            entry = await self._entry(key)
        if entry is None or not entry.value:
            return None
        return Held(entry.value, entry.revision or 0)

    async def _entry(self, key: str) -> KeyValue.Entry | None:
        try:
            return await self._bucket(key).get(key)
        except nats.js.errors.KeyNotFoundError:
            return None

    async def delete(self, key: str, rev: int | None = None) -> None:
        """As `purge` of nats-py, with a revision, and a marker that does not stay for ever."""
        self._check()
        headers: dict[str, Any] = {"KV-Operation": "PURGE", Header.ROLLUP: "sub"}
        if rev is not None:
            headers[Header.EXPECTED_LAST_SUBJECT_SEQUENCE] = str(rev)
        bucket = KEPT if key.startswith(KEPT + ".") else "soft"
        subject = f"$KV.{self._prefix}_{bucket}.{key}"
        with _asking():
            try:
                await self._streams.publish(subject, headers=headers, msg_ttl=MARKER_S)
                return
            except nats.js.errors.APIError as error:
                if error.err_code not in _WRONG_LAST:
                    raise
        raise Conflict(await self.get(key))

    async def watch(self, prefix: str, on_change: OnChange) -> "_NatsSubscription":
        self._check()
        watch = _Watch(prefix, on_change)
        with _asking():
            await self._open_watch(watch)
        self._watches.append(watch)

        async def close() -> None:
            if watch in self._watches:
                self._watches.remove(watch)
            watch.scope.cancel()

        return _NatsSubscription(close)

    async def _open_watch(self, watch: "_Watch") -> None:
        watch.scope.cancel()
        watch.scope = anyio.CancelScope()
        watcher: Any = await self._bucket(watch.prefix + ".").watch(f"{watch.prefix}.>")
        before, watch.seen = watch.seen, set()
        with anyio.fail_after(KEY_VALUE_S):
            async for entry in watcher:
                if entry is None:
                    break
                watch.tell(entry)
        for key in before - watch.seen:
            watch.on_change(key, None)
        self._tasks.start_soon(self._follow, watch, watcher, watch.scope)

    async def _follow(self, watch: "_Watch", watcher: Any, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                async for entry in watcher:
                    if entry is not None:
                        watch.tell(entry)
        finally:
            with anyio.move_on_after(1, shield=True), suppress(nats.errors.Error, OSError):
                await watcher.stop()

    async def lease(self, key: str, value: bytes) -> "_Lease":
        assert key.startswith(LEASED + ".")
        self._check()

        async def renew() -> None:
            with _asking():
                await self._streams.publish(
                    f"$KV.{self._prefix}_soft.{key}", value, msg_ttl=max(1.0, self._lease_s)
                )

        async def end() -> None:
            self._leases.remove(lease)
            await self.delete(key)

        lease = _Lease(renew, end)
        await renew()
        self._leases.append(lease)
        self._tasks.start_soon(lease.hold, self._lease_s / 3)
        return lease


class _Watch:
    def __init__(self, prefix: str, on_change: OnChange) -> None:
        self.prefix = prefix
        self.on_change = on_change
        self.seen: set[str] = set()
        self.scope = anyio.CancelScope()

    def tell(self, entry: KeyValue.Entry) -> None:
        if entry.value and entry.operation is None:
            self.seen.add(entry.key)
            self.on_change(entry.key, Held(entry.value, entry.revision or 0))
        else:
            self.seen.discard(entry.key)
            self.on_change(entry.key, None)


class _Lease:
    def __init__(
        self, renew: Callable[[], Awaitable[None]], end: Callable[[], Awaitable[None]]
    ) -> None:
        self.renew = renew
        self._end = end
        self._scope = anyio.CancelScope()

    async def hold(self, every_s: float) -> None:
        with self._scope:
            while True:
                await anyio.sleep(every_s)
                with suppress(EngineUnavailable):
                    await self.renew()

    async def close(self) -> None:
        self._scope.cancel()
        await self._end()


class _NatsSubscription:
    def __init__(self, end: Callable[[], Awaitable[None]]) -> None:
        self._end = end

    async def close(self) -> None:
        with suppress(nats.errors.Error, OSError):
            await self._end()


@contextmanager
def _asking() -> Generator[None]:
    try:
        yield
    except (nats.errors.Error, OSError, TimeoutError) as error:
        raise EngineUnavailable(str(error) or type(error).__name__) from error


def _named(head: bytes, name: str) -> bytes:
    encoded = name.encode()[:255]
    return head + bytes([len(encoded)]) + encoded


def _split_name(rest: bytes) -> tuple[str, bytes]:
    end = 1 + rest[0]
    return rest[1:end].decode(errors="replace"), rest[end:]
