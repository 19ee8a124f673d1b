"""Rooms of tool hosts: what each announced, and calls to it. docs/rooms.md is the protocol.

Knows no sockets: a host's messages come in through `take`, messages to it go out through `send`.
"""

import asyncio  # noqa: TID251 - its timers
import hmac
import json
import logging
import re
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha256
from time import monotonic
from typing import Any, NoReturn, cast

import anyio
import anyio.to_thread

from duetty.errors import (
    BadArguments,
    CommandIdReused,
    Deadline,
    Exhausted,
    RoomBusy,
    RoomLeft,
    RoomNotFound,
    RoomToolNotFound,
    ToolFailed,
)
from duetty.tool_schemas import Problem, checker_of
from duetty.wire.json_values import has_few_values

log = logging.getLogger("duetty.rooms")

PROTOCOL = 1
MAX_TOOLS = 200
MAX_SCHEMA_BYTES = 64 * 1024
SMALL_CHARS = 2_000
"""An announcement of this size takes ten milliseconds, nearly all of it for the schemas."""

MAX_ANNOUNCED_VALUES = 10_000
"""Two hundred tools with two dozen arguments each: a second of a worker."""

MAX_NAME_CHARS = 128
PLAIN_CHARS = 58
"""So that it fits into the 64 of most MCP clients, with what stands before it."""

MAX_TEXT_CHARS = 2_000
CALLS_EACH = 64
KEPT_ANSWERS, KEPT_BYTES = 1_000, 64 * 1024
ROOMS_EACH = 1_000
"""Of one user."""

Send = Callable[[str], Awaitable[None]]
Progress = Callable[[float, float | None, str | None], Awaitable[None]]
Ends = Callable[[Callable[[], object]], Callable[[], None]]
"""Gets what to call when a wait is to end; gives how to leave."""


def plain_tool_name(name: str) -> str:
    """As an MCP client takes it: a tool can be called by this, too."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:PLAIN_CHARS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    description: str
    schema: Mapping[str, Any]
    problem: Problem
    """What is wrong with arguments; made once, since it is asked for each call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """What a host says of itself; cleaned, since people and models read it."""

    tools: Mapping[str, Tool]
    title: str = ""
    document_name: str = ""
    file_key: str = ""
    room: str = ""
    key: str = ""


async def parse_aside(fields: Mapping[str, Any], size: int) -> Announced:
    """The same of a message of so many characters, by a worker if that takes long.

    Raises:
        BadArguments: if it is none.
    """
    if size <= SMALL_CHARS:
        return parse_announcement(fields)
    if not has_few_values(json.dumps(fields), MAX_ANNOUNCED_VALUES):
        raise BadArguments(f"an announcement has at most {MAX_ANNOUNCED_VALUES} values")
    return await anyio.to_thread.run_sync(parse_announcement, fields, limiter=_workers())


@cache
def _workers() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(1)


def parse_announcement(fields: Mapping[str, Any], *, is_checked: bool = False) -> Announced:
    """`is_checked`: another replica has seen to its schemas.

    Raises:
        BadArguments: if it is none.
    """
    if fields.get("type") != "announce":
        raise BadArguments("the first message must be of the type announce")
    if fields.get("protocol", PROTOCOL) != PROTOCOL:
        raise BadArguments(f"protocol: this hub speaks version {PROTOCOL}")
    listed = fields.get("tools", [])
    if not isinstance(listed, list) or len(cast("list[object]", listed)) > MAX_TOOLS:
        raise BadArguments(f"tools: a list of at most {MAX_TOOLS}")
    tools = [_tool(each, is_checked=is_checked) for each in cast("list[object]", listed)]
    by_name = {tool.name: tool for tool in tools}
    if len(by_name) < len(tools):
        raise BadArguments("tools: two have one name")
    return Announced(
        tools=by_name,
        title=_text(fields.get("title")),
        document_name=_text(fields.get("documentName")),
        file_key=_text(fields.get("fileKey")),
        room=_text(fields.get("sessionId")),
        key=_text(fields.get("key")),
    )


def _tool(value: object, *, is_checked: bool) -> Tool:
    given = cast("dict[str, Any]", value if isinstance(value, dict) else {})
    name, schema = given.get("name"), given.get("inputSchema", {"type": "object"})
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARS or not name.isprintable():
        raise BadArguments("tools: each has a name")
    if not isinstance(schema, dict) or len(json.dumps(schema)) > MAX_SCHEMA_BYTES:
        raise BadArguments(f"tools: the schema of {name!r} is no object, or too large")
    plain = cast("dict[str, Any]", schema)
    if not is_checked:
        _check_schema(name, plain)
    return Tool(
        name=name,
        description=_text(given.get("description")),
        schema=plain,
        problem=checker_of(plain),
    )


def _check_schema(name: str, schema: Mapping[str, Any]) -> None:
    from jsonschema import Draft202012Validator  # loaded with the first tool host
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError) as error:
        raise BadArguments(f"tools: the schema of {name!r} is none: {error}"[:500]) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return "".join(char if char.isprintable() else " " for char in value[:MAX_TEXT_CHARS]).strip()


@dataclass(eq=False, slots=True)
class _Call:
    digest: bytes
    answer: Mapping[str, Any] | None = None
    progress: Progress | None = None
    waiting: set[Callable[[], None]] = field(default_factory=set[Callable[[], None]])
    is_done: bool = False

    def end(self) -> None:
        self.is_done = True
        for wake in self.waiting:
            wake()


class Room:
    """One tool host, as long as its connection lasts."""

    def __init__(
        self, room: str, key: str, owner: str | None, announced: Announced, send: Send, epoch: int
    ) -> None:
        self.id = room
        self.key = key
        self.owner = owner
        self.announced = announced
        self.epoch = epoch
        self.scope = anyio.CancelScope()
        self._send = send
        self._calls: dict[str, _Call] = {}
        self._kept: OrderedDict[str, _Call] = OrderedDict()
        self._left: str | None = None
        self.active_s = monotonic()
        """When it was last called, or sent a message."""

    # --- a caller's side ----------------------------------------------------------

    async def call(
        self,
        command_id: str,
        tool: str,
        args: Mapping[str, Any],
        *,
        within_s: float,
        progress: Progress | None = None,
        ends: Ends | None = None,
    ) -> Any:
        """The host's result. The same `command_id` again is the same call.

        `ends` may end the wait earlier than `within_s`.

        Raises:
            ToolNotFound, BadArguments, RoomBusy, CommandIdReused: nothing was sent.
            RoomLeft, Deadline: it may have been done.
            ToolFailed: with the host's message.
        """
        tool = self._checked(tool, args)
        self.active_s = monotonic()
        body = json.dumps({"tool": tool, "args": args})
        digest = sha256(body.encode()).digest()
        call = self._calls.get(command_id) or self._kept.get(command_id)
        if call is not None and call.digest != digest:
            raise CommandIdReused
        if call is None:
            if len(self._calls) >= CALLS_EACH:
                await self._make_room()
            call = self._calls[command_id] = _Call(digest, progress=progress)
            left_ms = int(within_s * 1000)
            head = f'{{"type": "call", "commandId": {json.dumps(command_id)}, "leftMs": {left_ms}, '
            await self._send(head + body[1:])
        if not call.is_done:
            await self._wait(call, command_id, within_s, ends)
        return self._answer(call)

    async def _wait(self, call: _Call, command_id: str, within_s: float, ends: Ends | None) -> None:
        """A timer and a future: the scopes that would do for both are felt at thousands of calls a second."""
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[bool] = loop.create_future()

        def wake(*, is_late: bool = False) -> None:
            if not woken.done():
                woken.set_result(is_late)

        call.waiting.add(wake)
        timer = loop.call_later(within_s, partial(wake, is_late=True))
        leave = None if ends is None else ends(wake)
        is_late = False
        try:
            is_late = await woken  # then its result may still be asked for
        finally:
            timer.cancel()
            if leave is not None:
                leave()
            call.waiting.discard(wake)
            if not call.is_done and not call.waiting and not is_late:
                await self._cancel(command_id)

    async def _make_room(self) -> None:
        """A call without a caller that waits goes, the oldest first.

        Raises:
            RoomBusy: if there is none.
        """
        left = next((id_ for id_, call in self._calls.items() if not call.waiting), None)
        if left is None:
            raise RoomBusy(CALLS_EACH)
        await self._cancel(left)

    def _checked(self, tool: str, args: Mapping[str, Any]) -> str:
        """The tool's name, as it was announced."""
        if self._left is not None:
            raise RoomNotFound(self.id)
        tools = self.announced.tools
        named = (each for each in tools.values() if plain_tool_name(each.name) == tool)
        known = tools.get(tool) or next(named, None)
        if known is None:
            raise RoomToolNotFound(tool[:100], sorted(tools))
        problem = known.problem(args)
        if problem is not None:
            raise BadArguments(
                f"args do not fit the schema of {tool!r}: {problem}", details={"executed": False}
            )
        return known.name

    async def _cancel(self, command_id: str) -> None:
        self._calls.pop(command_id, None)
        with anyio.move_on_after(1, shield=True):
            await self._send(json.dumps({"type": "cancel", "commandId": command_id}))

    def _answer(self, call: _Call) -> Any:
        answer = call.answer
        if answer is None and self._left is not None:
            raise RoomLeft
        if answer is None:
            raise no_answer()
        if answer.get("type") == "error":
            _fail(answer.get("error"))
        return answer.get("result")

    # --- the host's side ----------------------------------------------------------

    async def take(self, fields: Mapping[str, Any], size: int) -> bool:
        """Whether this message, of so many characters, announced something else than before.

        Raises:
            BadArguments: if it is none of a host.
        """
        self.active_s = monotonic()
        match fields:
            case {"type": "announce"}:
                self.announced = await parse_aside(fields, size)
                return True
            case {"type": "result" | "error", "commandId": str(command_id)}:
                call = self._calls.pop(command_id, None)
                if call is not None:
                    call.answer = fields
                    call.end()
                    if size <= KEPT_BYTES:
                        self._keep(command_id, call)
            case {"type": "progress", "commandId": str(command_id), "progress": progress}:
                call = self._calls.get(command_id)
                if call is None or call.progress is None or not isinstance(progress, int | float):
                    return False
                total, message = fields.get("total"), _text(fields.get("message")) or None
                await call.progress(
                    float(progress),
                    float(total) if isinstance(total, int | float) else None,
                    message,
                )
            case {"type": str()}:
                pass  # of a newer version
            case _:
                raise BadArguments("a message of a host has a type")
        return False

    def _keep(self, command_id: str, call: _Call) -> None:
        call.progress = None
        self._kept[command_id] = call
        if len(self._kept) > KEPT_ANSWERS:
            self._kept.popitem(last=False)

    def leave(self) -> None:
        """The host is gone: fail every waiting call now."""
        self._left = "gone"
        for call in self._calls.values():
            call.end()
        self._calls.clear()

    def inherit(self, earlier: "Room") -> None:
        self._kept = earlier._kept


def no_answer() -> Deadline:
    return Deadline(
        "the tool host did not answer in time",
        hint="the same commandId asks for its result again",
        details={"executed": "unknown"},
    )


def _fail(error: object) -> NoReturn:
    fields = cast("dict[str, Any]", error if isinstance(error, dict) else {})
    raise ToolFailed(
        _text(fields.get("message")) or "the tool host gave no reason", _text(fields.get("code"))
    )


class Rooms:
    """All rooms of tool hosts here."""

    def __init__(self) -> None:
        self._rooms: dict[str, Room] = {}
        self._epoch = 0
        self.changes = 0
        self._changed = anyio.Event()

    def has(self, room: str) -> bool:
        return room in self._rooms

    def join(
        self, announced: Announced, owner: str | None, send: Send, *, returns: bool = False
    ) -> Room:
        """`returns`: its key was found to be that of a room which another replica held.

        Raises:
        BadArguments: if it names a room and does not have its key.
        Exhausted: if the user has too many.
        """
        earlier = self._rooms.get(announced.room) if announced.room else None
        self._epoch += 1
        if earlier is not None:
            if earlier.owner != owner or not hmac.compare_digest(
                earlier.key.encode(), announced.key.encode()
            ):
                raise BadArguments("key: not the key of that room")
            room = Room(earlier.id, earlier.key, owner, announced, send, self._epoch)
            room.inherit(earlier)
            self.leave(earlier)
            earlier.scope.cancel()
        else:
            if len(self.of(owner)) >= ROOMS_EACH:
                raise Exhausted(f"this user has {ROOMS_EACH} rooms", hint="leave one")
            # One that comes back after the hub restarted has a key that this hub cannot check.
            room = Room(
                announced.room if returns else secrets.token_hex(16),
                announced.key if returns else secrets.token_urlsafe(32),
                owner,
                announced,
                send,
                self._epoch,
            )
        self._rooms[room.id] = room
        self.touch()
        log.info("room_joined", extra={"room": room.id, "tools": len(announced.tools)})
        return room

    def leave(self, room: Room) -> None:
        room.leave()
        if self._rooms.get(room.id) is room:
            del self._rooms[room.id]
            self.touch()
            log.info("room_left", extra={"room": room.id})

    def of(self, owner: str | None) -> list[Room]:
        return [room for room in self._rooms.values() if room.owner == owner]

    def find(self, room: str, owner: str | None) -> Room:
        """Raises:
        RoomNotFound: if this user has none of this id.
        """
        found = self._rooms.get(room)
        if found is None or found.owner != owner:
            raise RoomNotFound(room)
        return found

    def __len__(self) -> int:
        return len(self._rooms)

    def touch(self) -> None:
        """What there is has changed, here or at another replica."""
        self.changes += 1
        self._changed.set()
        self._changed = anyio.Event()

    async def changed(self) -> None:
        await self._changed.wait()
