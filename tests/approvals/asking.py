"""A server whose agents are asked about, and an agent's calls to it."""

import http.client
import json
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.server_process import ServerProcess

RULES = '[[policy.rules]]\nname = "asks"\ndecide = "ask"\ncommand = ["touch **"]\n'


@contextmanager
def asking_server(rules: str = RULES, *, tags: tuple[str, ...] = ()) -> Generator[ServerProcess]:
    """With one session, `s`."""
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as name:
        home = Path(name)
        (home / "config.toml").write_text(rules)
        server = ServerProcess(home, DUETTY_APPROVAL_ASK="always")
        server.start()
        try:
            server.client.post("/sessions", {"name": "s", "tags": list(tags)})
            yield server
        finally:
            server.end()


class AgentCall:
    """A run with the server's own token, which is an agent's, in a thread."""

    def __init__(
        self,
        server: ServerProcess,
        line: str,
        *,
        path: str = "/sessions/s/run",
        body: dict[str, Any] | str | None = None,
        token: str | None = None,
    ) -> None:
        self.status: int | None = None
        self.answer: Any = None
        address = urlsplit(server.url())
        self.connection = http.client.HTTPConnection(address.hostname or "", address.port)
        self.headers = {
            "Authorization": f"Bearer {token or server.token()}",
            "Content-Type": "application/json",
        }
        self.path = path
        self.body = (
            body if isinstance(body, str) else json.dumps({"input": line} if body is None else body)
        )
        self.thread = threading.Thread(target=self._call)
        self.thread.start()

    def _call(self) -> None:
        try:
            self.connection.request("POST", self.path, self.body, self.headers)
            response = self.connection.getresponse()
            self.status, self.answer = response.status, json.loads(response.read() or b"null")
        except (OSError, http.client.HTTPException, ValueError):
            self.status = 0

    def hang_up(self) -> None:
        assert self.connection.sock is not None
        self.connection.sock.shutdown(2)

    def over(self) -> None:
        self.thread.join(60)
        assert not self.thread.is_alive()
        self.connection.close()


def waiting(server: ServerProcess) -> dict[str, Any]:
    """The one question that waits, as soon as there is one."""
    found = server.client.get("/approvals")
    deadline_s = time.monotonic() + 60
    while not found["approvals"]:
        assert time.monotonic() < deadline_s
        found = server.client.get("/approvals", after=found["seq"], wait_ms=1_000)
    [approval] = found["approvals"]
    return approval


def outcomes(server: ServerProcess, approval: str) -> list[str]:
    records = server.client.get("/audit", kind="approval", limit=1_000)
    return [
        each["event"]
        for each in records
        if each["approval"] == approval and each["event"] not in ("asked", "used")
    ]
