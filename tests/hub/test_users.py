"""Users of a hub: each has machines, and nobody sees, lists, guesses or calls another's."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from tests.edges.http.asking import refusal
from tests.edges.websocket.connect import connected
from tests.hub.conftest import Servers
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]


@dataclass
class Hub:
    """A hub with ann and bob, each with a machine called `box` and a session on it."""

    servers: Servers
    people: dict[str, httpx.Client] = field(default_factory=dict[str, httpx.Client])
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    sessions: dict[str, str] = field(default_factory=dict[str, str])
    machines: dict[str, ServerProcess] = field(default_factory=dict[str, ServerProcess])


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with ExitStack() as stack:
        made = Hub(Servers(stack))
        process = made.servers.hub
        for name in ("ann", "bob"):
            done = process.command("hub", "user", "add", name, "-L", "default")
            assert done.returncode == 0, done.stderr
            made.tokens[name] = done.stdout.strip()
            made.people[name] = made.servers.client(process, made.tokens[name])
            machine = made.machines[name] = made.servers.start("box")
            file = Path(process.home) / f"{name}.token"
            file.write_text(made.tokens[name])
            joined = machine.command("join", process.url(), "--token-file", str(file))
            assert joined.returncode == 0, joined.stderr
            opened = made.people[name].post(
                "/sessions", json={"name": f"of-{name}", "command": "bash"}
            )
            assert opened.status_code == 201, opened.text
            made.sessions[name] = opened.json()["id"]
        yield made


def test_a_user_has_the_machine_that_her_token_brought(hub: Hub) -> None:
    ann = hub.people["ann"]

    listed = ann.get("/servers").json()
    sessions = ann.get("/sessions").json()
    ran = ann.post("/sessions/of-ann/run", json={"input": "echo $((6*7))"})

    assert [each["hostname"] for each in listed if each["address"].startswith("node:")] == ["box"]
    assert [(each["name"], each["server"]) for each in sessions] == [("of-ann", "box")]
    assert ran.json()["output"] == "42"


@pytest.mark.parametrize(
    "method_path",
    ["GET /sessions/{}", "POST /sessions/{}/run", "GET /sessions/{}/screen", "DELETE /sessions/{}"],
)
def test_anothers_session_is_answered_as_one_that_does_not_exist(
    hub: Hub, method_path: str
) -> None:
    method, path = method_path.split(" ")
    body = {"input": "id"} if method == "POST" else None
    bob = hub.people["bob"]

    not_hers = bob.request(method, path.format(hub.sessions["ann"]), json=body)
    by_name = bob.request(method, path.format("of-ann"), json=body)
    missing = bob.request(method, path.format("f" * 16), json=body)

    assert refusal(not_hers) == refusal(by_name) == refusal(missing) == (404, "session_not_found")
    assert not_hers.text.replace(hub.sessions["ann"], "f" * 16) == missing.text


def test_a_user_reaches_no_machine_of_another_and_none_of_the_hubs_own_sessions(hub: Hub) -> None:
    hub.servers.http.post("/sessions", json={"name": "own", "command": "cat"})
    ann_id = hub.machines["ann"].client.get("/server/hub")["machine"]
    bob = hub.people["bob"]

    assert refusal(bob.get("/sessions", params={"server": ann_id})) == (404, "server_not_found")
    assert refusal(bob.get("/sessions/own")) == (404, "session_not_found")
    assert refusal(bob.get("/sessions/own", params={"server": "hub"})) == (404, "server_not_found")
    assert refusal(bob.get("/users")) == (403, "scope_missing")
    assert "own" not in [each["name"] for each in bob.get("/sessions").json()]


def test_the_machine_knows_who_asked_through_the_hub(hub: Hub) -> None:
    hub.people["ann"].post("/sessions/of-ann/run", json={"input": "echo traced"})

    records = hub.machines["ann"].client.get("/audit", text="traced")

    assert {each["actor"]["name"] for each in records if "actor" in each} == {"ann@127.0.0.1"}


def test_a_share_lets_another_user_watch_or_drive_one_session_until_it_is_revoked(hub: Hub) -> None:
    ann, bob = hub.people["ann"], hub.people["bob"]
    ann.post("/sessions", json={"name": "private", "command": "cat"})
    shared = ann.post("/shares", json={"session": "of-ann", "user": "bob", "role": "watch"})
    assert shared.status_code == 201, shared.text

    listed = {each["name"] for each in bob.get("/sessions").json()}
    seen = bob.get(f"/sessions/{hub.sessions['ann']}/screen")
    typed = bob.post(f"/sessions/{hub.sessions['ann']}/run", json={"input": "id"})
    ann.delete(f"/shares/{shared.json()['id']}")
    after = bob.get(f"/sessions/{hub.sessions['ann']}/screen")

    assert listed == {"of-bob", "of-ann"}
    assert seen.status_code == 200
    assert refusal(typed)[0] == 403
    assert refusal(after) == (404, "session_not_found")

    drive = ann.post("/shares", json={"session": "of-ann", "user": "bob", "role": "drive"})
    ran = bob.post("/sessions/of-ann/run", json={"input": "echo by-bob"})
    ended = bob.delete("/sessions/of-ann")
    ann.delete(f"/shares/{drive.json()['id']}")

    assert ran.json()["output"] == "by-bob"
    assert refusal(ended)[0] == 403
    assert refusal(bob.get("/sessions/private")) == (404, "session_not_found")


async def test_what_a_share_holds_open_ends_with_it(hub: Hub) -> None:
    ann = hub.people["ann"]
    shared = ann.post("/shares", json={"session": "of-ann", "user": "bob", "role": "watch"})
    path = f"/sessions/{hub.sessions['ann']}/ws/raw"
    async with connected(hub.servers.hub, path, token=hub.tokens["bob"]) as socket:
        with anyio.fail_after(30):
            await socket.recv()
            await anyio.to_thread.run_sync(lambda: ann.delete(f"/shares/{shared.json()['id']}"))
            with suppress(ConnectionClosed):
                while True:
                    await socket.recv()
            assert socket.close_code == 1008


def test_of_several_shares_of_one_session_the_strongest_counts(hub: Hub) -> None:
    ann, bob, session = hub.people["ann"], hub.people["bob"], hub.sessions["ann"]
    for role in ("watch", "drive", "watch"):
        body = {"session": session, "user": "bob", "role": role, "expires_in_s": 600}
        assert ann.post("/shares", json=body).status_code == 201
    typed = bob.post(f"/sessions/{session}/input", content=b"x")
    listed = [each["id"] for each in bob.get("/sessions").json()]
    for each in ann.get("/shares").json():
        ann.delete(f"/shares/{each['id']}")

    assert typed.status_code == 204, typed.text
    assert listed.count(session) == 1
    assert bob.get(f"/sessions/{session}").status_code == 404


def test_a_share_ends_when_its_time_is_up(hub: Hub) -> None:
    ann, bob = hub.people["ann"], hub.people["bob"]
    given = {"session": "of-ann", "user": "bob", "expires_in_s": 0.05}
    assert ann.post("/shares", json=given).status_code == 201

    with anyio.from_thread.start_blocking_portal() as portal:
        portal.call(anyio.sleep, 0.06)

    assert refusal(bob.get("/sessions/of-ann")) == (404, "session_not_found")


def test_who_is_removed_is_out_at_once_with_machine_and_tokens(hub: Hub) -> None:
    process = hub.servers.hub
    made: Any = process.client.post("/users", {"name": "eve"})
    token = process.client.post("/users/eve/tokens", {"scopes": ["read", "join"]})["token"]
    eve = hub.servers.client(process, token)
    assert made["name"] == "eve"
    assert eve.get("/sessions").status_code == 200

    assert process.command("hub", "user", "remove", "eve", "-L", "default").returncode == 0

    assert refusal(eve.get("/sessions")) == (403, "auth_invalid")


def test_no_token_stands_in_the_hubs_files(hub: Hub) -> None:
    for path in Path(hub.servers.hub.home).rglob("*"):
        if path.is_file() and not path.name.endswith(".token") and path.name != "token":
            content = path.read_bytes()
            assert not any(token.encode() in content for token in hub.tokens.values()), path
