"""Users, tokens and shares of a hub, the same at every replica.

Each record is one key below `kept.`, and every replica watches them all. A change counts here at
once and elsewhere when the engine has it; without an engine it waits until that is back. Of two
changes of one record the later counts, unless its kind can make one of both (`merged`). What was
removed stays as a mark for a while: a replica that was away, or an engine that lost its disk, does
not bring it back.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import anyio
import anyio.abc

from duetty.clock import Clock
from duetty.errors import EngineUnavailable
from duetty.hub.bus import Bus, Conflict, Held, Subscription, joined

log = logging.getLogger("duetty.hub")

WRITTEN_S = 1.0
"""How long the caller of a change waits for the engine to store it."""

MARK_NS = 30 * 24 * 3600 * 10**9
"""How long it is remembered that a record was removed."""

ATTEMPTS = 5

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of record, and how a replica has its own."""

    name: str
    own: Callable[[], Iterable[tuple[str, Fields]]]
    """Ids and fields of those that are here before the engine is asked."""

    take: Callable[[str, Fields | None], None]
    """Have what another replica changed; None: it was removed."""

    merged: Callable[[Fields, Fields], Fields] = lambda _earlier, later: later


@dataclass(frozen=True, slots=True)
class _Version:
    at_ns: int
    fields: Fields | None


class SharedRecords:
    def __init__(self, bus: Bus, clock: Clock, tasks: anyio.abc.TaskGroup) -> None:
        self._bus = bus
        self._clock = clock
        self._tasks = tasks
        self._kinds: dict[str, Kind] = {}
        self._known: dict[tuple[str, str], _Version] = {}
        self._unwritten: dict[tuple[str, str], None] = {}
        self._more = anyio.Event()
        self._written = anyio.Event()
        self._open: list[Subscription] = []

    async def start(self, kinds: Iterable[Kind]) -> None:
        """Take what the engine has, then give it what is here only.

        Raises:
            EngineUnavailable: if it cannot be asked.
        """
        for kind in kinds:
            self._kinds[kind.name] = kind
            self._open.append(await self._bus.watch(joined("kept", kind.name), self._hear))
            for id_, fields in list(kind.own()):
                if (kind.name, id_) not in self._known:
                    self.changed(kind.name, id_, fields)
        for (name, id_), version in list(self._known.items()):
            if version.fields is None and version.at_ns + MARK_NS < self._clock.wall_ns():
                await self._bus.delete(joined("kept", name, id_))
                del self._known[name, id_]
        self._bus.on_reconnect.append(self._write_again)
        self._tasks.start_soon(self._write)

    async def close(self) -> None:
        with suppress(ValueError):
            self._bus.on_reconnect.remove(self._write_again)
        for each in self._open:
            with suppress(EngineUnavailable):
                await each.close()

    def changed(self, kind: str, id_: str, fields: Fields | None) -> None:
        """It counts here already; publish it to the other replicas."""
        known = self._known.get((kind, id_))
        at_ns = max(self._clock.wall_ns(), 0 if known is None else known.at_ns + 1)
        self._known[kind, id_] = _Version(at_ns, fields)
        self._queue(kind, id_)

    async def written(self) -> None:
        """Until the engine has what was changed so far; not for long if it is away."""
        with anyio.move_on_after(WRITTEN_S):
            while self._unwritten and self._bus.connected:
                await self._written.wait()

    # --- to the engine ------------------------------------------------------------

    def _queue(self, kind: str, id_: str) -> None:
        self._unwritten[kind, id_] = None
        self._more.set()

    async def _write_again(self) -> None:
        """The engine came back, perhaps without its disk."""
        for kind, id_ in list(self._known):
            self._queue(kind, id_)

    async def _write(self) -> None:
        while True:
            self._more = anyio.Event()
            for key in list(self._unwritten):
                version = self._known.get(key)
                try:
                    if version is not None:
                        await self._write_one(key, version)
                except EngineUnavailable:
                    break  # `_write_again` queues it anew
                if self._known.get(key) is version:
                    self._unwritten.pop(key, None)
            if not self._unwritten:
                self._written.set()
                self._written = anyio.Event()
            await self._more.wait()

    async def _write_one(self, key: tuple[str, str], version: _Version) -> None:
        name = joined("kept", *key)
        held: Held | None = None
        for _attempt in range(ATTEMPTS):
            value = _text(key[1], version)
            try:
                if held is None:
                    await self._bus.create(name, value)
                else:
                    await self._bus.update(name, value, held.rev)
                return
            except Conflict as conflict:
                held = conflict.held
                theirs = None if held is None else _parsed(held.value)
                if theirs is None:
                    continue
                both = self._both(key[0], theirs[1], version)
                if both == theirs[1]:
                    return
                version = both
        log.warning("record_not_shared", extra={"kind": key[0], "id": key[1]})

    def _both(self, kind: str, theirs: _Version, ours: _Version) -> _Version:
        first, last = sorted((theirs, ours), key=lambda each: each.at_ns)
        if first.fields is None or last.fields is None:
            return last
        return _Version(last.at_ns, self._kinds[kind].merged(first.fields, last.fields))

    # --- from the engine ----------------------------------------------------------

    def _hear(self, key: str, held: Held | None) -> None:
        parsed = None if held is None else _parsed(held.value)
        if parsed is None:
            return  # an engine that lost its disk gets the record again, and removes nothing
        kind, (id_, theirs) = key.split(".")[1], parsed
        ours = self._known.get((kind, id_))
        both = theirs if ours is None else self._both(kind, theirs, ours)
        if both == ours:
            return
        self._known[kind, id_] = both
        try:
            self._kinds[kind].take(id_, both.fields)
        except (KeyError, TypeError, ValueError) as error:  # of another version of this program
            log.warning("record_unreadable", extra={"kind": kind, "reason": str(error)})


def _text(id_: str, version: _Version) -> bytes:
    return json.dumps({"id": id_, "at_ns": version.at_ns, "fields": version.fields}).encode()


def _parsed(value: bytes) -> tuple[str, _Version] | None:
    try:
        fields = cast("dict[str, Any]", json.loads(value))
        return str(fields["id"]), _Version(int(fields["at_ns"]), fields["fields"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
