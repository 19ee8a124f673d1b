"""Who subscribed is told of changes, in both eras, and not more often than can be read."""

import secrets
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp.types import (
    INVALID_PARAMS,
    PromptReference,
    ResourceListChangedNotification,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
)

from tests.edges.mcp.connect import WAYS, call, connected
from tests.edges.mcp.host import hosted
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

LEGACY = [way for way in WAYS if way.endswith("2025")]
MODERN_WAYS = [way for way in WAYS if way.endswith("2026")]


class Told:
    """What a client of the handshake era was told unasked."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self._came = anyio.Event()

    async def __call__(self, message: Any) -> None:
        self.messages.append(message)
        self._came.set()

    async def wait(self, kind: type) -> Any:
        with anyio.fail_after(60):
            while True:
                for message in self.messages:
                    if isinstance(message, kind):
                        self.messages.remove(message)
                        return message
                self._came = anyio.Event()
                await self._came.wait()


async def opened(client: Client) -> str:
    name = f"w{secrets.token_hex(4)}"
    await call(client, "wsh_create_session", name=name)
    return name


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize("way", LEGACY)
async def test_a_subscriber_is_told_that_a_screen_changed_and_no_more_after_it_unsubscribed(
    server: ServerProcess, way: str
) -> None:
    told = Told()
    async with connected(way, server, message_handler=told) as client:
        name = await opened(client)
        uri = f"wsh://sessions/{name}/screen"
        session: Any = client.session  # deprecated, and what clients of that era say
        await session.subscribe_resource(uri)
        await call(client, "wsh_run_command", session=name, input="echo hello")
        updated = await told.wait(ResourceUpdatedNotification)
        other = f"wsh://sessions/{name}/scrollback"
        await session.subscribe_resource(other)
        await session.unsubscribe_resource(uri)
        told.messages.clear()
        later: list[str] = []
        for _ in range(3):  # each change would be told of both
            await call(client, "wsh_run_command", session=name, input="echo again")
            later.append(str((await told.wait(ResourceUpdatedNotification)).params.uri))
        with pytest.raises(MCPError) as unknown:
            await session.subscribe_resource("wsh://sessions/nobody/screen")

    assert str(updated.params.uri) == uri
    assert later == [other] * 3
    assert unknown.value.error.code == INVALID_PARAMS


@pytest.mark.parametrize("way", LEGACY)
async def test_a_client_of_the_handshake_era_is_told_when_sessions_come_and_go(
    server: ServerProcess, way: str
) -> None:
    told = Told()
    async with connected(way, server, message_handler=told) as client:
        capabilities = client.server_capabilities.resources
        name = await opened(client)
        await told.wait(ResourceListChangedNotification)
        listed = [str(each.uri) for each in (await client.list_resources()).resources]
        await call(client, "wsh_manage_session", session=name, action="kill")
        await told.wait(ResourceListChangedNotification)

    assert capabilities is not None
    assert (capabilities.subscribe, capabilities.list_changed) == (True, True)
    assert f"wsh://sessions/{name}/screen" in listed
    assert listed[0] == "wsh://sessions"


@pytest.mark.parametrize("way", MODERN_WAYS)
async def test_a_listener_of_the_modern_era_is_told_what_it_asked_for(
    server: ServerProcess, way: str
) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        uri = f"wsh://sessions/{name}/scrollback"
        events: set[Any] = set()
        with anyio.fail_after(60):
            async with client.listen(
                resources_list_changed=True, resource_subscriptions=[uri]
            ) as heard:
                await call(client, "wsh_send_input", session=name, input="echo hi\n")
                other = await opened(client)
                async for event in heard:
                    events.add(event)
                    if len(events) == 2:
                        break

    assert events == {ResourceUpdated(uri=uri), ResourcesListChanged()}
    assert other


@pytest.mark.parametrize("way", MODERN_WAYS)
async def test_a_flood_is_told_a_few_times_a_second(server: ServerProcess, way: str) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        uri = f"wsh://sessions/{name}/screen"
        count = 0
        async with client.listen(resource_subscriptions=[uri]) as heard:
            await call(client, "wsh_send_input", session=name, input="timeout 2 yes\n")
            with anyio.move_on_after(2.5):
                async for _ in heard:
                    count += 1
            with anyio.fail_after(60):  # a busy machine may not have begun yet
                while count < 2:
                    await anext(heard)
                    count += 1

    assert count <= 15


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize("way", LEGACY)
async def test_a_flood_is_told_a_few_times_a_second_in_the_handshake_era_too(
    server: ServerProcess, way: str
) -> None:
    told = Told()
    async with connected(way, server, message_handler=told) as client:
        name = await opened(client)
        session: Any = client.session
        await session.subscribe_resource(f"wsh://sessions/{name}/screen")
        flood = "for i in $(seq 150); do echo $i; sleep 0.01; done"
        ran = await call(client, "wsh_run_command", session=name, input=flood, view="output")
        await told.wait(ResourceUpdatedNotification)
        count = 1 + sum(isinstance(each, ResourceUpdatedNotification) for each in told.messages)

    assert ran["exit_code"] == 0
    assert count <= 3 + ran["duration_ms"] / 250


@pytest.mark.parametrize("way", WAYS)
async def test_session_names_are_completed(server: ServerProcess, way: str) -> None:
    async with connected(way, server) as client:
        name = await opened(client)
        template = ResourceTemplateReference(uri="wsh://sessions/{name}/screen")
        found = await client.complete(template, {"name": "name", "value": name[:5]})
        none = await client.complete(template, {"name": "name", "value": "nobody-"})
        other = await client.complete(template, {"name": "other", "value": ""})

        for unknown in (ResourceTemplateReference(uri="wsh://x/{name}"), PromptReference(name="x")):
            with pytest.raises(MCPError) as refused:
                await client.complete(unknown, {"name": "name", "value": ""})
            assert refused.value.error.code == INVALID_PARAMS

    assert found.completion.values == [name]
    assert (none.completion.values, other.completion.values) == ([], [])


def test_subscriptions_go_on_after_the_server_was_replaced(home: Path) -> None:
    with running_server(home) as server, hosted(server) as host:
        first = server.process
        host.shake_hands()
        host.call("wsh_create_session", name="kept")
        uri = "wsh://sessions/kept/screen"
        assert "result" in host.ask("resources/subscribe", {"uri": uri})

        server.start("--replace")
        host.ask("ping")
        host.told.clear()
        host.call("wsh_run_command", session="kept", input="echo again")
        told = host.hear_told("notifications/resources/updated")

        assert first is not None
        assert first.wait(60) == 0
        assert first.stderr is not None
        first.stderr.close()
    assert told["params"]["uri"] == uri
