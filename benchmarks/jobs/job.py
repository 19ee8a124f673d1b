"""A job, what it costs, and the terminal that it is done with."""

import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from mcp import Client
from mcp.types import TextContent

Json = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Spent:
    calls: int = 0
    errors: int = 0
    bytes: int = 0
    """Of text that a model is given to read."""

    wall_s: float = 0.0


class Tools:
    """The calls of one job, counted. The first one opens its session."""

    def __init__(self, client: Client, place: Path) -> None:
        self._client = client
        self.place = place
        self.session = f"job-{token_hex(4)}"
        self.spent = Spent()

    async def use(self, tool: str, **arguments: object) -> Json:
        began_s = time.perf_counter()
        result = await self._client.call_tool(tool, arguments)
        self.spent.wall_s += time.perf_counter() - began_s
        self.spent.calls += 1
        self.spent.errors += bool(result.is_error)
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        self.spent.bytes += sum(len(text.encode()) for text in texts)
        return dict(result.structured_content or {})

    async def open(self, command: str = "bash") -> None:
        given = {"name": self.session, "command": command, "cwd": str(self.place)}
        await self.use("wsh_create_session", **given)

    async def run(self, line: str, **more: object) -> Json:
        given = {"session": self.session, "view": "output", **more}
        return await self.use("wsh_run_command", input=line, **given)

    async def send(self, *keys: str, **more: object) -> Json:
        given: Json = {"keys": list(keys)} if keys else {}
        return await self.use("wsh_send_input", session=self.session, **given, **more)

    async def wait(self, **more: object) -> Json:
        return await self.use("wsh_await_quiesce", session=self.session, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    name: str
    about: str
    """Which complaint or measured friction it stands for."""

    do: Callable[[Tools], Awaitable[None]]
    calls: int
    """As many as it needs: one more is a step back."""

    errors: int = 0
    """Answers that are errors because the job is about them."""

    needs: tuple[str, ...] = ()
    dialect: str = "wsh"
    is_long: bool = False
    """Too long for every run of the tests."""

    @property
    def missing(self) -> str | None:
        return next((each for each in self.needs if shutil.which(each) is None), None)


async def done(client: Client, job: Job, place: Path) -> Spent:
    """Do a job in a directory of its own; fails where its result is not what it should be."""
    tools = Tools(client, place)
    if job.dialect == "wsh":
        await tools.open()
    try:
        await job.do(tools)
    finally:
        if job.dialect == "wsh":
            await _clear(client, tools.session)
    return tools.spent


async def _clear(client: Client, session: str) -> None:
    """End the job's session and what it opened besides, whose names begin with its own."""
    listed = await client.call_tool("wsh_list_sessions", {})
    for each in dict(listed.structured_content or {})["sessions"]:
        if each["name"].startswith(session):
            given = {"session": each["name"], "action": "kill"}
            await client.call_tool("wsh_manage_session", given)
