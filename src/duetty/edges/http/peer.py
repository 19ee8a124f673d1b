"""Connections: who is at the other end of a unix socket, and how long a request may take to come."""

import asyncio  # noqa: TID251 - the transport's type
import os
import re
import socket
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from itertools import count
from typing import Any, Protocol, cast

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from duetty.calls import Actor
from duetty.config import STARTED_BY
from duetty.descriptors import for_own_files, for_people, for_sessions, is_free, strangers
from duetty.edges.http.errors import error_body
from duetty.edges.http.headers import ENCODED
from duetty.edges.http.stopping import End
from duetty.ops import Shares
from duetty.platform.peers import ancestors_of, credentials_of, has_variable, is_beside_us

MAX_HEAD_BYTES = 64 * 1024
"""Request line and headers; the parser itself would take any number."""

HEAD_S = 5.0
"""How long a request's head may take, from its first byte or the connection's start; as published."""

MESSAGE_S = 60.0
"""How long a whole request may take to arrive. An answer may take longer."""

LINGER_S = 1.0
"""How long a refused connection may go on sending, so that it gets the reason. What it sends is dropped."""

READ_FIRST_S = 0.05
"""A loop that was held up sees its timers before its sockets: what came meanwhile is read first."""

PIECE_BYTES = 4 * 1024
"""Parsed at once. What comes behind a request that waits for its turn is kept as the bytes it is:
as requests it would take a hundred times their room."""

STRANGERS = "duetty.strangers"
"""In the state that connections share: those that have shown no credential yet, oldest first, and their sources."""

CONNECTION = "duetty.connection"
"""In the state of a connection: its number."""

ADMITTED = "duetty.admitted"
"""In the state of a request: what to call, with whose it is, when its credential is good."""

LEFT = "duetty.left"
"""In the state of a connection: what to call when it is gone."""

GONE = "duetty.gone"
"""In the state of a connection: its own end, for who waits on its behalf."""

HELD = "duetty.held"
"""In the state that connections share: whose they are."""

_numbers = count(1)

_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")


def peer_uid(connection: socket.socket) -> int:
    """Who is on the other end of a unix socket, as the kernel says."""
    return credentials_of(connection)[1]


@dataclass(slots=True)
class Peer:
    """The process at the other end of a unix socket."""

    pid: int
    descends: bool | None = None
    """Whether one of our own processes started it, or must be thought to; None until it is needed."""

    def descends_from(self, pids: Collection[int], own_socket: str = "") -> bool:
        """Whether it runs in a session, or was started by the server: no person's own terminal.

        A process that goes to lengths can hide that. What holds is a sandbox, where there is no
        way to this socket; one that found a way all the same is known by its own PID namespace.
        """
        if self.descends is None:
            # What a server before us started and left behind has no parents of ours: it may have its variables.
            self.descends = any(each in pids for each in ancestors_of(self.pid)) or (
                bool(own_socket) and has_variable(self.pid, STARTED_BY, own_socket)
            )
        return self.descends


def peer_of(connection: socket.socket) -> Peer:
    pid, _ = credentials_of(connection)
    # At once: later, its number may be another's.
    return Peer(pid, descends=None if is_beside_us(pid) else True)


def is_own_user(connection: socket.socket) -> bool:
    return peer_uid(connection) in (os.getuid(), 0)


class Stranger(Protocol):
    """A connection that has shown no credential yet."""

    def go(self) -> None: ...


def make_room(held: dict[Stranger, str], source: str, most: int) -> None:
    """The oldest go for the newest: one that means it is through in milliseconds.

    A source that holds half of them makes room by its own.
    """
    mine = [each for each, of in held.items() if of == source] if source else []
    leaving = mine[: max(0, len(mine) - most // 2 + 1)]
    staying = [each for each in held if each not in leaving]
    leaving += staying[: max(0, len(staying) - most + 1)]
    for each in leaving:
        del held[each]
        each.go()


@lru_cache(maxsize=1_024)
def source_of(address: str) -> str:
    """The other machine that an address is; empty for this one. IPv6 gives each a network of its own."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is None:
            return "" if found.is_loopback else str(ip_network((int(found), 64), strict=False))
        found = found.ipv4_mapped
    return "" if found.is_loopback else str(found)


_KEPT = (
    "transport", "parser", "pipeline", "_running", "_refused", "_upgraded", "_unread", "_in_message",
    "_head_bytes", "_strangers", "_shares", "_owner", "_give_back",
)  # fmt: skip
"""By a connection that has become a WebSocket: what its end and its credential's share need."""


class _Flow(FlowControl):
    """Each request that looks for its body, or for its client's leaving, has the connection read on: one of many
    small requests in a row would fetch more than it takes, and the rest would grow for ever.
    """

    is_behind = False
    """What was read already is not parsed yet."""

    def resume_reading(self) -> None:
        if not self.is_behind:
            super().resume_reading()


class PeerCheckedProtocol(HttpToolsProtocol):
    """Closes a unix-socket connection from another user before it can say anything, and any
    connection that says too much or too little before its request is whole.
    """

    _flow: _Flow

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_bytes = 0
        self._head_begun = False
        self._in_message = False
        self._refused = False
        self._upgraded = False
        self._unread = bytearray()
        self._running: RequestResponseCycle | None = None
        self._strangers: dict[Stranger, str] | None = None
        self._shares: Shares | None = None
        self._owner: str | None = None
        self._give_back: Callable[[], None] | None = None
        self._bound: asyncio.TimerHandle | None = None
        self._gone = End()

    def connection_made(self, transport: asyncio.Transport) -> None:
        connection: socket.socket = transport.get_extra_info("socket")
        if connection.family == socket.AF_UNIX:
            if not is_own_user(connection) or not is_free(
                connection.fileno(), keeping=for_own_files()
            ):
                transport.abort()
                return
            self.app_state = {**self.app_state, "peer": peer_of(connection)}
        else:
            if not is_free(connection.fileno(), keeping=for_people() + for_sessions()):
                transport.abort()
                return
            held = cast("dict[Stranger, str]", self.app_state[STRANGERS])
            source = source_of(str(transport.get_extra_info("peername")[0]))
            make_room(held, source, strangers())
            held[self] = source
            self._strangers = held
            self._shares = cast("Shares", self.app_state[HELD])
            self.app_state = {**self.app_state, ADMITTED: self._admitted, LEFT: self._on_closed}
        self.app_state = {**self.app_state, CONNECTION: next(_numbers), GONE: self._gone}
        super().connection_made(transport)
        self.flow = self._flow = _Flow(transport)
        self._bind(HEAD_S)

    def _admitted(self, actor: Actor) -> None:
        """A credential was shown here, and was good.

        Raises:
            Exhausted: if it holds its share of connections already.
        """
        if self._shares is not None and self._owner != actor.identity:
            give_back = self._shares.take(actor)
            self._on_closed()
            self._owner, self._give_back = actor.identity, give_back

    def _on_closed(self) -> None:
        if self._strangers is not None:
            self._strangers.pop(self, None)
        if self._give_back is not None:
            self._give_back()
        self._owner = self._give_back = None

    def go(self) -> None:
        self._part()
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        self._unread += data
        self._read()

    def _read(self) -> None:
        """As far as requests have their turn; the rest waits here, and more of it in the network."""
        while self._unread and not self.pipeline:
            if (
                self.parser is None or self._refused or self._upgraded
            ):  # uvicorn drops it at the end
                self._unread.clear()
                break
            piece = bytes(self._unread[:PIECE_BYTES])
            del self._unread[:PIECE_BYTES]
            self._parse(piece)
        if self._upgraded:
            return
        was_behind, self._flow.is_behind = self._flow.is_behind, bool(self._unread)
        if self._unread:
            self.flow.pause_reading()
        elif was_behind and not self.pipeline:
            self.flow.resume_reading()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()  # uvicorn goes on reading while requests wait
        else:
            self._read()

    def _parse(self, data: bytes) -> None:
        """Most requests come whole, in one piece: those need no timer."""
        was_in_message, had_begun = self._in_message, self._head_begun
        if not was_in_message:
            self._head_bytes += len(data)
            self._head_begun = True
        super().data_received(data)
        if self._upgraded or self._refused:
            return
        if self._in_message and (not was_in_message or self._bound is None):
            self._bind(MESSAGE_S)
        elif self._head_begun and not had_begun:
            self._bind(HEAD_S)
        if not self._in_message and self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(
                b"431 Request Header Fields Too Large",
                "headers_too_large",
                f"the request's head has more than {MAX_HEAD_BYTES} bytes",
            )

    def connection_lost(self, exc: Exception | None) -> None:
        self._unbind()
        self._gone.set()
        self._on_closed()
        self.pipeline.clear()
        self._unread.clear()
        self._part()
        super().connection_lost(exc)

    def _part(self) -> None:
        """The client of the request in progress is gone; uvicorn marks only the newest request."""
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()

    def handle_websocket_upgrade(self) -> None:
        """Raises nothing: bytes that cannot be an upgrade are refused like all others."""
        self._unbind()
        self._upgraded = True
        try:
            super().handle_websocket_upgrade()
        except (ValueError, KeyError):
            self._upgraded = False
            self.send_400_response("")
        else:
            self._let_go()

    def _let_go(self) -> None:
        """It lives on as long as its WebSocket, to give a share back; a hub has thousands of them."""
        self.parser = self._running = None
        self.__dict__ = {name: self.__dict__[name] for name in _KEPT}

    def on_headers_complete(self) -> None:
        self._in_message = True
        self._head_bytes = 0
        if not self.url.startswith(b"/"):
            self._obey_target()
        super().on_headers_complete()

    def _obey_target(self) -> None:
        """A target with a host of its own counts, and the header does not (RFC 9112, 3.2.2)."""
        match = _ABSOLUTE.match(self.url)
        host = b"" if match is None else match[1].rpartition(b"@")[2]
        self.headers[:] = [each for each in self.headers if each[0] != b"host"]
        self.headers.append((b"host", host))

    def on_message_complete(self) -> None:
        self._in_message = False
        self._head_begun = False
        self._head_bytes = 0
        self._unbind()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(b"400 Bad Request", "invalid_request", "this is not a well-formed request")

    def _refuse(self, status: bytes, code: str, message: str) -> None:
        """What is wrong with bytes that never became a request, in the one envelope."""
        if self.transport.is_closing() or self._refused:
            return
        self._refused = True
        self.pipeline.clear()
        if self._running is not None and not self._running.response_complete:
            # The earlier request gets no answer: the client could not tell the two answers apart.
            self._running.disconnected = True
            self._running.message_event.set()
            self._gone.set()
            if self._running.response_started:
                self.transport.close()
                return
        body = error_body(code, message)
        headers = (
            *ENCODED,
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        )
        lines = [b"HTTP/1.1 " + status, *(name + b": " + value for name, value in headers)]
        self.transport.write(b"\r\n".join([*lines, b"", body]))
        # Closing at once, with bytes on the way, would reset the connection and lose the answer.
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._bind(LINGER_S)

    def _bind(self, within_s: float) -> None:
        self._unbind()
        self._bound = self.loop.call_later(within_s, self._on_too_slow)

    def _unbind(self) -> None:
        if self._bound is not None:
            self._bound.cancel()
            self._bound = None

    def _on_too_slow(self) -> None:
        self._bound = self.loop.call_later(READ_FIRST_S, self._cut_off)

    def timeout_keep_alive_handler(self) -> None:
        close = super().timeout_keep_alive_handler
        self.timeout_keep_alive_task = self.loop.call_later(READ_FIRST_S, close)

    def _cut_off(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()
