"""How connections end: limits, dead and slow peers, revoked tokens, a stopping server."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.edges.websocket.connect import connected, drain, speaking, viewing
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


def api(server: ServerProcess) -> httpx.Client:
    headers = {"Authorization": f"Bearer {server.token()}"}
    return httpx.Client(base_url=server.url(), headers=headers, timeout=60)


async def closed_as(receive: Any) -> tuple[int, str]:
    with pytest.raises(ConnectionClosed) as closed:
        await drain(receive)
    assert closed.value.rcvd is not None
    return closed.value.rcvd.code, closed.value.rcvd.reason


@pytest.mark.parametrize("frames", [1, 17])
async def test_a_message_above_a_mebibyte_closes_the_connection(
    server: ServerProcess, frames: int
) -> None:
    async with connected(server, "/ws/json") as client:

        async def fragments() -> AsyncIterator[str]:
            for _ in range(frames):
                yield "x" * (1024 * 1024 // frames + 1)
            await client.wait_closed()  # who goes on sending need not hear why it was closed

        with suppress(ConnectionClosed):
            await client.send(fragments())
        code, _ = await closed_as(client.recv)

    assert code == 1009
    async with viewing(server):
        pass  # and nobody else notices


async def test_a_revoked_token_closes_what_it_opened_and_nothing_else(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    made = http.post("/tokens", json={"name": "short", "scopes": ["read", "input"]}).json()
    token = made["token"]

    async with (
        viewing(server) as other,
        connected(server, "/ws/view", token=token) as view,
        connected(server, f"/sessions/{session}/ws/raw", token=token) as raw,
        connected(server, f"/sessions/{session}/ws/json", token=token) as session_json,
        connected(server, "/ws/json", token=token) as server_json,
    ):
        http.delete(f"/tokens/{made['info']['id']}").raise_for_status()
        ends = [await closed_as(each.recv) for each in (view, raw, session_json, server_json)]
        await other.say("call", id=1, operation="server.health", arguments={})
        await other.until("result")

    assert set(ends) == {(1008, "credential revoked")}


async def test_who_may_only_read_can_look_and_neither_type_nor_set_the_size(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    made = http.post("/tokens", json={"name": "reader", "scopes": ["read"]}).json()

    async with viewing(server, token=made["token"]) as viewer:
        await viewer.open(session, size={"cols": 40, "rows": 10})
        await viewer.type(b"echo no\r")
        typed = await viewer.until("error")
        await viewer.say("size", stream=1, cols=30, rows=5)
        sized = await viewer.until("error")
        await viewer.say("call", id=1, operation="session.remove", arguments={"session": session})
        removed = await viewer.until("error")

    codes = {told["error"]["code"] for told in (typed, sized, removed)}
    assert codes == {"scope_missing"}
    info = http.get(f"/sessions/{session}").json()
    assert (info["cols"], info["rows"]) == (80, 24)


async def test_who_may_only_look_is_told_no_keys_by_either_json_socket(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    token = http.post("/tokens", json={"name": "reader", "scopes": ["read"]}).json()["token"]

    async with (
        speaking(server, f"/sessions/{session}/ws/json", token=token) as of_session,
        speaking(server, "/ws/json", token=token) as of_server,
    ):
        keys = [
            await of_session.call("subscribe", events=["input"]),
            await of_server.call("subscribe", session, events=["input"]),
        ]
        lines = await of_session.call("subscribe", events=["lines"])

    assert keys == ["scope_missing"] * 2
    assert lines == {"events": ["lines"]}


async def test_who_may_only_type_can_do_that_and_is_told_nothing(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    made = http.post("/tokens", json={"name": "typist", "scopes": ["input"]}).json()

    async with speaking(server, "/ws/json", token=made["token"]) as client:
        sent = await client.call("send_input", session, data="echo ty''ped\r")
        http.post("/sessions", json={"name": "unseen", "command": "cat"})
        http.delete("/sessions/unseen")
        read = await client.call("get_screen", session)
        subscribed = await client.call("subscribe", session, events=["lines"])
    with pytest.raises(InvalidStatus) as refused:
        async with connected(server, f"/sessions/{session}/ws/raw", token=made["token"]):
            pass

    assert (sent, read, subscribed) == ({}, "scope_missing", "scope_missing")
    assert not [told for told in client.events if "event" in told]
    assert refused.value.response.status_code == 403
    waited = http.post(f"/sessions/{session}/wait", json={"text": "\ntyped"})
    assert waited.status_code == 200


async def test_a_token_for_one_session_sees_no_other(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    http.post("/sessions", json={"name": "private", "command": "cat"})
    made = http.post(
        "/tokens", json={"name": "one", "scopes": ["read", "input"], "session": session}
    ).json()

    async with viewing(server, token=made["token"]) as viewer:
        await viewer.say("watch")
        listed = await viewer.until("sessions")
        await viewer.say("open", stream=1, session="private")
        refused = await viewer.until("error")
    with pytest.raises(InvalidStatus) as upgrade:
        async with connected(server, "/sessions/private/ws/raw", token=made["token"]):
            pass
    async with speaking(server, "/ws/json", token=made["token"]) as client:
        screen = await client.call("get_screen", "private")
        http.delete("/sessions/private")
        await client.call("get_screen", session)

    assert [each["name"] for each in listed["sessions"]] == [session]
    assert refused["error"]["code"] == "scope_missing"
    assert upgrade.value.response.status_code == 403
    assert screen == "scope_missing"
    assert "private" not in json.dumps([t for t in client.events if "event" in t])


async def test_a_ticket_opens_one_connection_once(
    server: ServerProcess, http: httpx.Client
) -> None:
    from websockets.asyncio.client import connect

    ticket = http.post("/auth/ws-ticket").json()["ticket"]
    url = server.url().replace("http://", "ws://") + f"/ws/view?ticket={ticket}"

    async with connect(url) as first:
        hello = json.loads(await first.recv())
    with pytest.raises(InvalidStatus) as again:
        async with connect(url):
            pass

    assert hello["type"] == "hello"
    assert again.value.response.status_code == 401
    assert ticket not in server.paths.log_file.read_text()


async def test_a_stopping_server_says_so_and_does_not_wait(home: Path) -> None:
    with running_server(home) as server:
        with api(server) as http:
            http.post("/sessions", json={"name": "s", "command": "cat"})
            http.post("/sessions/s/wait", json={"state": ["awaiting_input"]})
        async with (
            connected(server, "/ws/view") as view,
            connected(server, "/sessions/s/ws/raw") as raw,
            connected(server, "/ws/json") as server_json,
        ):
            server.client.post("/server/stop", {"keep_sessions": True})
            ends = [await closed_as(each.recv) for each in (view, raw, server_json)]
        with anyio.fail_after(60):
            await anyio.to_thread.run_sync(server.wait_ended)

    assert set(ends) == {(1001, "server stopping")}


async def test_a_dead_peer_is_dropped_and_gives_its_place_up(home: Path) -> None:
    with running_server(home, DUETTY_SERVER_PING_S="1") as server, api(server) as http:
        http.post("/sessions", json={"name": "s", "command": "cat"})
        dead = socket.socket(socket.AF_UNIX)
        dead.connect(str(server.paths.server_socket))
        dead.sendall(
            b"GET /sessions/s/ws/raw HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        assert b"101" in dead.recv(4096)
        counts = [http.get("/sessions/s").json()["clients"]]
        with anyio.fail_after(60):
            while counts[-1] != 0:
                await anyio.sleep(0.05)
                counts.append(http.get("/sessions/s").json()["clients"])
        dead.close()

    assert counts[0] == 1


async def test_a_peer_that_takes_nothing_costs_little_and_is_dropped_in_the_end(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    deaf = socket.socket(socket.AF_UNIX)
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.connect(str(server.paths.server_socket))
    deaf.sendall(
        f"GET /sessions/{session}/ws/raw HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    assert b"101" in deaf.recv(4096)

    http.post(f"/sessions/{session}/input", content=b"seq 1 300000; echo the-''end\r")
    http.post(f"/sessions/{session}/wait", json={"text": "the-end", "max_wait_ms": 30_000})
    with anyio.fail_after(60):
        while http.get(f"/sessions/{session}").json()["clients"]:
            await anyio.sleep(0.1)
    deaf.settimeout(20)
    with suppress(ConnectionResetError):
        while deaf.recv(1 << 20):
            pass  # what the kernel had; then nobody is there any more
    deaf.close()


async def test_after_the_servers_close_the_connection_ends_at_once(
    server: ServerProcess, session: str
) -> None:
    url = f"/sessions/{session}/ws/raw?flow=ack"
    async with connected(server, url, close_timeout=None) as client:
        await client.send("not a number")
        with anyio.fail_after(5):  # the server itself would give up after ten seconds
            await client.wait_closed()

    assert client.close_code == 1007
