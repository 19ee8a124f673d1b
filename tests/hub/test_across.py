"""What works on one machine works through a hub: attached terminals, gateway tools, selection, subscriptions."""

import json
import struct
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client
from mcp import types as t
from mcp.client.streamable_http import streamable_http_client
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared._httpx_utils import create_mcp_http_client
from websockets.sync.client import ClientConnection, connect

from duetty.upstreams.upstream_settings import as_toml
from tests.cli.terminals import Tmux, tmux
from tests.hub.conftest import Servers, wait_for
from tests.server_process import ServerProcess
from tests.upstreams.running import WAIT_S, named, official, plain, until_true

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

RULES = """
[[policy.rules]]
name = "ask-first"
decide = "ask"
tool = "mcp__plain__asked"
"""
ERAS = ["2025", "2026"]


class Place:
    """A hub with ann and bob; ann's laptop has two upstreams."""

    def __init__(self, stack: ExitStack) -> None:
        self.servers = Servers(stack)
        self.hub = self.servers.hub
        self.tokens: dict[str, str] = {}
        """For agents of theirs."""
        self.own: dict[str, str] = {}
        """For themselves."""
        for name in ("ann", "bob"):
            added = self.hub.command("hub", "user", "add", name, "-L", "default")
            self.own[name] = added.stdout.strip()
            given = {"scopes": ["read", "input", "control", "join"]}
            self.tokens[name] = self.hub.client.post(f"/users/{name}/tokens", given)["token"]
        self.laptop = self.servers.start("laptop")
        home = Path(self.laptop.home)
        self.notes = home / "notes"
        self.notes.touch()
        tables = {
            "tester": official(NOTES=str(self.notes)),
            "plain": plain(tools=named("one", "asked"), notes=str(home / "plain-notes")),
        }
        text = "\n".join(as_toml(name, table) for name, table in tables.items())
        self.laptop.kill()
        (home / "config.toml").write_text(text + RULES, encoding="utf-8")
        self.laptop.start("--hostname", "laptop")
        for name in tables:
            self._trust(name)
        self.join(self.laptop, "ann")

    def join(self, machine: ServerProcess, user: str) -> None:
        file = Path(machine.home) / "hub.token"
        file.write_text(self.tokens[user])
        done = machine.command("join", self.hub.url(), "--token-file", str(file))
        assert done.returncode == 0, done.stderr

    def _trust(self, name: str) -> None:
        client = self.laptop.client
        found = client.get("/upstreams")
        while True:
            [it] = [each for each in found["upstreams"] if each["name"] == name]
            if it["state"] != "starting":
                break
            found = client.get("/upstreams", after=found["seq"], wait_ms=5_000)
        client.post(f"/upstreams/{name}/trust", {"fingerprint": it["fingerprint"]})

    @asynccontextmanager
    async def client(
        self, era: str, dialect: str, user: str = "ann", **options: Any
    ) -> AsyncGenerator[Client]:
        async with AsyncExitStack() as stack:
            headers = {"Authorization": f"Bearer {self.tokens[user]}"}
            http = await stack.enter_async_context(create_mcp_http_client(headers=headers))
            transport = streamable_http_client(f"{self.hub.url()}/mcp/{dialect}", http_client=http)
            mode = "legacy" if era == "2025" else "auto"
            made = Client(transport, mode=mode, read_timeout_seconds=60, **options)
            yield await stack.enter_async_context(made)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(stack)


@pytest.fixture
def no_sessions(place: Place) -> None:
    for each in place.laptop.client.get("/sessions"):
        place.laptop.client.delete(f"/sessions/{each['name']}")


def opened(place: Place, *names: str, command: str = "cat") -> None:
    http = place.servers.client(place.hub, place.tokens["ann"])
    for name in names:
        made = http.post("/sessions", json={"name": name, "command": command, "server": "laptop"})
        assert made.status_code == 201, made.text


# --- gateway tools ------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
async def test_tools_of_a_machines_upstreams_are_called_with_progress_and_left(
    place: Place, era: str
) -> None:
    place.notes.write_text("", encoding="utf-8")
    told: list[tuple[float, float | None, str | None]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with place.client(era, "gateway") as client:
        with anyio.fail_after(WAIT_S):
            names = {tool.name for tool in (await client.list_tools()).tools}
            answer = await client.call_tool("mcp__tester__echo", {"text": "far"})
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await client.call_tool("mcp__tester__slowly", {}, progress_callback=progress)

            tasks.start_soon(call)
            await until_true(lambda: len(told) == 3)
            tasks.cancel_scope.cancel()
        await until_true(lambda: "slow was cancelled" in place.notes.read_text(encoding="utf-8"))

    assert {"mcp__tester__echo", "mcp__plain__asked"} <= names
    assert answer.structured_content == {"said": "far", "more": None}
    assert told == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("answer", ["allow once", "reject"])
async def test_a_machines_question_is_put_to_the_person_at_the_callers_host(
    place: Place, era: str, answer: str
) -> None:
    asked: list[str] = []

    async def ask(context: Any, params: Any) -> t.ElicitResult:
        asked.append(params.message)
        return t.ElicitResult(action="accept", content={"decision": answer})

    async with place.client(era, "gateway", elicitation_callback=ask) as client:
        with anyio.fail_after(WAIT_S):
            result = await client.call_tool("mcp__plain__asked", {"where": era})

    [question] = asked
    assert "mcp__plain__asked" in question
    assert result.is_error is (answer == "reject")


# --- selection ------------------------------------------------------------------------

LOOK = {"wsh": "wsh_get_screen", "elwood": "terminal_read_screen", "terminal": "terminal"}
GIVEN: dict[str, dict[str, Any]] = {
    "wsh": {"format": "plain"},
    "elwood": {},
    "terminal": {"action": "read_output"},
}
CODES = {
    ("terminal", "no_active_session"): "PM_TERM_NOT_FOUND",
    ("terminal", "multiple_sessions"): "PM_TERM_INVALID_PAYLOAD",
}


async def looked(client: Client, dialect: str) -> tuple[bool, dict[str, Any]]:
    result = await client.call_tool(LOOK[dialect], GIVEN[dialect])
    return bool(result.is_error), dict(result.structured_content or {})


@pytest.mark.usefixtures("no_sessions")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("dialect", ["wsh", "elwood", "terminal"])
async def test_none_one_and_several_sessions_of_the_users_machines(
    place: Place, dialect: str, era: str
) -> None:
    async with place.client(era, dialect) as client:
        failed, none = await looked(client, dialect)
        await anyio.to_thread.run_sync(opened, place, "one")
        fine, one = await looked(client, dialect)
        await anyio.to_thread.run_sync(opened, place, "two")
        failed_too, several = await looked(client, dialect)

    codes = [none["error"]["code"], several["error"]["code"]]
    wanted = ["no_active_session", "multiple_sessions"]
    details = several["error"]["details"] if dialect == "terminal" else several

    assert (failed, fine, failed_too) == (True, False, True), (none, one, several)
    assert codes == [CODES.get((dialect, code), code) for code in wanted]
    assert {each["machine"] for each in details["candidates"]} == {"laptop"}
    assert "one" in json.dumps(one)


@pytest.mark.usefixtures("no_sessions")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("dialect", ["wsh", "elwood", "terminal"])
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_a_host_that_can_asks_its_person_which_of_the_machines_sessions_is_meant(
    place: Place, era: str, dialect: str, action: str
) -> None:
    asked: list[Any] = []

    async def choose(context: Any, params: t.ElicitRequestFormParams) -> t.ElicitResult:
        wanted = params.requested_schema["properties"]["session"]
        asked.append(wanted["enumNames"])
        if action == "decline":
            return t.ElicitResult(action="decline")
        [at] = [at for at, each in enumerate(wanted["enumNames"]) if "two" in each]
        return t.ElicitResult(action="accept", content={"session": wanted["enum"][at]})

    await anyio.to_thread.run_sync(opened, place, "one", "two")
    async with place.client(era, dialect, elicitation_callback=choose) as client:
        failed, told = await looked(client, dialect)

    assert len(asked[0]) == 2
    if action == "accept":
        assert (failed, "two" in json.dumps(told)) == (False, True), told
    else:
        code = CODES.get((dialect, "multiple_sessions"), "multiple_sessions")
        assert (failed, told["error"]["code"]) == (True, code), told


# --- people and an agent in one session -------------------------------------------------


@pytest.mark.tmux
@pytest.mark.usefixtures("no_sessions")
def test_two_people_and_an_agent_work_in_one_session_through_the_hub(
    place: Place, tmp_path: Path
) -> None:
    env = {"PS1": "in> ", "HOME": str(tmp_path)}
    ann = place.servers.client(place.hub, place.own["ann"])
    agent = place.servers.client(place.hub, place.tokens["ann"])
    made = ann.post(
        "/sessions",
        json={"name": "shared", "command": "bash --norc", "env": env, "server": "laptop"},
    ).json()
    wait_for(lambda: ann.get(f"/sessions/{made['id']}").status_code == 200 or None)
    share = {"session": made["id"], "user": "bob", "role": "drive", "expires_in_s": 600}
    assert ann.post("/shares", json=share).status_code == 201
    with ExitStack() as stack:
        terminals: list[Tmux] = []
        for name in ("ann", "bob"):
            here = ServerProcess(tmp_path / name, DUETTY_KEYRING="no")
            here.home.mkdir(exist_ok=True)
            file = here.home / "token"
            file.write_text(place.own[name])
            done = here.command("login", place.hub.url(), "--token-file", str(file))
            assert done.returncode == 0, done.stderr
            terminal = stack.enter_context(tmux(here.home, here.env))
            terminal.duetty("attach", "laptop/shared", "--no-hints")
            terminals.append(terminal)
        for terminal in terminals:
            terminal.wait_shown("in>")
        terminals[0].line("echo by-ann-$((1+1))")
        for terminal in terminals:
            terminal.wait_shown("by-ann-2")
        terminals[1].line("echo by-bob-$((1+2))")
        for terminal in terminals:
            terminal.wait_shown("by-bob-3")
        ran = agent.post(f"/sessions/{made['id']}/run", json={"input": "echo by-agent-$((2+2))"})
        for terminal in terminals:
            terminal.wait_shown("by-agent-4")

    assert ran.json()["output"] == "by-agent-4"


# --- bytes, from where a viewer stopped --------------------------------------------------


def _viewed(place: Place) -> ClientConnection:
    headers = {"Authorization": f"Bearer {place.tokens['ann']}"}
    return connect(f"ws{place.hub.url()[4:]}/ws/view", additional_headers=headers)


@pytest.mark.usefixtures("no_sessions")
def test_a_viewer_goes_on_from_the_byte_it_had_and_acknowledges_as_it_reads(place: Place) -> None:
    opened(place, "flow", command="bash")
    with _viewed(place) as viewer:
        viewer.send(json.dumps({"type": "open", "stream": 1, "session": "laptop/flow"}))
        at = _offset_after(viewer, b"", ack=True)
    ann = place.servers.client(place.hub, place.tokens["ann"])
    ann.post("/sessions/flow/run", json={"input": "seq 1 40000 | tail -c 100000; echo the-end"})
    with _viewed(place) as viewer:
        again = {"type": "open", "stream": 7, "session": "laptop/flow", "offset": at}
        viewer.send(json.dumps(again))
        opened_ = _message(viewer, "opened")
        received = _bytes_until(viewer, b"the-end\r\n")

    assert opened_["resumed"] is True
    assert received.count(b"\r\n39999\r\n") == 1
    assert len(received) > 100_000


def _message(viewer: ClientConnection, kind: str) -> dict[str, Any]:
    while True:
        message = viewer.recv(timeout=60)
        if isinstance(message, str) and json.loads(message)["type"] == kind:
            return json.loads(message)


def _offset_after(viewer: ClientConnection, text: bytes, *, ack: bool) -> int:
    while True:
        message = viewer.recv(timeout=60)
        if isinstance(message, bytes):
            kind, stream, offset = struct.unpack_from(">BIQ", message)
            end = offset + (len(message) - 13 if kind == 1 else 0)
            if ack:
                viewer.send(json.dumps({"type": "ack", "stream": stream, "offset": end}))
            if text in message:
                return end


def _bytes_until(viewer: ClientConnection, last: bytes) -> bytes:
    """Every byte in order: what is not acknowledged is not sent ahead of a window."""
    received, next_ = bytearray(), None
    while last not in received[-1000:]:
        message = viewer.recv(timeout=60)
        if isinstance(message, bytes):
            kind, stream, offset = struct.unpack_from(">BIQ", message)
            assert kind == 1, "a snapshot came instead of the bytes"
            assert next_ in (None, offset)
            received += message[13:]
            next_ = offset + len(message) - 13
            viewer.send(json.dumps({"type": "ack", "stream": stream, "offset": next_}))
    return bytes(received)


# --- subscriptions ------------------------------------------------------------------------


@pytest.mark.usefixtures("no_sessions")
async def test_an_agent_is_told_that_a_screen_of_a_machine_changed(place: Place) -> None:
    await anyio.to_thread.run_sync(opened, place, "told")
    async with place.client("2026", "wsh") as client:
        resources = [str(each.uri) for each in (await client.list_resources()).resources]
        [uri] = [each for each in resources if "told" in each and "screen" in each][:1]
        async with client.listen(resource_subscriptions=[uri]) as events:
            place.laptop.client.post("/sessions/told/input", {"data": "typed"})
            with anyio.fail_after(WAIT_S):
                async for event in events:
                    if isinstance(event, ResourceUpdated):
                        break
