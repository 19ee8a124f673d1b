"""A typed client of a running server, over its unix socket.

Standard library only and quick to import: the command line starts with it.
"""

import errno
import http.client
import json
import os
import socket
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from duetty.errors import DuettyError, ServerUnreachable

_PEER = struct.Struct("3i")

CONNECT_S = 5.0
"""A server of the same machine accepts at once, or is stopped."""


class RemoteError(DuettyError):
    """A coded error as the server told it."""

    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        super().__init__(
            str(error.get("message", "the server gave no reason")),
            hint=error.get("hint"),
            details=error.get("details"),
        )
        self.status = status
        self.code = str(error.get("code", "internal_error"))  # type: ignore[misc]  # the wire's code stands for the class's


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, *, wait_s: float | None) -> None:
        super().__init__("localhost", timeout=wait_s)
        self._path = path
        self._wait_s = wait_s

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(CONNECT_S)
        self.sock.connect(self._path)
        _, uid, _ = _PEER.unpack(
            self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        )
        if uid not in (os.getuid(), 0):
            # What we are about to send (an environment, say) is not for them.
            raise OSError(errno.EACCES, "the socket belongs to another user")
        self.sock.settimeout(self._wait_s)


class Client:
    """Calls on one server; each call is one request."""

    def __init__(self, socket_path: Path) -> None:
        self._path = socket_path

    def is_up(self) -> bool:
        try:
            self.get("/health", wait_s=CONNECT_S)
        except DuettyError:
            return False
        return True

    def get(self, path: str, *, wait_s: float | None = 30, **query: object) -> Any:
        given = {key: value for key, value in query.items() if value is not None}
        return self._call(
            "GET", path + (f"?{urlencode(given, doseq=True)}" if given else ""), wait_s=wait_s
        )

    def post(
        self, path: str, body: Mapping[str, object] | None = None, *, wait_s: float | None = 30
    ) -> Any:
        return self._call("POST", path, body or {}, wait_s=wait_s)

    def delete(self, path: str, *, wait_s: float | None = 30) -> Any:
        return self._call("DELETE", path, wait_s=wait_s)

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        wait_s: float | None,
    ) -> Any:
        connection = _UnixConnection(str(self._path), wait_s=wait_s)
        payload = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            connection.request(method, path, payload, headers)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ServerUnreachable(
                f"no server answers at {self._path}: {error}",
                hint="start one with `duetty server`",
            ) from error
        finally:
            connection.close()
        try:
            answer = json.loads(content) if content else None
        except ValueError as error:
            raise ServerUnreachable(
                f"the server at {self._path} ended before it had answered",
                hint="it may have been stopped or replaced; the command goes on",
            ) from error
        if response.status >= 400:
            told: dict[str, Any] = answer.get("error", {}) if isinstance(answer, dict) else {}  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
            raise RemoteError(response.status, told)  # pyright: ignore[reportUnknownArgumentType] - JSON
        return answer


def session_path(name: str, rest: str = "") -> str:
    return f"/sessions/{quote(name, safe='')}{rest}"
