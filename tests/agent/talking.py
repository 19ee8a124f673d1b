"""One task for the agent, given in three ways: by the command line, by MCP, and (tests/web) on the page."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

from tests.agent.model_server import ModelServer
from tests.edges.mcp.connect import connected
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


def ask_by_cli(server: ServerProcess, text: str, cwd: Path, *more: str) -> "Asked":
    process = subprocess.Popen(
        [sys.executable, "-m", "duetty", "ask", "--json", *more, text],
        env=server.env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return Asked(server, process)


def ask_by_mcp(server: ServerProcess, text: str, cwd: Path, *more: str) -> "Asked":
    async def ask() -> Json:
        async with connected("http-2026", server, dialect="elwood") as client:
            return await _sent(client, text, server, cwd)

    return Asked(server, None, anyio.run(ask)["conversation_id"])


async def _sent(client: Client, text: str, server: ServerProcess, cwd: Path) -> Json:
    opened = server.client.post("/sessions", {"cwd": str(cwd)})
    given = {"message": text, "pane_id": opened["name"], "wait_ms": 0}
    answer = await client.call_tool("agent_send_message", given)
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content


WAYS: dict[str, Callable[..., "Asked"]] = {"cli": ask_by_cli, "mcp": ask_by_mcp}


class Asked:
    """A task in progress."""

    def __init__(
        self,
        server: ServerProcess,
        process: "subprocess.Popen[str] | None",
        id_: str | None = None,
    ) -> None:
        self.server = server
        self.process = process
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

    def end(self) -> Json:
        """Until the agent has done what it will do; what the command line printed is checked."""
        info = self.wait("idle", "failed")
        if self.process is not None:
            printed, complained = self.process.communicate(timeout=WAIT_S)
            told = [json.loads(line) for line in printed.splitlines()]
            assert told, complained
            assert told[-1]["state"] == info["state"]
        return info

    def approve(self, covers: str = "once") -> Json:
        approval = self.wait("awaiting_approval")["approval"]
        answer = {"covers": covers, "via": "http"}
        return self.server.client.post(f"/approvals/{approval['id']}/approve", answer)


def until(look: Callable[[], Any]) -> Any:
    deadline_s = time.monotonic() + WAIT_S
    while not (found := look()):
        assert time.monotonic() < deadline_s, "it did not come to that"
        time.sleep(0.02)
    return found
