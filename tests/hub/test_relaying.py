"""WebSockets and events of a session that another server has."""

import json
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.edges.http.asking import new_token
from tests.edges.websocket.connect import connected, drain, speaking
from tests.hub.conftest import Servers
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty, pytest.mark.anyio]

THERE = {"server": "alpha"}


@pytest.fixture(scope="module")
def far(servers: Servers, node: ServerProcess) -> str:
    """A session of the node; one of the same name here shows something else."""
    for where, command in (({}, "sh -c 'echo here; exec cat'"), (THERE, "bash")):
        made = servers.http.post("/sessions", json={"name": "relayed", "command": command, **where})
        assert made.status_code == 201
    ready = servers.http.post("/sessions/relayed/wait", json={"state": ["prompt"], **THERE})
    assert ready.status_code == 200
    return "relayed"


async def test_raw_bytes_of_a_session_elsewhere_pass_both_ways(servers: Servers, far: str) -> None:
    async with connected(servers.hub, f"/sessions/{far}/ws/raw?server=alpha") as socket:
        with anyio.fail_after(60):
            first = await socket.recv()
            assert isinstance(first, bytes)
            await socket.send(b"echo r-$((40+2))\n")
            shown = first
            while b"r-42" not in shown:
                part = await socket.recv()
                assert isinstance(part, bytes)
                shown += part

    assert b"here" not in first


async def test_who_may_only_read_sees_and_cannot_type(servers: Servers, far: str) -> None:
    reader = new_token(servers.http, "read")
    path = f"/sessions/{far}/ws/raw?server=alpha"
    async with connected(servers.hub, path, token=reader) as socket:
        with anyio.fail_after(60):
            await socket.recv()
            await socket.send(b"touch-by-reader\n")
            servers.http.post(f"/sessions/{far}/input", params=THERE, content=b": by-owner\n")
            shown = b""
            while b"by-owner" not in shown:
                part = await socket.recv()
                assert isinstance(part, bytes)
                shown += part

    assert b"touch-by-reader" not in shown


async def test_json_requests_and_events_are_those_of_the_session_elsewhere(
    servers: Servers, node: ServerProcess, far: str
) -> None:
    async with speaking(servers.hub, f"/sessions/{far}/ws/json?server=alpha") as client:
        subscribed = await client.call("subscribe", events=["lines", "input"], format="plain")
        sync = await client.until("sync")
        sent = await client.call("send_input", data="echo j-$((40+2))\n")
        line = await client.until(
            lambda told: told.get("event") == "line" and told["line"].startswith("j-42")
        )
        captured = await client.call("capture_input")
        mode = await client.call("get_input_mode")
        unknown = await client.call("no_such")
        waited = await client.call("await_idle", timeout_ms=50)

        assert node.client.get(f"/sessions/{far}/input/mode")["mode"] == "capture"
        assert servers.hub.client.get(f"/sessions/{far}/input/mode")["mode"] == "passthrough"

    assert subscribed == {"events": ["lines", "input"]}
    assert "here" not in json.dumps(sync["screen"])
    assert sent == {}
    assert line["line"] == "j-42"
    assert isinstance(captured, dict)
    assert mode["mode"] == "capture"
    assert unknown == "unknown_method"
    assert waited["generation"] > 0
    with anyio.fail_after(60):
        # Captured by the connection, so released with it.
        while node.client.get(f"/sessions/{far}/input/mode")["mode"] != "passthrough":
            await anyio.sleep(0.02)


async def test_a_reader_cannot_change_anything_over_a_relayed_socket(
    servers: Servers, node: ServerProcess, far: str
) -> None:
    changes: list[tuple[str, dict[str, Any]]] = [
        ("send_input", {"data": "x"}),
        ("capture_input", {}),
        ("input.capture", {}),
        ("command.run", {"input": "id"}),
        ("session.remove", {}),
        ("subscribe", {"events": ["lines", "input"]}),
    ]
    reader = new_token(servers.http, "read")
    path = f"/sessions/{far}/ws/json?server=alpha"
    async with speaking(servers.hub, path, token=reader) as client:
        screen = await client.call("get_screen")
        refused = [await client.call(method, **params) for method, params in changes]
    keys = httpx.get(
        f"{servers.hub.url()}/sessions/{far}/events",
        params={"events": "input", **THERE},
        headers={"Authorization": f"Bearer {reader}"},
    )

    assert screen["rows"] == 24
    assert refused == ["scope_missing"] * 6
    assert keys.status_code == 403
    assert node.client.get(f"/sessions/{far}/input/mode")["mode"] == "passthrough"


async def test_a_relayed_socket_follows_a_rename_and_ends_with_the_session(
    servers: Servers, node: ServerProcess
) -> None:
    servers.http.post("/sessions", json={"name": "brief", "command": "cat", **THERE})
    async with speaking(servers.hub, "/sessions/brief/ws/json?server=alpha") as client:
        node.client.patch("/sessions/brief", {"name": "shortly"})
        screen = await client.call("get_screen")
        node.client.delete("/sessions/shortly?grace_ms=0")
        with pytest.raises(ConnectionClosed) as ended:
            await drain(client.take)

    assert screen["cols"] == 80
    assert ended.value.rcvd is not None
    assert ended.value.rcvd.reason == "session ended"


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/sessions/relayed/ws/raw?server=nobody", 404, "server_not_found"),
        ("/sessions/none/ws/json?server=alpha", 404, "session_not_found"),
        ("/sessions/none/ws/raw?server=alpha", 404, "session_not_found"),
        ("/ws/json?server=nobody", 404, "server_not_found"),
        ("/ws/view?server=alpha", 400, "invalid_request"),
        ("/sessions/relayed/ws/raw?server=alpha&flow=odd", 400, "invalid_request"),
    ],
)
async def test_an_upgrade_that_leads_nowhere_is_refused_with_a_code(
    servers: Servers, far: str, path: str, status: int, code: str
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connected(servers.hub, path):
            pass

    response = refused.value.response
    assert response.status_code == status
    assert json.loads(response.body or b"")["error"]["code"] == code


async def test_a_ticket_opens_a_relayed_socket_once_and_is_not_passed_on(
    servers: Servers, far: str
) -> None:
    ticket = servers.http.post("/auth/ws-ticket").json()["ticket"]
    path = f"/sessions/{far}/ws/json?server=alpha&ticket={ticket}"
    url = servers.hub.url().replace("http://", "ws://") + path
    async with connect(url) as socket:
        hello = json.loads(await socket.recv())
    with pytest.raises(InvalidStatus) as again:
        async with connect(url):
            pass

    assert hello == {"connected": True}
    assert again.value.response.status_code == 401


async def test_events_of_a_session_elsewhere_are_streamed(servers: Servers, far: str) -> None:
    headers = {"Authorization": f"Bearer {servers.hub.token()}"}
    heard = ""
    async with httpx.AsyncClient(base_url=servers.hub.url(), headers=headers, timeout=60) as http:
        path = f"/sessions/{quote(far)}/events"
        params = {"server": "alpha", "events": "lines", "format": "plain"}
        with anyio.fail_after(60):
            async with http.stream("GET", path, params=params) as events:
                assert events.headers["content-type"].startswith("text/event-stream")
                async for text in events.aiter_text():
                    if not heard:
                        await http.post(
                            f"/sessions/{far}/input", params=THERE, content=b"echo e-$((40+2))\n"
                        )
                    heard += text
                    if '"e-42"' in heard:
                        break
        unknown = await http.get("/events", params={"server": "nobody"})
        missing = await http.get("/sessions/none/events", params=THERE)

    assert "event: sync" in heard
    assert (unknown.status_code, missing.status_code) == (404, 404)
