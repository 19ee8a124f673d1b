"""The ways to the agent: the command line, the page, MCP. A scenario is the same by each of them."""

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from anyio.from_thread import start_blocking_portal
from mcp import types as t
from playwright.sync_api import Browser, Locator, expect

from tests.agent.talking import WAIT_S, Asked, Json, until
from tests.edges.mcp.connect import connected
from tests.server_process import ServerProcess
from tests.web.browsing import Tab, browsing

Complete = Callable[[t.CreateMessageRequestParams], str]
"""What a host's model says to a request."""


class Door(Protocol):
    def ask(self, server: ServerProcess, text: str, cwd: Path) -> "Task":
        """Give the agent a task in this directory."""
        ...

    def lend(self, server: ServerProcess, complete: Complete) -> None:
        """Connect a host that lends its model, until the end of the test."""
        ...


class Task(Asked):
    """A task in progress, watched and steered through the door by which it came."""

    def approve(self, covers: str = "once") -> None:
        raise NotImplementedError

    def decline(self) -> None:
        raise NotImplementedError

    def stop(self, *, interrupt: bool = False) -> None:
        raise NotImplementedError

    def go_on(self) -> None:
        """After a stop, or the end of a server."""
        raise NotImplementedError

    def end(self) -> Json:
        """What it came to, which the door shows as well."""
        raise NotImplementedError


class CliTask(Task):
    def __init__(self, server: ServerProcess, cwd: Path, *command: str) -> None:
        super().__init__(server)
        self._cwd = cwd
        self._process = self._started(*command)

    def _started(self, *command: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "duetty", *command],
            env=self.server.env,
            cwd=self._cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _done(self, *command: str) -> None:
        done = self.server.command(*command)
        assert done.returncode == 0, done.stderr

    def approve(self, covers: str = "once") -> None:
        question = self.wait("awaiting_approval")["approval"]["id"]
        self._done("approve", question, *(["--for", covers] if covers != "once" else []))

    def decline(self) -> None:
        self._done("decline", self.wait("awaiting_approval")["approval"]["id"])

    def stop(self, *, interrupt: bool = False) -> None:
        self._done("agent", "stop", self.id, *(["--interrupt"] if interrupt else []))

    def go_on(self) -> None:
        if not (self.info()["reason"] or "").startswith("stopped by"):
            return  # `duetty ask` waits for the server, and resumes it
        self._process.communicate(timeout=WAIT_S)
        self._process = self._started("agent", "resume", "--json", self.id)

    def end(self) -> Json:
        printed, complained = self._process.communicate(timeout=WAIT_S)
        info = self.wait("idle", "failed")
        told = [json.loads(line) for line in printed.splitlines()]
        assert told, complained
        assert told[-1]["state"] == info["state"]
        assert self._process.returncode == (1 if info["state"] == "failed" else 0)
        return info


class PageTask(Task):
    def __init__(self, tab: Tab, server: ServerProcess, text: str, cwd: Path) -> None:
        super().__init__(server)
        self._page = tab.page
        self._tab = tab
        opened = server.client.post("/sessions", {"cwd": str(cwd)})
        tab.goto("agent")
        self._page.get_by_label("Works in").select_option(opened["name"])
        box = self._page.get_by_label("Message to the agent")
        box.fill(text)
        box.press("Enter")
        expect(self._shown).to_be_visible()

    @property
    def _shown(self) -> Locator:
        return self._page.locator("#agent-state")

    def _press(self, name: str) -> None:
        self._page.get_by_role("button", name=name).first.click()

    def approve(self, covers: str = "once") -> None:
        chat = self._page.get_by_label("Messages and calls")
        expect(self._shown).to_contain_text("waits for your approval")
        if covers == "once":
            chat.get_by_role("button", name="Approve once").click()
        else:
            chat.get_by_role("button", name="Allow…").click()
            chat.get_by_label(f"This {covers}").check()
            chat.get_by_role("button", name=f"Approve in this {covers}").click()

    def decline(self) -> None:
        chat = self._page.get_by_label("Messages and calls")
        chat.get_by_role("button", name="Decline").click()

    def stop(self, *, interrupt: bool = False) -> None:
        self._press("Stop and interrupt" if interrupt else "Stop")
        expect(self._shown).to_contain_text("ready")

    def go_on(self) -> None:
        if self.info()["state"] == "failed":
            self._press("Resume")
        else:
            before = len(self.entries("state"))
            box = self._page.get_by_label("Message to the agent")
            box.fill("go on")
            box.press("Enter")
            until(lambda: len(self.entries("state")) > before)
        self._tab.forgive_lost_connection()

    def end(self) -> Json:
        info = self.wait("idle", "failed")
        expect(self._shown).to_contain_text(
            "ready" if info["state"] == "idle" else f"ended early: {info['reason']}"
        )
        expect(self._shown).to_contain_text(f"{info['tokens_in'] + info['tokens_out']} tokens")
        if (last := self.entries("answer")) and last[-1]["text"]:
            expect(self._page.get_by_text(last[-1]["text"]).last).to_be_visible()
        self._tab.forgive_lost_connection()
        return info


Call = Callable[[str, Json], Json]


class McpTask(Task):
    """Another agent hands it work. Questions, and the button that stops it, are a person's."""

    def __init__(self, call: Call, server: ServerProcess, text: str, cwd: Path) -> None:
        super().__init__(server)
        self._call = call
        opened = server.client.post("/sessions", {"cwd": str(cwd)})
        given = {"message": text, "pane_id": opened["name"], "wait_ms": 0}
        self._id = self._call("agent_send_message", given)["conversation_id"]

    def _settled(self, word: str, answer: Json) -> None:
        approval = until(lambda: self.info()["approval"])["id"]
        self.server.client.post(f"/approvals/{approval}/{word}", answer)
        until(lambda: (self.info()["approval"] or {"id": None})["id"] != approval)

    def approve(self, covers: str = "once") -> None:
        assert until(lambda: self._status()["approval"])
        self._settled("approve", {"covers": covers})

    def decline(self) -> None:
        assert until(lambda: self._status()["approval"])
        self._settled("decline", {})

    def stop(self, *, interrupt: bool = False) -> None:
        path = f"/agent/conversations/{self.id}/stop"
        self.server.client.post(path, {"interrupt": interrupt})

    def go_on(self) -> None:
        self._call(
            "agent_send_message", {"message": "go on", "conversation_id": self.id, "wait_ms": 0}
        )

    def end(self) -> Json:
        info = self.wait("idle", "failed")
        assert self._status()["state"] == info["state"]
        return info

    def _status(self) -> Json:
        return self._call("agent_get_status", {"conversation_id": self.id})


class CliDoor:
    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def ask(self, server: ServerProcess, text: str, cwd: Path) -> Task:
        return CliTask(server, cwd, "ask", "--json", text)

    def lend(self, server: ServerProcess, complete: Complete) -> None:
        self._stack.enter_context(calling("stdio-2025", server, complete))


class PageDoor:
    def __init__(self, stack: ExitStack, browser: Browser) -> None:
        self._stack = stack
        self._browser = browser

    def ask(self, server: ServerProcess, text: str, cwd: Path) -> Task:
        return PageTask(
            self._stack.enter_context(browsing(self._browser, server)), server, text, cwd
        )

    def lend(self, server: ServerProcess, complete: Complete) -> None:
        self._stack.enter_context(calling("stdio-2025", server, complete))


class McpDoor:
    """By HTTP; a bridge would not notice that a server ended. A host that lends its model asks itself."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._host: Call | None = None

    def ask(self, server: ServerProcess, text: str, cwd: Path) -> Task:
        return McpTask(self._host or once(server), server, text, cwd)

    def lend(self, server: ServerProcess, complete: Complete) -> None:
        self._host = self._stack.enter_context(calling("stdio-2025", server, complete))


def once(server: ServerProcess) -> Call:
    """A connection for each call, as after the server of the last one was killed."""

    def call(tool: str, arguments: Json) -> Json:
        with calling("http-2026", server) as connection:
            return connection(tool, arguments)

    return call


@contextmanager
def calling(way: str, server: ServerProcess, complete: Complete | None = None) -> Generator[Call]:
    """A connected host in a thread of its own: Playwright's loop runs in this one."""
    options: Json = {}
    if complete is not None:
        said = complete

        async def sampled(
            context: object, params: t.CreateMessageRequestParams
        ) -> t.CreateMessageResult:
            content = t.TextContent(text=said(params))
            return t.CreateMessageResult(role="assistant", content=content, model="lent")

        options["sampling_callback"] = sampled
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            connected(way, server, dialect="elwood", **options)
        ) as client,
    ):

        def call(tool: str, arguments: Json) -> Json:
            answer = portal.call(client.call_tool, tool, arguments)
            assert not answer.is_error, answer.content
            assert answer.structured_content is not None
            return answer.structured_content

        yield call
