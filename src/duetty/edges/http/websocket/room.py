"""`/ws/room`: a program that announces tools, and is called. docs/rooms.md is the protocol."""

import anyio
from starlette.websockets import WebSocket

from duetty.edges.http.websocket.socket import Closing, Doors, Socket, encoded, parsed, refuse
from duetty.errors import BadArguments, Conflict, DuettyError, Exhausted, Unavailable
from duetty.ops import Room

ANNOUNCE_S = 10.0
REPLACED = Closing(4409, "another connection of this room took its place")
LATE = Closing(4408, "no announcement came")


async def room_endpoint(doors: Doors, websocket: WebSocket) -> None:
    try:
        actor = doors.admit(websocket)
        doors.dispatcher.may_join(actor)
    except DuettyError as error:
        await refuse(websocket, error)
        return
    await doors.serve(websocket, actor, lambda socket: _serve(doors, socket))


async def _serve(doors: Doors, socket: Socket) -> None:
    first: str | bytes | None = None
    with anyio.move_on_after(ANNOUNCE_S) as bound:
        first = await socket.receive()
    if bound.cancelled_caught:
        return socket.end(LATE)
    if first is None:
        return None
    try:
        room = await doors.dispatcher.join_room(
            socket.actor, parsed(first), len(first), send=socket.send
        )
    except (BadArguments, Exhausted, Unavailable, Conflict) as error:
        refusal = {"type": "refused", "error": {"code": error.code, "message": error.message}}
        await socket.send(encoded(refusal))
        is_key = error.message.startswith("key:")
        return socket.end(Closing(4403 if is_key else 4400, error.message[:100]))
    try:
        welcome = {
            "type": "welcome",
            "protocol": 1,
            "sessionId": room.id,
            "key": room.key,
            "epoch": room.epoch,
        }
        await socket.send(encoded(welcome))
        with room.scope:
            await _converse(doors, socket, room)
    finally:
        await doors.dispatcher.leave_room(room)
    if room.scope.cancelled_caught:
        socket.end(REPLACED)
    return None


async def _converse(doors: Doors, socket: Socket, room: Room) -> None:
    while (message := await socket.receive()) is not None:
        try:
            await doors.dispatcher.hear_room(room, parsed(message), len(message))
        except BadArguments as error:
            refusal = {"type": "refused", "error": {"code": error.code, "message": error.message}}
            await socket.send(encoded(refusal))
