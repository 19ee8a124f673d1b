"""A typed client of a running server, over its unix socket.

Standard library only and quick to import: the command line starts with it.
"""

import errno
import http.client
import json
import os
import socket
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, unquote, urlencode

from duetty.client.hub_address import HubAddress
from duetty.errors import DuettyError, ServerUnreachable
from duetty.platform.peers import credentials_of

CONNECT_S = 5.0
"""A server of the same machine accepts at once, or is stopped."""

OWN_TOKEN = "who runs the hub makes your own token: `duetty hub token create USER --person`"  # noqa: S105 - how to get one
"""A hint."""


class RemoteError(DuettyError):
    """A coded error as the server sent it."""

    def __init__(
        self, status: int, error: Mapping[str, Any], place: Path | HubAddress | None = None
    ) -> None:
        code = str(error.get("code", "internal_error"))
        super().__init__(
            str(error.get("message", "the server gave no reason")),
            hint=_hint(code, place, error.get("details") or {}) or error.get("hint"),
            details=error.get("details"),
        )
        self.status = status
        self.code = code  # type: ignore[misc]  # the wire's code stands for the class's


def _hint(code: str, place: Path | HubAddress | None, details: Mapping[str, Any]) -> str | None:
    """What to type here, where the server's own hint is for programs, or for who runs it."""
    is_far = isinstance(place, HubAddress)
    if code == "server_not_found" or (code == "server_unavailable" and is_far):
        named = f" --hub {place}" if isinstance(place, HubAddress) else ""
        return f"`duetty servers{named}` lists them"
    if code == "multiple_machines":
        return "say which before the command: `duetty --server NAME …`"
    if details.get("shared"):
        return None  # no other token would help
    if isinstance(place, HubAddress) and code in ("auth_invalid", "auth_required", "scope_missing"):
        return f"{OWN_TOKEN}, then `duetty login {place}`"
    return None


def unreachable(place: Path | HubAddress, error: Exception) -> ServerUnreachable:
    if isinstance(place, HubAddress):
        return ServerUnreachable(
            f"no hub answers at {place}: {error}",
            hint="is this its address? Who runs it starts it with `duetty hub`",
        )
    return ServerUnreachable(
        f"no server answers at {place}: {error}", hint="start one with `duetty server`"
    )


def connect_socket(path: str) -> socket.socket:
    """A connection to a socket of ours.

    Raises:
        OSError: if no server listens, or another user's does.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(CONNECT_S)
        connection.connect(path)
        _, uid = credentials_of(connection)
        if uid not in (os.getuid(), 0):
            # What we are about to send (an environment, say) is not for them.
            raise OSError(errno.EACCES, "the socket belongs to another user")
    except BaseException:
        connection.close()
        raise
    return connection


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, *, wait_s: float | None) -> None:
        super().__init__("localhost", timeout=wait_s)
        self._path = path
        self._wait_s = wait_s

    def connect(self) -> None:
        self.sock = connect_socket(self._path)
        self.sock.settimeout(self._wait_s)


class Client:
    """Calls on one server; each call is one request."""

    def __init__(self, socket_path: Path, *, server: str | None = None) -> None:
        """`server` names another server that this one speaks for: every call is for that."""
        self._path: Path | HubAddress = socket_path
        self._server = server
        self._headers: Mapping[str, str] = {}
        self._prefix = ""

    @property
    def place(self) -> Path | HubAddress:
        return self._path

    def _connection(self, wait_s: float | None) -> http.client.HTTPConnection:
        return _UnixConnection(str(self._path), wait_s=wait_s)

    def is_up(self) -> bool:
        try:
            self.get("/health", wait_s=CONNECT_S)
        except DuettyError:
            return False
        return True

    def get(self, path: str, *, wait_s: float | None = 30, **query: object) -> Any:
        return self._call("GET", _with_query(path, query), wait_s=wait_s)

    def post(
        self, path: str, body: Mapping[str, object] | None = None, *, wait_s: float | None = 30
    ) -> Any:
        return self._call("POST", path, body or {}, wait_s=wait_s)

    def patch(self, path: str, body: Mapping[str, object], *, wait_s: float | None = 30) -> Any:
        return self._call("PATCH", path, body, wait_s=wait_s)

    def put(self, path: str, body: Mapping[str, object], *, wait_s: float | None = 30) -> Any:
        return self._call("PUT", path, body, wait_s=wait_s)

    def delete(self, path: str, *, wait_s: float | None = 30) -> Any:
        return self._call("DELETE", path, wait_s=wait_s)

    def write(self, path: str, raw: bytes, *, wait_s: float | None = 30) -> None:
        """Post bytes as they are."""
        with self._exchange("POST", path, raw, _RAW, wait_s=wait_s) as response:
            self._answer(response)

    @contextmanager
    def lines(
        self, path: str, *, wait_s: float | None = 30, **query: object
    ) -> Generator[Iterator[bytes]]:
        """The lines of an answer that may be long, as they come."""
        with self._exchange("GET", _with_query(path, query), None, {}, wait_s=wait_s) as response:
            if response.status >= 400:
                self._answer(response)
            yield iter(partial(self._line, response), b"")

    def _line(self, response: http.client.HTTPResponse) -> bytes:
        with self._reached():
            return response.readline()

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        wait_s: float | None,
    ) -> Any:
        payload = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": "application/json"} if body is not None else {}
        with self._exchange(method, path, payload, headers, wait_s=wait_s) as response:
            return self._answer(response)

    def _answer(self, response: http.client.HTTPResponse) -> Any:
        with self._reached():
            content = response.read()
        return _answer(response, content, self._path)

    @contextmanager
    def _exchange(
        self,
        method: str,
        path: str,
        payload: bytes | None,
        headers: Mapping[str, str],
        *,
        wait_s: float | None,
    ) -> Generator[http.client.HTTPResponse]:
        connection = self._connection(wait_s)
        machine, path = _machine_in(path)
        server = machine or self._server
        if server is not None:
            path += ("&" if "?" in path else "?") + urlencode({"server": server})
        headers = {**self._headers, **headers}
        try:
            with self._reached():
                connection.request(method, f"{self._prefix}{path}", payload, headers)
                response = connection.getresponse()
            # Not the caller's own part: a file that cannot be written is no server that is gone.
            yield response
        finally:
            connection.close()

    @contextmanager
    def _reached(self) -> Generator[None]:
        try:
            yield
        except (OSError, http.client.HTTPException) as error:
            raise unreachable(self._path, error) from error


class HubClient(Client):
    """Calls on a hub, with the user's own token."""

    def __init__(self, address: HubAddress, *, server: str | None = None) -> None:
        super().__init__(Path(), server=server)
        self._path = address
        self._address = address
        self._headers = address.headers
        self._prefix = address.prefix

    def _connection(self, wait_s: float | None) -> http.client.HTTPConnection:
        return self._address.http(wait_s)


_RAW = {"Content-Type": "application/octet-stream"}


def _with_query(path: str, query: Mapping[str, object]) -> str:
    given = {key: value for key, value in query.items() if value is not None}
    return path + (f"?{urlencode(given, doseq=True)}" if given else "")


def _answer(response: http.client.HTTPResponse, content: bytes, path: Path | HubAddress) -> Any:
    try:
        answer = json.loads(content) if content else None
    except ValueError as error:
        raise ServerUnreachable(
            f"the server at {path} ended before it had answered",
            hint="it may have been stopped or replaced; the command goes on",
        ) from error
    if response.status >= 400:
        raise _remote_error(response.status, answer, path)
    return answer


def _remote_error(status: int, answer: object, place: Path | HubAddress) -> RemoteError:
    fields: dict[str, Any] = answer.get("error", {}) if isinstance(answer, dict) else {}  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
    return RemoteError(status, fields, place)  # pyright: ignore[reportUnknownArgumentType] - JSON


def raise_refusal(
    status: list[bytes],
    begun: bytes,
    headers: list[bytes],
    connection: socket.socket,
    place: Path | HubAddress,
) -> NoReturn:
    """Tell why the server would not open a WebSocket.

    Raises:
        RemoteError: with the server's own code.
        OSError: if it gave none.
    """
    sizes = [
        int(line.partition(b":")[2])
        for line in headers
        if line.lower().startswith(b"content-length:") and line.partition(b":")[2].strip().isdigit()
    ]
    wanted = min(sizes[0] if sizes else 0, 65_536)
    while len(begun) < wanted and (chunk := connection.recv(65_536)):
        begun += chunk
    try:
        answer: object = json.loads(begun)
    except ValueError:
        raise OSError(f"it refused with status {b' '.join(status).decode()}") from None
    raise _remote_error(int(status[0]), answer, place)


def session_path(name: str, rest: str = "") -> str:
    """`MACHINE/SESSION` is one name here; a call says the machine beside the path."""
    return f"/sessions/{quote(name, safe='')}{rest}"


def _machine_in(path: str) -> tuple[str | None, str]:
    """The machine that the path of a session names, and the path without it: a path holds no encoded slash."""
    head, session, rest = path[:10], *_split(path[10:])
    machine, slash, name = session.partition("%2F")
    if head != "/sessions/" or not slash:
        return None, path
    return unquote(machine), f"{head}{name}{rest}"


def _split(text: str) -> tuple[str, str]:
    end = next((at for at, char in enumerate(text) if char in "/?"), len(text))
    return text[:end], text[end:]
