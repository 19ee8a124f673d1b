"""Unix-socket connections: only the server's own user, and root, may speak."""

import asyncio  # noqa: TID251 - the transport's type
import os
import socket
import struct

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_PEER = struct.Struct("3i")


def peer_uid(connection: socket.socket) -> int:
    """Who is on the other end of a unix socket, as the kernel says."""
    _, uid, _ = _PEER.unpack(
        connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    )
    return uid


def is_own_user(connection: socket.socket) -> bool:
    return peer_uid(connection) in (os.getuid(), 0)


class PeerCheckedProtocol(HttpToolsProtocol):
    """Closes a unix-socket connection from another user before it can say anything."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        connection: socket.socket | None = transport.get_extra_info("socket")
        if (
            connection is not None
            and connection.family == socket.AF_UNIX
            and not is_own_user(connection)
        ):
            transport.abort()
            return
        super().connection_made(transport)
