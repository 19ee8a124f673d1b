"""What a host is told while its server starts: the same as by the server, and nothing that is not sure."""

import fcntl
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tools.generate_first_answers import HANDSHAKES, first_answers

from duetty.cli.first_answers import FILE, FirstAnswers
from duetty.config import make_private
from tests.edges.mcp.host import INITIALIZE, MODERN, hosted
from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty

CLIENT = {"name": "test", "version": "0", "title": "Test"}
NAMED = {**MODERN, "io.modelcontextprotocol/clientInfo": CLIENT}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
FIRST = "the first answers are not those of the server: run `make docs`"


def request(number: object, method: str, params: object = None, **more: object) -> dict[str, Any]:
    given = {} if params is None else {"params": params}
    return {"jsonrpc": "2.0", "id": number, "method": method, **given, **more}


def hello(number: object = 1, **changes: object) -> dict[str, Any]:
    return request(number, "initialize", INITIALIZE | changes)


ANSWERED: dict[str, list[dict[str, Any]]] = {
    **{
        version: [hello(protocolVersion=version), INITIALIZED, request(2, "tools/list")]
        for version in HANDSHAKES
    },
    "ids": [hello("a"), INITIALIZED, request("2", "tools/list", {})],
    "client": [hello(clientInfo=CLIENT), INITIALIZED, request(2, "tools/list")],
    "capabilities": [hello(capabilities={"roots": {}}), request(2, "tools/list")],
    "meta": [hello(), INITIALIZED, request(2, "tools/list", {"_meta": {"progressToken": 7}})],
    "modern": [
        request(1, "server/discover", {"_meta": MODERN}),
        request(2, "tools/list", {"_meta": NAMED}),
    ],
    "modern at once": [request(1, "tools/list", {"_meta": MODERN})],
}
LEFT: dict[str, list[dict[str, Any]]] = {
    "unknown revision": [hello(protocolVersion="1999-01-01")],
    "modern revision in a handshake": [hello(protocolVersion="2026-07-28")],
    "no client": [request(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})],
    "wrong client": [hello(clientInfo={"name": 1, "version": "1"})],
    "wrong capabilities": [hello(capabilities={"roots": 5})],
    "no handshake": [request(1, "tools/list")],
    "discovery without an envelope": [request(1, "server/discover", {})],
    "another revision": [
        request(
            1,
            "tools/list",
            {"_meta": {**MODERN, "io.modelcontextprotocol/protocolVersion": "2027-01-01"}},
        )
    ],
    "half an envelope": [
        request(1, "tools/list", {"_meta": {"io.modelcontextprotocol/clientInfo": CLIENT}})
    ],
    "no capabilities": [
        request(
            1,
            "tools/list",
            {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}},
        )
    ],
    "a cursor": [request(1, "tools/list", {"_meta": MODERN, "cursor": "x"})],
    "a task": [request(1, "tools/list", {"_meta": MODERN, "task": {}})],
    "a truth value": [request(True, "tools/list", {"_meta": MODERN})],
    "a fraction": [request(1.5, "tools/list", {"_meta": MODERN})],
    "params of another kind": [request(1, "tools/list", [])],
    "another member": [request(1, "tools/list", {"_meta": MODERN}, more=1)],
    "a call": [request(1, "tools/call", {"_meta": MODERN, "name": "wsh_list_sessions"})],
    "no JSON-RPC": [{"id": 1, "method": "tools/list", "params": {"_meta": MODERN}}],
}


def told(messages: Sequence[dict[str, Any]]) -> list[Any]:
    answer = FirstAnswers(lambda: "wsh")
    answers = [answer(json.dumps(message).encode()) for message in messages]
    return [None if each is None else json.loads(each) for each in answers]


@pytest.mark.anyio
async def test_the_file_has_what_the_dialects_say() -> None:
    assert FILE.read_text(encoding="utf-8") == await first_answers(), FIRST


@pytest.mark.parametrize("messages", ANSWERED.values(), ids=ANSWERED)
def test_what_is_told_before_the_server_is_there_is_what_it_would_say(
    messages: list[dict[str, Any]], server: ServerProcess
) -> None:
    first = told(messages)

    with hosted(server) as host:
        for message, answer in zip(messages, first, strict=True):
            host.say(json.dumps(message).encode())
            assert answer == (host.hear() if "id" in message else None)


@pytest.mark.parametrize("messages", LEFT.values(), ids=LEFT)
def test_anything_unusual_is_left_to_the_server(messages: list[dict[str, Any]]) -> None:
    assert told(messages) == [None] * len(messages)


def test_a_handshake_that_is_left_to_the_server_leaves_the_rest_to_it_too() -> None:
    again = [hello(1), hello(2), request(3, "tools/list")]
    other = [hello(1, protocolVersion="1999-01-01"), request(2, "tools/list", {"_meta": MODERN})]

    assert [each is not None for each in told(again)] == [True, False, False]
    assert told(other) == [None, None]


def test_other_dialects_wait_for_the_server() -> None:
    for dialect in ("command", "wsh,command", "gateway", ""):
        answer = FirstAnswers(lambda dialect=dialect: dialect)
        assert answer(json.dumps(hello()).encode()) is None


def test_bytes_that_are_no_message_are_left_to_the_server() -> None:
    answer = FirstAnswers(lambda: "wsh")

    for line in (b"{", b"\xff", b"[]", b"7", b"[" * 100_000, b"null", b'"tools/list"'):
        assert answer(line) is None


def test_a_host_is_answered_before_its_server_and_what_it_asks_next_after_it(home: Path) -> None:
    server = ServerProcess(home)
    make_private(server.paths.state)
    make_private(server.paths.runtime)
    with server.paths.lock_file.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as a server holds it that is about to end
        try:
            with hosted(server) as host:
                greeted = host.shake_hands()
                listed = host.ask("tools/list")
                held.close()
                host.say(b"{no message")
                refused = host.hear()
                created = host.call("wsh_create_session", name="s")
        finally:
            server.end()

    assert greeted["serverInfo"]["name"] == "duetty"
    assert len(listed["result"]["tools"]) == 14
    assert refused["error"]["code"] == -32700
    assert created["session"] == "s"


def test_a_server_that_cannot_start_is_told_to_whoever_waits_for_it(home: Path) -> None:
    server = ServerProcess(
        home, DUETTY_SERVER_TLS_CERT="/nowhere", DUETTY_SERVER_TLS_KEY="/nowhere"
    )

    with hosted(server) as host:
        host.shake_hands()
        answer = host.ask("tools/call", {"name": "wsh_list_sessions", "arguments": {}})
        code = host.process.wait(60)
        said = host.process.stderr.read().decode() if host.process.stderr else ""

    assert "could not be started" in answer["error"]["message"]
    assert code == 3
    assert "/nowhere" in said


def test_hosts_that_start_at_once_share_one_server(home: Path) -> None:
    server = ServerProcess(home)

    def pid(_: int) -> object:
        with hosted(server) as host:
            host.shake_hands()
            host.call("wsh_list_sessions")
            return server.client.get("/server/info")["pid"]

    try:
        with ThreadPoolExecutor(3) as hosts:
            pids = set(hosts.map(pid, range(3)))
    finally:
        server.end()

    assert len(pids) == 1


def test_a_host_that_goes_before_its_server_is_there_ends_the_bridge(home: Path) -> None:
    server = ServerProcess(home)
    try:
        with hosted(server) as host:
            host.shake_hands()
            code = host.close()
    finally:
        server.end()

    assert code == 0


def test_a_host_that_says_all_at_once_and_closes_is_answered(home: Path) -> None:
    server = ServerProcess(home)
    try:
        with hosted(server) as host:
            host.say(json.dumps(hello(1)).encode())
            host.say(json.dumps(INITIALIZED).encode())
            host.say(json.dumps(request(2, "resources/list")).encode())
            host.stdin.close()
            answers = [host.hear(), host.hear()]
    finally:
        server.end()

    assert [each["id"] for each in answers] == [1, 2]
    assert answers[1]["result"]["resources"]
