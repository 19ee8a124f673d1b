"""`/mcp` stands behind the same checks as every other route."""

import json
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
    with httpx.Client(transport=httpx.HTTPTransport(uds=uds)) as client:
        return client.post(f"{server.url()}/mcp", json=message, headers=ACCEPT | (headers or {}))


def bearer(server: ServerProcess) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.token()}"}


def test_a_request_without_a_token_is_told_to_bring_one(server: ServerProcess) -> None:
    answer = post(server, INITIALIZE)

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["error"]["code"] == "auth_required"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Authorization": "Bearer wrong"}, "auth_invalid"),
        ({"Host": "evil.example"}, "origin_not_allowed"),
        ({"Origin": "http://evil.example"}, "origin_not_allowed"),
    ],
)
def test_wrong_tokens_hosts_and_origins_are_refused(
    server: ServerProcess, headers: dict[str, str], code: str
) -> None:
    answer = post(server, INITIALIZE, bearer(server) | headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, code)


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
