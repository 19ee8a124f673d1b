"""Where the server listens: addresses, the unix socket, TLS."""

import os
import socket
import ssl
from contextlib import suppress
from pathlib import Path

from duetty.config import parse_bind
from duetty.errors import BadSetting, StateUnwritable

BACKLOG = 512


def bound_sockets(bind: str) -> list[socket.socket]:
    """Listening sockets for HOST:PORT; the first is the one that was asked for.

    Bound to 127.0.0.1, the same port of [::1] is taken too where that is possible: `localhost`
    may mean either.

    Raises:
        BadSetting: if the address is taken or is not one of this machine.
    """
    host, port = parse_bind(bind)
    try:
        first = _listen(host, port)
    except OSError as error:
        raise BadSetting(
            f"cannot listen on {bind}: {error.strerror}",
            hint="another program may have this port; try --bind 127.0.0.1:0 for a free one",
        ) from error
    if first.getsockname()[0] != "127.0.0.1":
        return [first]
    with suppress(OSError):
        return [first, _listen("::1", int(first.getsockname()[1]))]
    return [first]


def _listen(host: str, port: int) -> socket.socket:
    tcp = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tcp.bind((host, port))
        tcp.listen(BACKLOG)
    except OSError:
        tcp.close()
        raise
    tcp.setblocking(False)
    return tcp


def unix_socket(path: Path) -> socket.socket:
    """The socket for clients of the same user; the directory is ours alone."""
    with suppress(FileNotFoundError):
        path.unlink()  # the instance's lock is held, so no server listens there
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        unix.bind(str(path))
    except OSError as error:
        unix.close()
        raise StateUnwritable(f"cannot make the socket {path}: {error.strerror}") from error
    finally:
        os.umask(mask)
    unix.listen(BACKLOG)
    unix.setblocking(False)
    return unix


def url_of(tcp: socket.socket, *, scheme: str, prefix: str) -> str:
    host, port = str(tcp.getsockname()[0]), int(tcp.getsockname()[1])
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - a name for it, not a bind
    return f"{scheme}://{f'[{shown}]' if ':' in shown else shown}:{port}{prefix}"


def tls_context(cert: str, key: str) -> ssl.SSLContext | None:
    """What the settings `server.tls_cert` and `server.tls_key` ask for; None without them.

    Raises:
        BadSetting: if a file is missing, unreadable, not PEM, or the two do not belong together.
    """
    if not cert and not key:
        return None
    if not cert or not key:
        missing, given = ("tls_cert", "tls_key") if key else ("tls_key", "tls_cert")
        raise BadSetting(
            f"server.{given} is set and server.{missing} is not", hint="TLS needs both files"
        )
    for name, path in (("tls_cert", cert), ("tls_key", key)):
        try:
            with open(path, "rb"):
                pass
        except OSError as error:
            raise BadSetting(f"server.{name}: cannot read {path}: {error.strerror}") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        # An encrypted key would make OpenSSL ask the terminal for its password.
        context.load_cert_chain(cert, key, password=lambda: b"")
    except (ssl.SSLError, OSError, ValueError) as error:
        raise BadSetting(
            f"cannot use {cert} with {key}: {getattr(error, 'reason', None) or error}",
            hint="both are PEM files; the certificate belongs to the key, and the key has no password",
        ) from error
    return context
