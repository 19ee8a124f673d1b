"""Rooms of tool hosts that are connected to another replica: found in the directory, called over the bus."""

import hmac
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from typing import Any, cast

import anyio

from duetty.errors import DuettyError, EngineUnavailable, RoomNotFound, SessionNotFound
from duetty.hub.bus import Bus, joined
from duetty.hub.directory import Claim, Command, Directory, Place
from duetty.hub.rooms import (
    MAX_TEXT_CHARS,
    Announced,
    Ends,
    Progress,
    Room,
    no_answer,
    parse_announcement,
)

DESCRIBE_S = 5.0
TOLD_AHEAD = 64
"""Messages of progress that wait for their caller; more of them are left out."""


class RemoteRoom:
    """What a `Room` is to a caller."""

    def __init__(self, directory: Directory, place: Place) -> None:
        self._directory = directory
        self._place = place
        self.id, self.owner = place.id, place.user

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
        """Raises what `Room.call` does, and what `Directory.call` does."""
        with anyio.CancelScope() as scope:
            leave = None if ends is None else ends(scope.cancel)
            try:
                return await self._call(
                    command_id, {"tool": tool, "args": args}, within_s, progress
                )
            finally:
                if leave is not None:
                    leave()
        raise no_answer()

    async def _call(
        self, command_id: str, body: dict[str, Any], within_s: float, progress: Progress | None
    ) -> Any:
        if progress is None:
            return await self._ask(command_id, body, within_s)
        topic = _topic(self.id, self.owner, command_id)
        async with _hearing(self._directory.bus, topic, progress):
            return await self._ask(command_id, {**body, "hears": True}, within_s)

    async def announced(self) -> Announced:
        """Raises:
        DuettyError: if its replica does not answer.
        """
        revision = self._place.about.get("revision", 0)
        fields = await self._ask(f"describe {self._place.claim} {revision}", {}, DESCRIBE_S)
        return parse_announcement(cast("dict[str, Any]", fields), is_checked=True)

    async def _ask(self, command_id: str, body: Mapping[str, Any], within_s: float) -> Any:
        answer = json.loads(
            await self._directory.call(
                self.id,
                user=self.owner,
                command_id=command_id,
                body=json.dumps(body).encode(),
                within_s=within_s,
            )
        )
        if "error" in answer:
            raise error_of(answer["error"])
        return answer["result"]


def remote_rooms(directory: Directory, user: str | None) -> list[RemoteRoom]:
    return [
        RemoteRoom(directory, place)
        for place in directory.places(user)
        if "room" in place.about and place.replica != directory.replica
    ]


async def find_remote(directory: Directory, room: str, user: str | None) -> RemoteRoom:
    """Raises:
    RoomNotFound: if this user has none of this id.
    EngineUnavailable: if that cannot be known now.
    """
    try:
        place = await directory.find(room, user)
    except SessionNotFound as error:
        raise RoomNotFound(room) from error
    if "room" not in place.about:
        raise RoomNotFound(room)
    return RemoteRoom(directory, place)


async def may_return(directory: Directory, announced: Announced, user: str | None) -> bool:
    """Whether this is the host of a room that another replica holds, or held when it died."""
    try:
        place = await directory.find(announced.room, user)
    except DuettyError:
        return False
    return hmac.compare_digest(str(place.about.get("room", "")), _digest(announced.key))


async def claim_room(directory: Directory, room: Room) -> Claim:
    """Raises what `Directory.claim` does."""
    key = _digest(room.key)
    held = _HeldRoom(room, directory.bus)
    return await directory.claim(room.id, user=room.owner, node=key, about={"room": key}, held=held)


async def announce_again(claim: Claim) -> None:
    """It announced something else: other replicas ask for it anew."""
    about = claim.place.about
    await claim.describe({**about, "revision": int(about.get("revision", 0)) + 1})


@asynccontextmanager
async def _hearing(bus: Bus, topic: str, progress: Progress) -> AsyncGenerator[None]:
    """While inside, what is messages under this topic reaches the caller, in order."""
    messages, waiting = anyio.create_memory_object_stream[bytes](TOLD_AHEAD)

    def hear(message: bytes) -> None:
        with suppress(anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
            messages.send_nowait(message)

    async def pass_on() -> None:
        async for message in waiting:
            await progress(*json.loads(message))

    listening = await bus.subscribe(topic, hear)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pass_on)
            yield
            messages.close()  # what came before the answer is messages before it
    finally:
        messages.close()
        with anyio.move_on_after(DESCRIBE_S, shield=True), suppress(EngineUnavailable):
            await listening.close()
        waiting.close()


def _topic(room: str, user: str | None, command_id: str) -> str:
    whose = sha256(json.dumps([room, user, command_id]).encode()).hexdigest()
    return joined("progress", whose)


class _HeldRoom:
    def __init__(self, room: Room, bus: Bus) -> None:
        self._room = room
        self._bus = bus

    def _progress(self, command: Command) -> Progress:
        topic = _topic(self._room.id, command.user, command.command_id)

        async def tell(done: float, total: float | None, message: str | None) -> None:
            with suppress(EngineUnavailable):
                await self._bus.publish(topic, json.dumps([done, total, message]).encode())

        return tell

    async def call(self, command: Command) -> bytes:
        fields = cast("dict[str, Any]", json.loads(command.body))
        try:
            result = (
                await self._room.call(
                    command.command_id,
                    fields["tool"],
                    fields["args"],
                    within_s=command.within_s,
                    progress=self._progress(command) if fields.get("hears") else None,
                )
                if fields
                else _description(self._room.announced)
            )
            answer: dict[str, Any] = {"result": result}
        except DuettyError as error:
            answer = {
                "error": {
                    "code": error.code,
                    "message": error.message,
                    "hint": error.hint,
                    "details": dict(error.details),
                }
            }
        return json.dumps(answer).encode()

    def replaced(self) -> None:
        self._room.scope.cancel()


def _description(announced: Announced) -> dict[str, Any]:
    return {
        "type": "announce",
        "tools": [
            {"name": each.name, "description": each.description, "inputSchema": each.schema}
            for each in announced.tools.values()
        ],
        "title": announced.title,
        "documentName": announced.document_name,
        "fileKey": announced.file_key,
    }


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def _classes(kind: type[DuettyError]) -> dict[str, type[DuettyError]]:
    found = {kind.code: kind}
    for each in kind.__subclasses__():
        found |= _classes(each)
    return found


def error_of(fields: Mapping[str, Any]) -> DuettyError:
    """The error that another replica or a bridge met, as if it had been met here."""
    kind = _classes(DuettyError).get(str(fields.get("code")), DuettyError)
    error = kind.__new__(kind)
    hint, details = fields.get("hint"), fields.get("details")
    DuettyError.__init__(
        error,
        str(fields.get("message"))[:MAX_TEXT_CHARS],
        hint=hint if isinstance(hint, str) else None,
        details=cast("Mapping[str, Any]", details) if isinstance(details, dict) else {},
    )
    return error
