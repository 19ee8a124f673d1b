"""Machines, tool hosts and providers that go to the bounds of what a hub takes from them."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from duetty.clock import SystemClock
from duetty.errors import BadArguments, ServerUnavailable
from duetty.hub import parse_aside
from duetty.hub.addresses import IpRules
from duetty.hub.identity import new_key
from duetty.hub.jwt_tokens import JwtTokens, Provider
from duetty.hub.network import Network
from duetty.hub.rooms import MAX_ANNOUNCED_VALUES
from duetty.hub.streams import ASIDE_BYTES, PART_BYTES, Frame, Kind, Streams
from duetty.ops.joined_nodes import MAX_TOLD_VALUES
from tests.hostile.beside import token_of
from tests.hostile.test_fuzz import PUBLISHED, SHOWN
from tests.server_process import ServerProcess, running_server


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server


# --- machines -------------------------------------------------------------------


def join(machine: ClientConnection) -> None:
    challenge = json.loads(machine.recv(30))["challenge"]
    key = new_key()
    hello = {
        "node": key.public,
        "signature": key.sign(challenge),
        "protocols": [1],
        "hostname": "m",
    }
    machine.send(json.dumps(hello))
    assert "welcome" in json.loads(machine.recv(30))


@pytest.mark.pty
def test_a_machine_that_lists_more_than_it_can_have_is_closed_with_the_reason(
    server: ServerProcess,
) -> None:
    url = f"{server.url().replace('http', 'ws', 1)}/ws/node"
    headers = {"Authorization": f"Bearer {token_of(server, 'node')}"}
    with connect(url, additional_headers=headers) as machine:
        join(machine)
        machine.send(json.dumps({"sessions": [["s", "n"]] * (MAX_TOLD_VALUES // 3 + 1)}))
        with pytest.raises(ConnectionClosed):
            machine.recv(30)

    assert machine.close_code == 4400
    assert server.client.is_up()


@pytest.mark.anyio
async def test_a_machine_that_says_too_much_beside_an_answer_ends_that_answer_and_no_other() -> (
    None
):
    async def nowhere(message: bytes) -> None: ...

    streams = Streams(nowhere, opened=None)
    flooded, other = streams.open(), streams.open()
    for _ in range(ASIDE_BYTES // PART_BYTES + 1):
        flooded.take(Frame(Kind.ASIDE, bytes(PART_BYTES)))
    other.take(Frame(Kind.HEAD, b"{}", end=True))

    with anyio.fail_after(5):
        for _ in range(ASIDE_BYTES // PART_BYTES):
            await flooded.receive()
        with pytest.raises(ServerUnavailable):
            await flooded.receive()
        assert (await other.receive()).json() == {}


# --- tool hosts -----------------------------------------------------------------


def announcement(properties: int) -> dict[str, Any]:
    schema = {"properties": {f"p{number}": {"type": "string"} for number in range(200)}}
    tools = [{"name": f"t{at}", "inputSchema": schema} for at in range(properties // 200)]
    return {"type": "announce", "protocol": 1, "tools": tools}


@pytest.mark.anyio
async def test_a_large_announcement_is_looked_at_beside_the_loop() -> None:
    turns, announced = 0, None

    async def turn() -> None:
        nonlocal turns
        while True:
            await anyio.sleep(0.001)
            turns += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(turn)
        await parse_aside(announcement(200), 10_000)  # loads what it needs
        turns = 0
        with anyio.fail_after(60):
            announced = await parse_aside(announcement(2_000), 100_000)
        tasks.cancel_scope.cancel()

    assert announced is not None
    assert len(announced.tools) == 10
    assert turns > 5, "the loop stood still for a third of a second"


@pytest.mark.anyio
async def test_an_announcement_of_more_than_anybody_means_is_refused_unread() -> None:
    with pytest.raises(BadArguments, match=str(MAX_ANNOUNCED_VALUES)):
        await parse_aside(announcement(MAX_ANNOUNCED_VALUES), 1_000_000)


# --- identity providers ---------------------------------------------------------


@pytest.mark.parametrize(
    "published", [b"", b"<html>", b"[]", b'{"keys": 1}', b'{"keys": [' + b"[]," * 60_000 + b"1]}"]
)
def test_a_provider_that_publishes_no_keys_for_a_moment_locks_nobody_out(published: bytes) -> None:
    provider = Provider(issuer="i", audience="a", jwks="http://127.0.0.1:1/keys")
    tokens = JwtTokens(provider, Network(IpRules()), SystemClock())
    tokens.learn(PUBLISHED)

    tokens.learn(published)

    assert tokens.claims(SHOWN.decode()) is not None


def test_a_provider_that_withdraws_its_keys_is_obeyed() -> None:
    provider = Provider(issuer="i", audience="a", jwks="http://127.0.0.1:1/keys")
    tokens = JwtTokens(provider, Network(IpRules()), SystemClock())
    tokens.learn(PUBLISHED)

    tokens.learn(b'{"keys": []}')

    assert tokens.claims(SHOWN.decode()) is None
