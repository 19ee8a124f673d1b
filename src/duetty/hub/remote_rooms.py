"""Rooms of tool hosts that are connected to another replica: found in the directory, called over the bus."""

import hmac
import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, cast

from duetty.errors import DuettyError, RoomNotFound, SessionNotFound
from duetty.hub.directory import Claim, Command, Directory, Place
from duetty.hub.rooms import Announced, Progress, Room, parse_announcement

DESCRIBE_S = 5.0


class RemoteRoom:
    """What a `Room` is to a caller. Progress does not come over the bus."""

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
    ) -> Any:
        """Raises what `Room.call` does, and what `Directory.call` does."""
        body = {"tool": tool, "args": args}
        return await self._ask(command_id, body, within_s)

    async def announced(self) -> Announced:
        """Raises:
        DuettyError: if its replica does not answer.
        """
        fields = await self._ask(f"describe {self._place.claim}", {}, DESCRIBE_S)
        return parse_announcement(cast("dict[str, Any]", fields))

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
            raise _error_of(answer["error"])
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
    return await directory.claim(
        room.id, user=room.owner, node=key, about={"room": key}, held=_HeldRoom(room)
    )


class _HeldRoom:
    def __init__(self, room: Room) -> None:
        self._room = room

    async def call(self, command: Command) -> bytes:
        fields = cast("dict[str, Any]", json.loads(command.body))
        try:
            result = (
                await self._room.call(
                    command.command_id, fields["tool"], fields["args"], within_s=command.within_s
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


def _error_of(fields: Mapping[str, Any]) -> DuettyError:
    """The error that the other replica met, as if it had been met here."""
    kind = _classes(DuettyError).get(fields["code"], DuettyError)
    error = kind.__new__(kind)
    DuettyError.__init__(error, fields["message"], hint=fields["hint"], details=fields["details"])
    return error
