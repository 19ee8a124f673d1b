"""A hub somewhere else, with the user's own token: reached over TCP, with TLS where it speaks that.

Standard library only, as all of this package.
"""

import http.client
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from duetty.errors import BadArguments

CONNECT_S = 10.0
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HubAddress:
    url: str
    token: str = field(repr=False)
    ca_file: str = ""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadArguments(
                f"{self.url!r} is not the address of a hub", hint="as https://hub.example"
            )

    def __str__(self) -> str:
        return self.url

    @property
    def prefix(self) -> str:
        return urlsplit(self.url).path.rstrip("/")

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def http(self, wait_s: float | None) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        if parts.scheme == "https":
            return http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=wait_s, context=self._tls()
            )
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=wait_s)

    def connect(self) -> socket.socket:
        """A plain socket to it. With TLS, two threads stand between: what reads it expects a
        descriptor that is readable exactly when there is something to read.

        Raises:
            OSError: if no server answers.
        """
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        usual = 443 if parts.scheme == "https" else 80
        outer = socket.create_connection((parts.hostname, parts.port or usual), CONNECT_S)
        outer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if parts.scheme == "http":
            return outer
        secured = self._tls().wrap_socket(outer, server_hostname=parts.hostname)
        secured.settimeout(None)
        ours, theirs = socket.socketpair()
        for source, sink in ((theirs, secured), (secured, theirs)):
            threading.Thread(target=_pump, args=(source, sink), daemon=True).start()
        return ours

    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca_file or None)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk)
    for each in (source, sink):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
