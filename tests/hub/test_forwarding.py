"""`server` on every way in: the call is done on that server, and never on a session here."""

import base64
import json
import re
import threading
import time
from typing import Any

import httpx
import pytest

from duetty.ops import OPERATIONS
from tests.edges.http.asking import new_token, refusal
from tests.edges.websocket.connect import speaking
from tests.hub.conftest import Servers, wait_for
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

THERE = {"server": "alpha"}


@pytest.fixture(scope="module")
def twins(servers: Servers, node: ServerProcess) -> str:
    """A session of the same name here and there; only the one there may change."""
    for where in ({}, THERE):
        made = servers.http.post("/sessions", json={"name": "twin", "command": "bash", **where})
        assert made.status_code == 201, made.text
        ready = servers.http.post(
            "/sessions/twin/wait", json={"state": ["prompt"], **where}, timeout=90
        )
        assert ready.status_code == 200, ready.text
    return "twin"


def test_a_session_made_through_the_hub_lives_on_the_node(
    servers: Servers, node: ServerProcess
) -> None:
    made = servers.http.post("/sessions", json={"name": "far", "command": "cat", **THERE})

    assert made.status_code == 201
    assert made.json()["server"] == "alpha"
    assert node.client.get("/sessions/far")["pid"] == made.json()["pid"]
    assert refusal(servers.http.get("/sessions/far")) == (404, "session_not_found")
    typed = servers.http.post("/sessions/far/input", params=THERE, content=b"m\xc3\xa4rker\n")
    assert typed.status_code == 204
    shown = servers.http.post("/sessions/far/wait", json={"text": "märker", **THERE})
    assert shown.status_code == 200
    screen = servers.http.get("/sessions/far/screen", params={"format": "plain", **THERE}).json()
    assert "märker" in screen["lines"]
    assert servers.http.delete("/sessions/far", params=THERE).status_code == 204
    assert refusal(servers.http.get("/sessions/far", params=THERE)) == (404, "session_not_found")


def test_the_list_has_the_sessions_of_every_server_and_says_whose(
    servers: Servers, node: ServerProcess, twins: str
) -> None:
    every = servers.http.get("/sessions").json()
    here = servers.http.get("/sessions", params={"server": "hub"}).json()
    there = servers.http.get("/sessions", params=THERE).json()

    assert {(each["name"], each["server"]) for each in every} >= {
        ("twin", "hub"),
        ("twin", "alpha"),
    }
    assert {each["server"] for each in here} == {"hub"}
    assert {each["server"] for each in there} == {"alpha"}


def test_two_servers_that_speak_for_each_other_do_not_ask_in_circles(
    servers: Servers, node: ServerProcess, twins: str
) -> None:
    back = servers.client(node)
    given = {"address": servers.hub.url(), "token": servers.hub.token()}
    assert back.post("/servers", json=given).status_code == 201
    wait_for(lambda: back.get("/servers").json()[1]["health"] == "healthy" or None)

    listed = servers.http.get("/sessions").json()

    assert len([each for each in listed if each["name"] == "twin"]) == 2
    assert back.delete("/servers/hub").status_code == 204


def test_a_tag_filters_on_every_server(servers: Servers, twins: str) -> None:
    tagged = servers.http.patch(f"/sessions/{twins}", json={"add_tags": ["only-there"], **THERE})

    found = servers.http.get("/sessions", params={"tag": "only-there"}).json()

    assert tagged.json()["tags"] == ["only-there"]
    assert [(each["name"], each["server"]) for each in found] == [("twin", "alpha")]


def test_a_command_runs_on_the_node_with_its_exit_code_and_output(
    servers: Servers, twins: str
) -> None:
    ran = servers.http.post(
        f"/sessions/{twins}/run", json={"input": "echo o-$((6*7)); (exit 3)", **THERE}
    )

    assert ran.status_code == 200, ran.text
    assert (ran.json()["exit_code"], ran.json()["output"].strip()) == (3, "o-42")
    here = servers.http.get(f"/sessions/{twins}/screen", params={"format": "plain"}).json()
    assert not any("o-42" in line for line in here["lines"])


def test_overlays_panels_capture_and_screen_mode_act_on_the_node_only(
    servers: Servers, node: ServerProcess, twins: str
) -> None:
    http, at = servers.http, f"/sessions/{twins}"
    before = elements(http, {})

    overlay = http.post(
        f"{at}/overlay",
        params=THERE,
        json={"x": 1, "y": 1, "width": 9, "height": 1, "spans": [{"text": "hi", "id": "a"}]},
    ).json()["id"]
    panel = http.post(
        f"{at}/panel", json={"position": "top", "height": 2, "focusable": True, **THERE}
    ).json()["id"]
    spans = http.post(
        f"{at}/overlay/{overlay}/spans", json={"spans": [{"id": "a", "text": "yo"}], **THERE}
    )
    moved = http.patch(f"{at}/overlay/{overlay}", json={"x": 3}, params=THERE)
    captured = http.post(f"{at}/input/capture", params=THERE)
    focused = http.post(f"{at}/input/focus", json={"id": panel}, params=THERE)

    assert [each.status_code for each in (spans, moved, captured, focused)] == [204] * 4
    shown = http.get(f"{at}/overlay/{overlay}", params=THERE).json()
    assert (shown["x"], shown["spans"], "focusable" in shown) == (
        3,
        [{"text": "yo", "id": "a"}],
        False,
    )
    assert http.get(f"{at}/input/mode", params=THERE).json()["mode"] == "capture"
    assert http.get(f"{at}/input/focus", params=THERE).json() == {"focused": panel}
    assert http.get(f"{at}/screen", params=THERE).json()["rows"] == 22
    assert http.post(f"{at}/input/release", params=THERE).status_code == 204
    assert http.post(f"{at}/screen_mode/enter_alt", params=THERE).status_code == 204
    again = http.post(f"{at}/screen_mode/enter_alt", params=THERE)
    assert refusal(again) == (409, "already_in_alt_screen")
    assert http.post(f"{at}/screen_mode/exit_alt", params=THERE).status_code == 204
    assert http.delete(f"{at}/overlay", params=THERE).status_code == 204
    assert http.delete(f"{at}/panel/{panel}", params=THERE).status_code == 204
    gone = http.get(f"{at}/overlay/{overlay}", params=THERE)
    assert refusal(gone) == (404, "overlay_not_found")
    assert elements(http, {}) == before


def elements(http: httpx.Client, where: dict[str, str]) -> Any:
    return http.get("/sessions/twin/elements", params=where).json()


def test_idle_of_a_session_and_of_any_is_waited_for_on_the_node(
    servers: Servers, twins: str
) -> None:
    one = servers.http.get(f"/sessions/{twins}/idle", params={"timeout_ms": 50, **THERE})
    first = servers.http.get("/idle", params={"timeout_ms": 50, **THERE})
    never = servers.http.get(
        f"/sessions/{twins}/idle",
        params={
            "timeout_ms": 50,
            "last_generation": one.json()["generation"],
            "max_wait_ms": 200,
            **THERE,
        },
    )

    assert one.json()["screen"]["rows"] == 24
    assert first.json()["session"]
    assert refusal(never) == (408, "idle_timeout")


def test_documents_come_through_as_they_are(
    servers: Servers, node: ServerProcess, twins: str
) -> None:
    at = f"/sessions/{twins}"

    picture = servers.http.get(f"{at}/snapshot", params={"format": "png", **THERE})
    cast = servers.http.get(f"{at}/recording", params=THERE)

    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    assert json.loads(cast.text.splitlines()[0])["version"] in (2, 3)
    assert cast.headers["content-disposition"].startswith("attachment")
    assert (
        cast.text.splitlines()[0]
        == servers.client(node).get(f"{at}/recording").text.splitlines()[0]
    )


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_no_operation_takes_another_server_for_this_one(servers: Servers, name: str) -> None:
    operation = OPERATIONS[name]
    if "server" in operation.params.model_fields:
        pytest.skip("its own argument of that name means something else")
    path = operation.route.path
    path = re.sub(r"\{\w+\}", "twin", path)

    body: dict[str, str] | None = {} if operation.route.method in ("POST", "PUT", "PATCH") else None
    answer = servers.http.request(
        operation.route.method, path, params={"server": "nobody"}, json=body
    )

    # The contract has ten codes, and none for servers.
    told = (400, "PM_TERM_INVALID_PAYLOAD") if name == "terminal.act" else (404, "server_not_found")
    assert refusal(answer) == told


def test_the_hub_may_be_named_as_any_server(servers: Servers) -> None:
    server_id = servers.http.get("/server/info").json()["server_id"]

    for own in ("hub", "HUB", server_id):
        listed = servers.http.get("/sessions", params={"server": own})
        assert listed.status_code == 200


@pytest.mark.parametrize("name", ["a b", "x%2Fy", "..", "q?server=hub", "a#b", "ä" * 10])
def test_names_are_encoded_anew_and_lead_nowhere_else(servers: Servers, name: str) -> None:
    created = servers.http.post("/sessions", json={"name": name, "command": "cat", **THERE})
    local = servers.http.post("/sessions", json={"name": name, "command": "cat"})

    assert created.status_code == local.status_code
    if created.status_code == 201:
        for where in ({}, THERE):
            path = f"/sessions/{httpx.URL('http://x/' + name).path[1:]}"
            assert servers.http.delete(path, params=where).status_code == 204


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["..", "../twin", "twin/input", "twin?x", "%2e%2e", "\u0000"])
async def test_a_name_over_a_websocket_cannot_become_another_path(
    servers: Servers, node: ServerProcess, name: str
) -> None:
    async with speaking(servers.hub, "/ws/json") as client:
        screen = await client.call("get_screen", name, **THERE)

    assert screen in ("session_not_found", "invalid_request")


@pytest.mark.anyio
async def test_websocket_methods_reach_the_node_too(servers: Servers, twins: str) -> None:
    data = base64.b64encode(b"echo through-the-''socket\n").decode()
    async with speaking(servers.hub, "/ws/json") as client:
        sent = await client.call("send_input", twins, data=data, encoding="base64", **THERE)
        shown = await client.call("session.wait", twins, text="through-the-socket", **THERE)
        listed = await client.call("list_sessions", **THERE)
        unknown = await client.call("get_screen", twins, server="nobody")

    assert sent == {}
    assert isinstance(shown, dict)
    assert {each["server"] for each in listed} == {"alpha"}
    assert unknown == "server_not_found"


def test_a_credential_of_the_hub_does_not_grow_on_the_way(servers: Servers, twins: str) -> None:
    reader = servers.client(servers.hub, new_token(servers.http, "read"))
    bound = servers.client(servers.hub, new_token(servers.http, "read", "input", session="twin"))
    at = f"/sessions/{twins}"

    assert reader.get(f"{at}/screen", params=THERE).status_code == 200
    typing = reader.post(f"{at}/input", params=THERE, content=b"x")
    ticket = servers.http.post("/auth/ws-ticket", params=THERE)
    token = servers.http.post("/tokens", params=THERE, json={"name": "x", "scopes": ["read"]})
    link = servers.http.post("/server/link", params=THERE)
    health = httpx.get(f"{servers.hub.url()}/health", params=THERE)

    assert refusal(typing) == (403, "scope_missing")
    assert refusal(bound.get(f"{at}/screen", params=THERE)) == (403, "scope_missing")
    for answer in (ticket, token, link, health):
        assert refusal(answer) == (400, "invalid_request")


def test_the_trail_of_the_hub_has_who_asked_and_where_it_went(servers: Servers, twins: str) -> None:
    servers.http.post(f"/sessions/{twins}/input", params=THERE, content=b": secret-word\n")

    records = servers.http.get("/audit", params={"operation": "input.write"}).json()

    call = next(each for each in records if each["kind"] == "call" and each.get("server"))
    outcome = next(each for each in records if each["kind"] == "outcome" and each.get("server"))
    assert (call["server"], call["session"]) == ("alpha", "twin")
    assert outcome["outcome"] == "done"
    assert "secret-word" not in json.dumps(call)


def test_a_call_to_a_node_that_dies_ends_and_the_node_comes_back(servers: Servers) -> None:
    delta = servers.start("delta")
    address = delta.url()
    servers.add(delta)
    servers.wait_health(address, "healthy")
    there = {"server": "delta"}
    servers.http.post("/sessions", json={"name": "d", "command": "cat", **there})
    answers: list[httpx.Response] = []

    def wait() -> None:
        given = {"text": "never", "max_wait_ms": 600_000, **there}
        answers.append(servers.http.post("/sessions/d/wait", json=given, timeout=120))

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.2)
    delta.kill()
    waiting.join(60)
    servers.wait_health(address, "unavailable")
    asked = servers.http.get("/sessions/d", params=there)
    listed = servers.http.get("/sessions")

    assert refusal(answers[0]) == (503, "server_unavailable")
    assert refusal(asked) == (503, "server_unavailable")
    assert listed.status_code == 200
    delta.start("--hostname", "delta", "--bind", address.removeprefix("http://"))
    servers.wait_health(address, "healthy")
    assert servers.http.get("/sessions/d", params=there).status_code == 200
