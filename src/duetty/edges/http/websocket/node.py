"""`/ws/node`: a machine that dialled this hub, and serves its requests over this WebSocket."""

from starlette.websockets import WebSocket

from duetty.edges.http.websocket.socket import Closing, Doors, Socket, refuse
from duetty.errors import DuettyError
from duetty.ops import LinkClosed


async def node_endpoint(doors: Doors, websocket: WebSocket) -> None:
    try:
        actor = doors.admit(websocket)
        doors.dispatcher.may_join(actor)
    except DuettyError as error:
        await refuse(websocket, error)
        return

    async def serve(socket: Socket) -> None:
        try:
            await doors.dispatcher.serve_node(socket.actor, _NodeChannel(socket))
        except LinkClosed as closed:
            socket.end(Closing(closed.code, closed.reason))

    await doors.serve(websocket, actor, serve)


class _NodeChannel:
    """Its streams have windows; what is in none of them takes time, of which it has a share."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self.send = socket.send

    async def receive(self) -> str | bytes | None:
        return await self._socket.receive_streams()
