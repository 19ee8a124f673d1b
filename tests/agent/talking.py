"""A task for the agent in progress, as a program sees it."""

import json
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.agent.model_server import ModelServer
from tests.server_process import ServerProcess

WAIT_S = 30

Json = dict[str, Any]


@contextmanager
def agent_server(home: Path, model: ModelServer, **env: str) -> Generator[ServerProcess]:
    """Questions wait for whoever answers, also where nobody looks."""
    server = ServerProcess(home, **model.settings, DUETTY_APPROVAL_ASK="always", **env)
    server.start()
    try:
        yield server
    finally:
        server.end()


class Asked:
    """A task in progress."""

    def __init__(self, server: ServerProcess, id_: str | None = None) -> None:
        self.server = server
        self._id = id_

    @property
    def id(self) -> str:
        if self._id is None:
            self._id = until(lambda: self.server.client.get("/agent/conversations"))[0]["id"]
        return self._id

    def info(self) -> Json:
        return self.server.client.get(f"/agent/conversations/{self.id}")["info"]

    def entries(self, kind: str) -> list[Json]:
        shown = self.server.client.get(f"/agent/conversations/{self.id}")
        return [each["body"] for each in shown["entries"] if each["kind"] == kind]

    def wait(self, *states: str) -> Json:
        try:
            return until(lambda: info if (info := self.info())["state"] in states else None)
        except AssertionError as error:
            shown = self.server.client.get(f"/agent/conversations/{self.id}")
            raise AssertionError(json.dumps(shown, indent=1)[-4000:]) from error


def until(look: Callable[[], Any]) -> Any:
    deadline_s = time.monotonic() + WAIT_S
    while not (found := look()):
        assert time.monotonic() < deadline_s, "it did not come to that"
        time.sleep(0.02)
    return found
