"""A peer that has begun to close: what is printed meanwhile is not for it, and hurts nobody."""

import anyio
import pytest
from websockets.exceptions import InvalidState
from websockets.protocol import State
from websockets.server import ServerProtocol

from duetty.edges.http.websocket.protocol import QuietWebSocket

pytestmark = pytest.mark.anyio


async def test_output_is_not_sent_at_once_to_a_peer_that_closes() -> None:
    """Between its close frame and the end of the connection nothing but the protocol's state tells."""
    socket = object.__new__(QuietWebSocket)
    socket.close_sent = socket.disconnected = False
    socket.writable = anyio.Event()  # pyright: ignore[reportAttributeAccessIssue] - only asked whether it is set
    socket.writable.set()
    socket.conn = ServerProtocol()
    socket.conn.state = State.CLOSING

    sent = socket._send_now(b"output")  # pyright: ignore[reportPrivateUsage] - the server calls it through the scope

    assert not sent
    with pytest.raises(InvalidState):
        socket.conn.send_binary(b"output")
