"""Tools of rooms for a model: at the hub, and at a front whose bridge is that hub; in both eras of MCP."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ToolsListChanged
from mcp.shared._httpx_utils import create_mcp_http_client

from duetty.errors import ServerUnavailable
from duetty.hub import Bridge
from tests.hub.conftest import Servers
from tests.hub.room_host import ECHO, Host, hosting

pytestmark = [pytest.mark.anyio]

SECRET = "the-bridge-s-own-secret"
WAYS = ["hub-2025", "hub-2026", "front-2025", "front-2026"]


class Place:
    """A hub, a front of it elsewhere, and ann."""

    def __init__(self, stack: ExitStack) -> None:
        self.servers = Servers(stack, BRIDGE_SECRET=SECRET)
        hub = self.servers.hub
        hub.client.post("/users", {"name": "ann"})
        given = {"scopes": ["read", "input", "join"]}
        self.token_id, self.token = self.new_token(given)
        process = subprocess.Popen(
            [sys.executable, "-m", "duetty", "hub", "front", "--bind", "127.0.0.1:0"],
            env={**hub.env, "BRIDGE_SECRET": SECRET, "PARTYKIT_HOST": hub.url()[len("http://") :]},
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.callback(lambda: (process.kill(), process.communicate()))
        assert process.stdout is not None
        self.front = process.stdout.readline().split()[2].removesuffix("/mcp,")
        assert self.front.startswith("http"), self.front

    def new_token(self, given: dict[str, Any]) -> tuple[str, str]:
        made = self.servers.hub.client.post("/users/ann/tokens", given)
        return made["id"], made["token"]

    def url(self, way: str) -> str:
        at_front = way.startswith("front")
        return f"{self.front}/mcp" if at_front else f"{self.servers.hub.url()}/mcp/rooms"


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(stack)


@asynccontextmanager
async def connected(place: Place, way: str, **options: Any) -> AsyncGenerator[Client]:
    async with AsyncExitStack() as stack:
        headers = {"Authorization": f"Bearer {place.token}"}
        http = await stack.enter_async_context(create_mcp_http_client(headers=headers))
        transport = streamable_http_client(place.url(way), http_client=http)
        mode = "legacy" if way.endswith("2025") else "auto"
        client = Client(transport, mode=mode, read_timeout_seconds=60, **options)
        yield await stack.enter_async_context(client)


@asynccontextmanager
async def answering(place: Place, **more: Any) -> AsyncGenerator[Host]:
    """A host of ann's that says back what it was given."""

    async def answer(host: Host) -> None:
        while True:
            call = await host.next()
            if call["type"] == "call":
                await host.answer(call, {"said": call["args"].get("text"), "by": host.room})

    async with (
        hosting(place.servers, place.token, **more) as host,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(answer, host)
        yield host
        tasks.cancel_scope.cancel()


async def called(client: Client, **arguments: Any) -> tuple[bool, dict[str, Any]]:
    result = await client.call_tool("room__echo", arguments)
    return bool(result.is_error), dict(result.structured_content or {})


@pytest.mark.parametrize("way", WAYS)
async def test_none_one_and_several_rooms_have_the_tool(place: Place, way: str) -> None:
    async with connected(place, way) as client:
        failed, none = await called(client, text="hi")
        assert (failed, none["error"]["code"]) == (True, "no_active_session")
        assert "tool host" in none["error"]["hint"]

        async with answering(place, documentName="Home page", fileKey="abc123") as home:
            [tool] = [each for each in (await client.list_tools()).tools if each.name != "echo"]
            assert tool.name == "room__echo"
            assert set(tool.input_schema["properties"]) == {"text", "sessionId"}
            assert tool.input_schema["required"] == ["text"]
            failed, one = await called(client, text="hi")
            assert not failed
            assert one == {"sessionId": home.room, "result": {"said": "hi", "by": home.room}}

            async with answering(place, documentName="Design system", fileKey="def456") as system:
                failed, several = await called(client, text="hi")
                assert (failed, several["error"]["code"]) == (True, "multiple_sessions")
                assert {
                    (each["sessionId"], each["documentName"], each["fileKey"])
                    for each in several["candidates"]
                } == {
                    (home.room, "Home page", "abc123"),
                    (system.room, "Design system", "def456"),
                }
                message = several["error"]["message"]
                assert message.startswith("Multiple sessions are active. Choose one: (")
                assert f"({system.room} \u2013 Design system)" in message
                _, chosen = await called(client, text="you", sessionId=system.room)
                assert chosen["result"]["by"] == system.room
                failed, again = await called(client, text="again")
                if way.endswith("2025"):
                    assert again["sessionId"] == system.room
                else:  # no request knows of another
                    assert failed


@pytest.mark.parametrize("way", WAYS)
async def test_what_does_not_fit_the_announced_schema_never_reaches_the_host(
    place: Place, way: str
) -> None:
    async with answering(place) as host, connected(place, way) as client:
        failed, wrong = await called(client, text=7)
        other, unknown = await called(client, text="x", more=1)

    assert (failed, other) == (True, True)
    assert wrong["error"]["code"] == unknown["error"]["code"] == "invalid_request"
    assert wrong["executed"] is False
    assert host.calls == []


@pytest.mark.parametrize("way", ["front-2025", "front-2026"])
async def test_a_front_has_an_echo_of_its_own(place: Place, way: str) -> None:
    async with connected(place, way) as client:
        answer = await client.call_tool("echo", {"text": "here"})

    assert answer.structured_content == {"text": "here"}


@pytest.mark.parametrize("way", ["hub-2025", "hub-2026"])
async def test_a_model_hears_how_far_a_room_is_and_leaves_it(place: Place, way: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    slow = {"name": "export", "inputSchema": {"type": "object"}}
    async with (
        hosting(place.servers, place.token, tools=[slow]) as host,
        connected(place, way) as client,
        anyio.create_task_group() as tasks,
    ):
        leaving = anyio.CancelScope()

        async def export() -> None:
            with leaving:
                await client.call_tool("room__export", {}, progress_callback=note)

        tasks.start_soon(export)
        call = await host.next()
        told = {"type": "progress", "commandId": call["commandId"], "progress": 3, "total": 9}
        await host.socket.send(json.dumps({**told, "message": "page 3"}))
        with anyio.fail_after(30):
            while not heard:
                await anyio.sleep(0.01)
            leaving.cancel()
            await host.next()

    [call, left] = host.calls
    assert heard == [(3, 9, "page 3")]
    assert left == {"type": "cancel", "commandId": call["commandId"]}


@pytest.mark.parametrize("way", ["front-2025", "front-2026"])
async def test_who_leaves_a_call_at_the_front_leaves_it_in_the_room(place: Place, way: str) -> None:
    async with (
        hosting(place.servers, place.token) as host,
        connected(place, way) as client,
        anyio.create_task_group() as tasks,
    ):
        leaving = anyio.CancelScope()

        async def ask() -> None:
            with leaving:
                await called(client, text="never answered")

        tasks.start_soon(ask)
        await host.next()
        leaving.cancel()
        await host.next()

    [call, left] = host.calls
    assert left == {"type": "cancel", "commandId": call["commandId"]}


@pytest.mark.parametrize("way", ["hub-2026", "front-2026"])
async def test_a_model_is_told_when_tools_come_and_change(place: Place, way: str) -> None:
    async with (
        connected(place, way) as client,
        client.listen(tools_list_changed=True) as events,
        hosting(place.servers, place.token, tools=[]) as host,
    ):
        with anyio.fail_after(30):
            await host.socket.send(json.dumps({"type": "announce", "tools": [ECHO]}))
            async for event in events:
                if isinstance(event, ToolsListChanged):
                    break
        names = [each.name for each in (await client.list_tools()).tools]

    assert "room__echo" in names


async def test_a_front_refuses_who_shows_no_good_token_and_says_how_one_is_shown(
    place: Place,
) -> None:
    id_, token = place.new_token({"scopes": ["read"]})
    place.servers.hub.client.delete(f"/tokens/{id_}")

    def asked(**headers: str) -> httpx.Response:
        return httpx.post(place.url("front-2026"), json={}, headers=headers, timeout=60)

    for headers in ({}, {"Authorization": f"Bearer {token}"}, {"Authorization": "Bearer guessed"}):
        refused = await anyio.to_thread.run_sync(lambda given=headers: asked(**given))
        assert refused.status_code == 401
        assert "resource_metadata=" in refused.headers["www-authenticate"]
    foreign = await anyio.to_thread.run_sync(lambda: asked(Origin="https://evil.example"))
    assert foreign.status_code == 403


def test_a_front_needs_a_bridge_and_its_secret(place: Place) -> None:
    hub = place.servers.hub

    def started(**env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "duetty", "hub", "front", "--bind", "127.0.0.1:0"]
        given = {key: value for key, value in os.environ.items() if key != "BRIDGE_SECRET"}
        return subprocess.run(
            command, env={**given, **env}, capture_output=True, text=True, timeout=60, check=False
        )

    assert "DUETTY_BRIDGE" in started().stderr
    assert "BRIDGE_SECRET" in started(DUETTY_BRIDGE=hub.url()).stderr


async def test_a_front_that_cannot_ask_its_bridge_says_that_it_is_not_its_users_fault(
    place: Place,
) -> None:
    wrong = Bridge(place.servers.hub.url(), "not-the-secret")
    away = Bridge("http://127.0.0.1:9", SECRET)

    with pytest.raises(ServerUnavailable, match="does not have the secret of its bridge"):
        await wrong.sessions(place.token)
    with pytest.raises(ServerUnavailable, match="the bridge cannot be asked"):
        await away.sessions(place.token)


def test_the_bridge_lists_the_users_sessions_for_the_secret(place: Place) -> None:
    def asked(token: str | None, **body: Any) -> httpx.Response:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        url = f"{place.servers.hub.url()}/rooms"
        return httpx.post(url, json=body, headers=headers, timeout=60)

    assert asked(place.token, secret="wrong").status_code == 403
    assert asked(place.token, secret=SECRET).json()["sessions"] == []
    made = place.servers.http.post("/sessions", json={"name": "shell", "command": "cat"}).json()
    [terminal] = asked(None, secret=SECRET).json()["sessions"]
    assert (terminal["sessionId"], terminal["kind"]) == (made["id"], "terminal")
