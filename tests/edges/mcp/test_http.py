"""`/mcp` stands behind the same checks as every other route."""

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    },
}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def post(
    server: ServerProcess,
    message: dict[str, Any],
    headers: dict[str, str] | None = None,
    *,
    over_socket: bool = False,
) -> httpx.Response:
    uds = str(server.paths.server_socket) if over_socket else None
    with httpx.Client(transport=httpx.HTTPTransport(uds=uds), timeout=60) as client:
        return client.post(f"{server.url()}/mcp", json=message, headers=ACCEPT | (headers or {}))


def bearer(server: ServerProcess) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.token()}"}


def test_a_request_without_a_token_is_told_to_bring_one(server: ServerProcess) -> None:
    answer = post(server, INITIALIZE)

    at = f"{server.url()}/.well-known/oauth-protected-resource/mcp"
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{at}"'
    assert answer.json()["error"]["code"] == "auth_required"


def test_a_wrong_token_is_called_so(server: ServerProcess) -> None:
    answer = post(server, INITIALIZE, {"Authorization": "Bearer nonsense"})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith('Bearer error="invalid_token", ')


@pytest.mark.parametrize(
    ("place", "resource"), [("", "/mcp"), ("/mcp", "/mcp"), ("/mcp/command", "/mcp/command")]
)
def test_the_resource_describes_itself_without_a_token(
    server: ServerProcess, place: str, resource: str
) -> None:
    answer = httpx.get(f"{server.url()}/.well-known/oauth-protected-resource{place}")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == {
        "resource": f"{server.url()}{resource}",
        "resource_name": "Duetty",
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["read", "input", "control", "approve", "admin"],
    }


def test_the_resource_does_not_describe_itself_under_a_foreign_name(server: ServerProcess) -> None:
    place = f"{server.url()}/.well-known/oauth-protected-resource/mcp"

    assert httpx.get(place, headers={"Host": "evil.example"}).status_code == 403
    assert httpx.get(place, headers={"Origin": "http://evil.example"}).status_code == 403
    assert httpx.post(place).status_code in (403, 405)


@pytest.mark.parametrize("bad", [None, 1.5, True, [], {}])
def test_a_request_with_an_id_that_is_none_gets_an_error(server: ServerProcess, bad: Any) -> None:
    session = post(server, INITIALIZE, bearer(server)).headers["mcp-session-id"]
    mine = bearer(server) | {"Mcp-Session-Id": session}
    post(server, {"jsonrpc": "2.0", "method": "notifications/initialized"}, mine)
    while post(server, PING, mine).status_code != 200:
        pass

    answer = post(server, PING | {"id": bad}, mine)

    assert answer.status_code == 400
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Authorization": "Bearer wrong"}, 401, "auth_invalid"),
        ({"Host": "evil.example"}, 403, "origin_not_allowed"),
        ({"Origin": "http://evil.example"}, 403, "origin_not_allowed"),
    ],
)
def test_wrong_tokens_hosts_and_origins_are_refused(
    server: ServerProcess, headers: dict[str, str], status: int, code: str
) -> None:
    answer = post(server, INITIALIZE, bearer(server) | headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_a_connection_is_served_only_to_the_actor_who_opened_it(server: ServerProcess) -> None:
    opened = post(server, INITIALIZE, bearer(server))
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}

    mine = post(server, PING, bearer(server) | session)
    theirs = post(server, PING, session, over_socket=True)

    assert (mine.status_code, theirs.status_code) == (200, 404)


def test_answers_carry_the_security_headers_of_the_edge(server: ServerProcess) -> None:
    answer = post(server, INITIALIZE, bearer(server))

    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"


def test_a_body_that_is_not_json_is_answered_with_a_parse_error(server: ServerProcess) -> None:
    with httpx.Client() as client:
        answer = client.post(
            f"{server.url()}/mcp",
            content=b"{not json",
            headers={**ACCEPT, **bearer(server), "Content-Type": "application/json"},
        )

    assert (answer.status_code, json.loads(answer.content)["error"]["code"]) == (400, -32700)


def test_a_method_that_does_not_exist_is_an_error_of_the_protocol(server: ServerProcess) -> None:
    opened = post(server, INITIALIZE, bearer(server))
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}

    answer = post(server, {**PING, "method": "no/such"}, bearer(server) | session)

    assert '"code":-32601' in answer.text


@contextmanager
def bounded(home: Path, bound: str) -> Generator[ServerProcess]:
    """A server with a bound of its MCP sessions made small."""
    server = ServerProcess(home)
    server.start_with(bound)
    try:
        yield server
    finally:
        server.end()


def opened(server: ServerProcess) -> dict[str, str]:
    """The headers of a session whose handshake is over."""
    begun = post(server, INITIALIZE, bearer(server))
    assert begun.status_code == 200, begun.text
    mine = bearer(server) | {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    post(server, {"jsonrpc": "2.0", "method": "notifications/initialized"}, mine)
    return mine


def test_sessions_are_capped_and_one_that_ends_makes_room(home: Path) -> None:
    with bounded(home, "duetty.ops.bounds.MCP_SESSIONS = 8") as server:
        first, second = opened(server), opened(server)
        refused = post(server, INITIALIZE, bearer(server))
        still = [post(server, PING, each).status_code for each in (first, second)]
        httpx.delete(f"{server.url()}/mcp", headers=ACCEPT | first)
        after = post(server, INITIALIZE, bearer(server))

    assert refused.status_code == 503
    assert "mcp-session-id" not in refused.headers
    assert still == [200, 200]
    assert after.status_code == 200


def test_a_session_that_nobody_uses_is_forgotten_and_one_with_a_call_on_its_way_is_not(
    home: Path,
) -> None:
    def call(tool: str, **arguments: object) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments}
        return {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}

    with bounded(home, "duetty.edges.mcp.transports.HTTP_IDLE_S = 2") as server:
        idle, used = opened(server), opened(server)
        post(server, call("wsh_create_session", name="s"), used)
        run = call("wsh_run_command", session="s", input="sleep 5; echo done", view="output")
        ran = post(server, run, used)
        deadline_s = time.monotonic() + 60
        while (gone := post(server, PING, idle)).status_code != 404:
            assert time.monotonic() < deadline_s
            time.sleep(3)  # each question is a use

    assert '"output":"done"' in ran.text.replace(" ", "")
    assert gone.status_code == 404
