"""Who may come in, and what each credential allows."""

import json
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from duetty.ops import Bounds
from tests.edges.http.asking import browser_of, client_of, code, new_token, refusal, with_token
from tests.server_process import ServerProcess
from tests.signed_in import cookie_of

pytestmark = [pytest.mark.pty]


@contextmanager
def viewing(
    server: ServerProcess, query: str = "", *, origin: str | None = None, **headers: str
) -> Generator[ClientConnection]:
    url = f"{server.url().replace('http', 'ws', 1)}/ws/view{query}"
    with connect(url, additional_headers=headers, origin=origin, open_timeout=60) as socket:  # type: ignore[arg-type]
        yield socket


def refused(server: ServerProcess, query: str = "", **how: Any) -> tuple[int, str]:
    with pytest.raises(InvalidStatus) as caught, viewing(server, query, **how):
        pass
    response = caught.value.response
    return response.status_code, json.loads(response.body)["error"]["code"]


def ticket(http: httpx.Client) -> str:
    return http.post("/auth/ws-ticket").json()["ticket"]


# --- token --------------------------------------------------------------------


def test_without_a_token_nothing_but_health_answers(server: ServerProcess) -> None:
    response = httpx.get(f"{server.url()}/sessions/s/screen")

    assert refusal(response) == (401, "auth_required")
    assert response.headers["www-authenticate"] == "Bearer"
    assert httpx.get(f"{server.url()}/health").status_code == 200


def test_a_wrong_token_is_told_from_none(server: ServerProcess) -> None:
    response = httpx.get(f"{server.url()}/sessions", headers={"Authorization": "Bearer wrong"})

    assert refusal(response) == (403, "auth_invalid")


@pytest.mark.parametrize("header", ["", "Bearer", "Basic dXNlcjpwYXNz", "token"])
def test_a_header_that_holds_no_token_is_none(server: ServerProcess, header: str) -> None:
    response = httpx.get(f"{server.url()}/sessions", headers={"Authorization": header})

    assert refusal(response) == (401, "auth_required")


def test_a_token_in_the_query_is_no_token(server: ServerProcess) -> None:
    response = httpx.get(f"{server.url()}/sessions", params={"token": server.token()})

    assert refusal(response) == (401, "auth_required")
    assert refused(server, f"?token={server.token()}") == (401, "auth_required")


def test_the_mcp_door_asks_for_the_same_token(server: ServerProcess) -> None:
    assert httpx.post(f"{server.url()}/mcp", json={}).status_code == 401


def test_every_route_of_the_table_asks_for_a_credential(server: ServerProcess) -> None:
    described = httpx.get(f"{server.url()}/openapi.json").json()

    with httpx.Client(base_url=server.url()) as nobody:
        answers = {
            (method, path): nobody.request(method.upper(), path.replace("{", "").replace("}", ""))
            for path, methods in described["paths"].items()
            for method in methods
            if path != "/health"
        }

    assert {refusal(each) for each in answers.values()} == {(401, "auth_required")}


# --- scopes -------------------------------------------------------------------


def test_a_token_may_do_what_its_scopes_say_and_nothing_else(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    at = f"/sessions/{session}"
    with with_token(server, new_token(http, "read")) as reader:
        read = reader.get(f"{at}/screen")
        typed = reader.post(f"{at}/input", content=b"x")
        closed = reader.delete(at)
        stopped = reader.post("/server/stop", json={})

    assert read.status_code == 200
    assert [refusal(each) for each in (typed, closed, stopped)] == [(403, "scope_missing")] * 3
    needs = [each.json()["error"]["details"]["needs"] for each in (typed, closed, stopped)]
    assert needs == ["input", "control", "admin"]
    assert http.get(at).status_code == 200


def test_no_scope_includes_another(server: ServerProcess, http: httpx.Client, session: str) -> None:
    with with_token(server, new_token(http, "input")) as typist:
        typed = typist.post(f"/sessions/{session}/input", content=b"\r")
        read = typist.get(f"/sessions/{session}/screen")

    assert typed.status_code == 204
    assert refusal(read) == (403, "scope_missing")


def test_a_token_for_one_session_reaches_no_other(
    server: ServerProcess, http: httpx.Client, session: str, quiet: str
) -> None:
    http.post(f"/sessions/{session}/run", json={"input": "echo mine"})
    http.post(f"/sessions/{quiet}/input", content=b"x")
    token = new_token(http, "read", "input", "control", session=session)
    with with_token(server, token) as limited:
        own = limited.get(f"/sessions/{session}/screen")
        listed = [each["name"] for each in limited.get("/sessions").json()]
        other = limited.get(f"/sessions/{quiet}/screen")
        missing = limited.get("/sessions/there-is-none/screen")
        opened = limited.post("/sessions", json={})
        history = limited.get("/history").json()
        searched = limited.get("/search", params={"query": "echo", "session": quiet})

    assert (own.status_code, listed) == (200, [session])
    assert [refusal(each) for each in (other, missing, opened, searched)] == [
        (403, "scope_missing")
    ] * 4
    assert {block["session"] for block in history} == {session}


def test_a_token_for_one_session_does_not_follow_its_id(
    server: ServerProcess, http: httpx.Client, quiet: str, session: str
) -> None:
    """Names and ids lead to a session alike; only the name was granted."""
    other = http.get(f"/sessions/{quiet}").json()["id"]
    with with_token(server, new_token(http, "read", session=session)) as limited:
        assert refusal(limited.get(f"/sessions/{other}/screen")) == (403, "scope_missing")


def test_nobody_hands_out_more_than_they_have(server: ServerProcess, http: httpx.Client) -> None:
    with with_token(server, new_token(http, "admin")) as admin:
        more = admin.post("/tokens", json={"name": "x", "scopes": ["control"]})
        same = admin.post("/tokens", json={"name": "x", "scopes": ["admin"]})
        link = admin.post("/server/link")

    assert refusal(more) == (403, "scope_missing")
    assert same.status_code == 201
    assert refusal(link) == (403, "scope_missing")


def test_a_token_for_one_session_stays_with_it_whatever_it_is_called(
    server: ServerProcess, http: httpx.Client
) -> None:
    first = {"name": "kept-to", "command": "cat"}
    http.post("/sessions", json=first)
    http.post("/sessions/kept-to/input", content=b"first\n")
    token = new_token(http, "read", "input", session="kept-to")
    with with_token(server, token) as limited:
        before = limited.get("/sessions/kept-to/screen")
        http.patch("/sessions/kept-to", json={"name": "kept-to-renamed"})
        http.post("/sessions", json=first)
        follows = limited.get("/sessions/kept-to-renamed/screen")
        listed = [each["name"] for each in limited.get("/sessions").json()]
        widened = limited.get("/sessions/kept-to/screen")
        typed = limited.post("/sessions/kept-to/input", content=b"x")
        http.delete("/sessions/kept-to-renamed", params={"grace_ms": 0})
        http.patch("/sessions/kept-to", json={"name": "kept-to-renamed"})
        reused = limited.get("/sessions/kept-to-renamed/screen")
        left = limited.get("/sessions").json()
    http.delete("/sessions/kept-to-renamed", params={"grace_ms": 0})

    assert (before.status_code, follows.status_code) == (200, 200)
    assert listed == ["kept-to-renamed"]
    assert [refusal(each) for each in (widened, typed, reused)] == [(403, "scope_missing")] * 3
    assert left == []


def test_a_token_for_one_session_shows_no_past_of_another_of_its_name(
    server: ServerProcess, http: httpx.Client
) -> None:
    opened = {"name": "namesake", "command": "bash"}
    http.post("/sessions", json=opened)
    http.post("/sessions/namesake/run", json={"input": "echo of-the-first-one"})
    http.delete("/sessions/namesake", params={"grace_ms": 0})
    http.post("/sessions", json=opened)
    http.post("/sessions/namesake/run", json={"input": "echo of-the-second-one"})
    with with_token(server, new_token(http, "read", session="namesake")) as limited:
        history = limited.get("/history").text
        found = limited.get("/search", params={"query": "of-the"}).text
    http.delete("/sessions/namesake", params={"grace_ms": 0})

    assert "of-the-second-one" in history
    assert "of-the-first-one" not in history
    assert "of-the-first-one" not in found


def test_who_may_only_look_is_not_told_what_people_type(
    server: ServerProcess, http: httpx.Client, session: str
) -> None:
    """Captured keys are for whoever may capture: an answer typed for an agent is nobody else's."""
    http.post(f"/sessions/{session}/input/capture")
    http.post(f"/sessions/{session}/input/type", json={"data": "y"})
    with with_token(server, new_token(http, "read")) as reader:
        keys = reader.get(f"/sessions/{session}/input/keys")
        events = reader.get(f"/sessions/{session}/events", params={"events": "input"})
    with with_token(server, new_token(http, "input")) as typist:
        read = typist.get(f"/sessions/{session}/input/keys")
    http.post(f"/sessions/{session}/input/release")

    assert [refusal(each) for each in (keys, events)] == [(403, "scope_missing")] * 2
    assert [each["key"] for each in read.json()["keys"]] == ["y"]


def test_a_token_is_made_for_a_session_that_there_is(http: httpx.Client) -> None:
    made = http.post("/tokens", json={"name": "x", "scopes": ["read"], "session": "nobody"})

    assert refusal(made) == (404, "session_not_found")


def test_a_token_for_one_session_makes_tokens_for_that_session_only(
    server: ServerProcess, http: httpx.Client, session: str, quiet: str
) -> None:
    token = new_token(http, "admin", "read", session=session)
    with with_token(server, token) as admin:
        own = admin.post("/tokens", json={"name": "x", "scopes": ["read"]}).json()
        other = admin.post("/tokens", json={"name": "x", "scopes": ["read"], "session": quiet})
        listed = admin.get("/tokens")

    assert own["info"]["session"] == session
    assert [refusal(each) for each in (other, listed)] == [(403, "scope_missing")] * 2


def test_a_token_is_shown_once_and_listed_without_its_secret(http: httpx.Client) -> None:
    made = http.post(
        "/tokens", json={"name": "laptop", "scopes": ["read", "input"], "expires_in_s": 3600}
    ).json()

    listed = http.get("/tokens")
    [info] = [each for each in listed.json() if each["id"] == made["info"]["id"]]

    assert len(made["token"]) >= 43
    assert made["token"] not in listed.text
    assert (info["name"], sorted(info["scopes"])) == ("laptop", ["input", "read"])
    assert (info["kind"], info["valid"], info["last_used_at"]) == ("token", True, None)
    assert info["expires_at"] > info["created_at"]


def test_the_last_use_of_a_token_is_known(server: ServerProcess, http: httpx.Client) -> None:
    made = http.post("/tokens", json={"name": "used", "scopes": ["read"]}).json()
    with with_token(server, made["token"]) as user:
        user.get("/sessions")

    [info] = [each for each in http.get("/tokens").json() if each["id"] == made["info"]["id"]]
    assert info["last_used_at"] is not None


def test_a_token_says_what_it_is(server: ServerProcess, http: httpx.Client) -> None:
    with with_token(server, new_token(http, "read")) as reader:
        who = reader.get("/auth/whoami").json()

    assert who == {
        "kind": "agent",
        "name": "test",
        "user": None,
        "scopes": ["read"],
        "session": None,
    }


@pytest.mark.parametrize(
    "body",
    [
        {"name": "", "scopes": ["read"]},
        {"name": "x\x1b[31m", "scopes": ["read"]},
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["root"]},
        {"name": "x", "scopes": ["read"], "expires_in_s": 0},
        {"name": "x", "scopes": ["read"], "session": ".."},
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(http: httpx.Client, body: object) -> None:
    assert http.post("/tokens", json=body).status_code == 400


def test_a_token_for_a_session_of_a_machine_that_is_none_is_not_made(http: httpx.Client) -> None:
    answer = http.post("/tokens", json={"name": "x", "scopes": ["read"], "session": "../x"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "server_not_found")


# --- revocation and expiry ----------------------------------------------------


def test_a_revoked_token_is_refused_at_once(server: ServerProcess, http: httpx.Client) -> None:
    made = http.post("/tokens", json={"name": "x", "scopes": ["read"]}).json()
    with with_token(server, made["token"]) as user:
        before = user.get("/sessions").status_code
        revoked = http.delete(f"/tokens/{made['info']['id']}")
        after = user.get("/sessions")

    assert (before, revoked.status_code, refusal(after)) == (200, 204, (403, "auth_invalid"))
    assert refusal(http.delete("/tokens/none")) == (404, "token_not_found")


def test_revoking_a_token_ends_the_requests_that_wait_with_it(
    server: ServerProcess, http: httpx.Client, quiet: str
) -> None:
    made = http.post("/tokens", json={"name": "x", "scopes": ["read"]}).json()
    with with_token(server, made["token"]) as user, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(
            user.post, f"/sessions/{quiet}/wait", json={"text": "never", "max_wait_ms": 60_000}
        )
        while not any(
            each["last_used_at"]
            for each in http.get("/tokens").json()
            if each["id"] == made["info"]["id"]
        ):
            pass
        http.delete(f"/tokens/{made['info']['id']}")

        assert refusal(waiting.result(20)) == (403, "token_revoked")


def test_revoking_a_token_closes_its_websockets_and_no_others(
    server: ServerProcess, http: httpx.Client
) -> None:
    made = http.post("/tokens", json={"name": "x", "scopes": ["read"]}).json()
    with (
        viewing(server, Authorization=f"Bearer {made['token']}") as going,
        viewing(server, Authorization=f"Bearer {server.token()}") as staying,
    ):
        assert "hello" in str(going.recv(20))
        assert "hello" in str(staying.recv(20))
        http.delete(f"/tokens/{made['info']['id']}")

        with pytest.raises(ConnectionClosed) as closed:
            going.recv(20)
        staying.ping().wait(60)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008


def test_a_websocket_closes_when_its_token_expires(
    server: ServerProcess, http: httpx.Client
) -> None:
    token = new_token(http, "read", expires_in_s=2)
    with viewing(server, Authorization=f"Bearer {token}") as socket:
        assert "hello" in str(socket.recv(20))
        with pytest.raises(ConnectionClosed):
            socket.recv(20)

    with with_token(server, token) as late:
        assert refusal(late.get("/sessions")) == (403, "auth_invalid")


# --- browsers -----------------------------------------------------------------


def test_a_link_signs_one_browser_in_once(server: ServerProcess) -> None:
    link = server.command("token", "--link").stdout.strip()

    ours = {"Sec-Fetch-Site": "same-origin"}
    with httpx.Client(headers=ours) as browser, httpx.Client(headers=ours) as thief:
        first = browser.get(link)
        second = thief.get(link)
        listed = browser.get(f"{server.url()}/sessions")
        stolen = thief.get(f"{server.url()}/sessions")

    cookie = first.headers["set-cookie"].lower()
    assert (first.status_code, first.headers["location"]) == (303, "/ui")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert refusal(second) == (403, "link_expired")
    assert (listed.status_code, stolen.status_code) == (200, 401)


def test_a_look_at_a_link_by_head_does_not_use_it(server: ServerProcess) -> None:
    link = server.command("token", "link").stdout.strip()

    looked = httpx.head(link)
    used = httpx.get(link)

    assert (looked.status_code, looked.headers.get("set-cookie")) == (200, None)
    assert (used.status_code, used.headers["location"]) == (303, "/ui")


def test_an_agent_takes_no_credential_of_a_persons_away(
    server: ServerProcess, http: httpx.Client
) -> None:
    """`http` has the server's own token, which is an agent's."""
    with browser_of(server) as browser:
        signed_in = [each["id"] for each in http.get("/tokens").json() if each["kind"] == "browser"]
        answers = [refusal(http.delete(f"/tokens/{each}")) for each in signed_in]

        assert answers
        assert set(answers) == {(403, "not_a_person")}
        assert browser.get(f"{server.url()}/sessions").status_code == 200
        # A person may.
        assert server.client.delete(f"/tokens/{signed_in[-1]}") is None


def test_a_browser_signs_itself_out(server: ServerProcess, http: httpx.Client) -> None:
    with browser_of(server) as browser:
        before = browser.get("/auth/whoami").json()["name"]
        out = browser.post("/auth/sign-out")
        after = browser.get("/sessions")

    assert (before, out.status_code, refusal(after)) == ("browser", 204, (401, "auth_required"))
    assert refusal(http.post("/auth/sign-out")) == (400, "invalid_request")


def test_a_browser_is_listed_and_can_be_sent_away(
    server: ServerProcess, http: httpx.Client
) -> None:
    with browser_of(server) as browser:
        browser.get("/sessions")
        newest = [each for each in http.get("/tokens").json() if each["kind"] == "browser"][-1]
        server.client.delete(f"/tokens/{newest['id']}")

        assert browser.get("/sessions").status_code == 401


def test_a_browsers_cookie_is_no_bearer_token(server: ServerProcess) -> None:
    with browser_of(server) as browser:
        [cookie] = browser.cookies.values()
    with with_token(server, cookie) as thief:
        assert refusal(thief.get("/sessions")) == (403, "auth_invalid")


def test_a_browser_stays_signed_in_when_the_server_is_started_again(home: Path) -> None:
    server = ServerProcess(home)
    server.start()
    try:
        with browser_of(server) as browser:
            [(name, cookie)] = browser.cookies.items()
        with client_of(server) as http:
            revoked = http.post("/tokens", json={"name": "x", "scopes": ["read"]}).json()
            http.delete(f"/tokens/{revoked['info']['id']}")
        server.command("stop")
        server.wait_ended()
        server.start()

        again = httpx.get(
            f"{server.url()}/sessions", cookies={name: cookie}, headers={"Duetty-Page": "1"}
        )
        still = httpx.get(
            f"{server.url()}/sessions", headers={"Authorization": f"Bearer {revoked['token']}"}
        )
    finally:
        server.end()

    assert again.status_code == 200
    assert refusal(still) == (403, "auth_invalid")


# --- WebSockets by a plain request ---------------------------------------------


SOCKETS = ("/ws/json", "/ws/view", "/sessions/s/ws/json", "/sessions/s/ws/raw")


@pytest.mark.parametrize("path", SOCKETS)
def test_a_plain_request_where_a_websocket_is_is_told_so(http: httpx.Client, path: str) -> None:
    response = http.get(path)

    assert refusal(response) == (426, "upgrade_required")
    assert response.headers["upgrade"] == "websocket"
    assert "ws://" in response.json()["error"]["hint"]
    assert refusal(http.post(path)) == (405, "method_not_allowed")


@pytest.mark.parametrize("path", SOCKETS)
def test_a_plain_request_where_a_websocket_is_is_first_asked_who_it_is(
    server: ServerProcess, path: str
) -> None:
    evil = {"Authorization": f"Bearer {server.token()}", "Origin": "http://evil.example"}

    assert refusal(httpx.get(server.url() + path)) == (401, "auth_required")
    assert refusal(httpx.get(server.url() + path, headers=evil)) == (403, "origin_not_allowed")


# --- tickets ------------------------------------------------------------------


def test_a_ticket_opens_one_websocket_once(server: ServerProcess, http: httpx.Client) -> None:
    bought = ticket(http)

    with viewing(server, f"?ticket={bought}") as socket:
        assert "hello" in str(socket.recv(20))

    assert len(bought) == 32
    assert bought.isalnum()
    assert refused(server, f"?ticket={bought}") == (401, "auth_required")


def test_a_ticket_that_was_never_given_is_refused(server: ServerProcess) -> None:
    assert refused(server, "?ticket=" + "x" * 32) == (401, "auth_required")
    assert refused(server, "?ticket=") == (401, "auth_required")


def test_a_ticket_that_is_too_old_is_refused(home: Path) -> None:
    server = ServerProcess(home)
    server.start_with("duetty.ops.access.TICKET_S = 0.0")
    try:
        with client_of(server) as http:
            assert refused(server, f"?ticket={ticket(http)}") == (401, "auth_required")
    finally:
        server.end()


def test_tickets_that_nobody_uses_are_bounded(home: Path) -> None:
    server = ServerProcess(home)
    server.start_with("duetty.ops.access.TICKET_S = 3600.0")
    try:
        with client_of(server) as http:
            bought = [ticket(http) for _ in range(Bounds()["tickets"].each)]
            assert refusal(http.post("/auth/ws-ticket")) == (429, "resource_limit_reached")
            with viewing(server, f"?ticket={bought[0]}"):
                pass
            assert ticket(http)
    finally:
        server.end()


def test_a_ticket_is_good_for_an_upgrade_only(server: ServerProcess, http: httpx.Client) -> None:
    bought = ticket(http)

    asked = httpx.get(f"{server.url()}/sessions", params={"ticket": bought})

    assert refusal(asked) == (401, "auth_required")
    with viewing(server, f"?ticket={bought}"):
        pass  # and asking did not use it up


def test_a_wrong_token_is_refused_even_with_a_good_ticket(
    server: ServerProcess, http: httpx.Client
) -> None:
    query = f"?ticket={ticket(http)}"

    assert refused(server, query, Authorization="Bearer wrong") == (403, "auth_invalid")


def test_a_ticket_allows_what_its_buyer_may_and_dies_with_the_buyers_token(
    server: ServerProcess, http: httpx.Client
) -> None:
    made = http.post("/tokens", json={"name": "x", "scopes": ["read"]}).json()
    with with_token(server, made["token"]) as buyer:
        first, second = ticket(buyer), ticket(buyer)
    call: dict[str, object] = {"type": "call", "id": 1, "operation": "auth.whoami", "arguments": {}}

    with viewing(server, f"?ticket={first}") as socket:
        socket.recv(20)
        socket.send(json.dumps(call))
        answer = json.loads(socket.recv(20))
    http.delete(f"/tokens/{made['info']['id']}")

    assert answer["result"]["scopes"] == ["read"]
    assert refused(server, f"?ticket={second}") == (401, "auth_required")


# --- WebSockets and origins ---------------------------------------------------


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil:1"])
def test_another_sites_websocket_is_refused_even_with_the_token(
    server: ServerProcess, origin: str
) -> None:
    refusal_ = refused(server, origin=origin, Authorization=f"Bearer {server.token()}")

    assert refusal_ == (403, "origin_not_allowed")


def test_a_page_of_ours_opens_a_websocket_with_its_cookie(server: ServerProcess) -> None:
    cookie = cookie_of(server)

    with viewing(server, origin=server.url(), Cookie=cookie) as socket:
        assert "hello" in str(socket.recv(20))
    assert refused(server, Cookie=cookie) == (403, "origin_not_allowed")
    elsewhere = refused(server, origin="http://localhost:1", Cookie=cookie)
    assert elsewhere == (403, "origin_not_allowed")


def test_a_change_with_a_cookie_needs_a_page_of_ours(server: ServerProcess) -> None:
    with browser_of(server) as browser:
        simple = browser.post("/sessions", content=b"{}", headers={"Content-Type": "text/plain"})
        form = browser.post("/sessions", data={"name": "x"})
        cross = browser.post("/sessions", json={}, headers={"Sec-Fetch-Site": "cross-site"})
        same = browser.post("/sessions", json={}, headers={"Sec-Fetch-Site": "same-site"})
        read = browser.get("/sessions", headers={"Sec-Fetch-Site": "same-site"})
        own = browser.get("/sessions", headers={"Sec-Fetch-Site": "same-origin"})

    assert [code(each) for each in (simple, form, cross, same, read)] == ["origin_not_allowed"] * 5
    assert own.status_code == 200
