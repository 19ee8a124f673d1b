"""Cookies ignore ports: what whoever was sent the page's cookie can do with it, and cannot."""

import json
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from tests.edges.http.asking import browser_of, code, refusal
from tests.server_process import ServerProcess, running_server
from tests.signed_in import PageKey, cookie_of, prove

pytestmark = pytest.mark.pty


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        yield server


@contextmanager
def viewing(server: ServerProcess, cookie: str) -> Generator[ClientConnection]:
    """With every header that a browser would send: a program can send them all."""
    url = server.url()
    with connect(
        f"{url.replace('http', 'ws', 1)}/ws/view",
        additional_headers={"Cookie": cookie, "Sec-Fetch-Site": "same-origin"},
        origin=url,  # type: ignore[arg-type]  # a NewType of str
        open_timeout=60,
    ) as socket:
        yield socket


def call(socket: ClientConnection, operation: str, **arguments: object) -> dict[str, Any]:
    told = {"type": "call", "id": 1, "operation": operation, "arguments": arguments}
    socket.send(json.dumps(told))
    while True:
        answer = json.loads(socket.recv(60))
        if answer.get("id") == 1:
            return answer


def test_a_page_with_its_key_does_what_a_person_may(server: ServerProcess) -> None:
    cookie, key = cookie_of(server), PageKey()

    with viewing(server, cookie) as page:
        assert prove(page, key) == {"type": "proved"}
        assert "admin" in call(page, "auth.whoami")["result"]["scopes"]
    with viewing(server, cookie) as again:
        assert prove(again, key) == {"type": "proved"}
        typed = call(again, "input.write", session="s", data="echo\r")
    assert "result" in typed


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("approval.approve", {"approval": "x"}),
        ("approval.decline", {"approval": "x"}),
        ("input.write", {"session": "s", "data": "echo\r"}),
        ("session.open", {"name": "stolen"}),
        ("token.create", {"name": "x", "scopes": ["admin"]}),
        ("session.close", {"session": "s"}),
    ],
)
def test_a_stolen_cookie_alone_answers_and_changes_nothing(
    server: ServerProcess, operation: str, arguments: dict[str, object]
) -> None:
    cookie = cookie_of(server)
    with viewing(server, cookie) as page:
        prove(page, PageKey())

    with viewing(server, cookie) as thief:
        thief.recv(60)
        refused = call(thief, operation, **arguments)

    assert refused["error"]["code"] in ("scope_missing", "not_a_person"), refused


def test_a_stolen_cookie_with_another_key_is_refused(server: ServerProcess) -> None:
    cookie = cookie_of(server)
    with viewing(server, cookie) as page:
        prove(page, PageKey())

    with viewing(server, cookie) as thief:
        answer = prove(thief, PageKey())
        again = call(thief, "auth.whoami")["result"]["scopes"]

    assert answer["error"]["code"] == "sign_in_again"
    assert again == ["read"]


def test_a_proof_is_for_one_connection(server: ServerProcess) -> None:
    cookie, key = cookie_of(server), PageKey()
    with viewing(server, cookie) as page:
        seen = key.answer(page.recv(60))
        page.send(seen)
        assert json.loads(page.recv(60)) == {"type": "proved"}

    with viewing(server, cookie) as thief:
        thief.recv(60)
        thief.send(seen)
        replayed = json.loads(thief.recv(60))

    assert replayed["error"]["code"] == "sign_in_again"


@pytest.mark.parametrize(
    "key", ["", "p256:", "p256:AAAA", "secret:x", "rsa:AAAA", "p256:" + "A" * 88]
)
def test_a_key_that_is_none_is_refused(server: ServerProcess, key: str) -> None:
    with viewing(server, cookie_of(server)) as page:
        page.recv(60)
        page.send(json.dumps({"type": "prove", "key": key, "proof": "A" * 88}))
        answer = json.loads(page.recv(60))

    assert answer["error"]["code"] in ("invalid_request", "sign_in_again")


def test_a_stolen_cookie_changes_nothing_by_plain_requests(server: ServerProcess) -> None:
    with browser_of(server) as thief:
        thief.headers["Origin"] = server.url()
        typed = thief.post("/sessions/s/input", json={"data": "echo\r"})
        opened = thief.post("/sessions", json={"name": "stolen"})
        made = thief.post("/tokens", json={"name": "x", "scopes": ["read"]})
        approved = thief.post("/approvals/x/approve", json={})

    assert [each.status_code for each in (typed, opened, made, approved)] == [403] * 4, typed.text
    assert {code(each) for each in (opened, made, approved)} <= {"scope_missing", "not_a_person"}


def test_a_cookie_without_a_word_on_who_asks_is_refused_reads_included(
    server: ServerProcess,
) -> None:
    name, _, value = cookie_of(server).partition("=")
    with httpx.Client(base_url=server.url(), cookies={name: value}, timeout=60) as plain:
        bare = plain.get("/sessions")
        cross = plain.get("/sessions", headers={"Sec-Fetch-Site": "cross-site"})
        near = plain.get("/sessions", headers={"Sec-Fetch-Site": "same-site"})
        page = plain.get("/sessions", headers={"Duetty-Page": "1"})
        typed = plain.get("/sessions", headers={"Sec-Fetch-Site": "none"})

    assert {refusal(each) for each in (bare, cross, near)} == {(403, "origin_not_allowed")}
    assert (page.status_code, typed.status_code) == (200, 200)


def test_a_second_servers_sign_in_leaves_the_firsts_alone(
    server: ServerProcess, home: Path
) -> None:
    with running_server(home) as second, browser_of(server) as browser:
        link = second.client.post("/server/link")["link"]
        assert browser.get(link).status_code == 303

        first = browser.get(f"{server.url()}/sessions")
        other = browser.get(f"{second.url()}/sessions")

    assert (first.status_code, other.status_code) == (200, 200)
