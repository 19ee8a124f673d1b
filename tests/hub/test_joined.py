"""A machine that dialled the hub: everything that is asked of it goes over that one WebSocket."""

import json
import threading
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest

from tests.edges.http.asking import refusal
from tests.edges.websocket.connect import speaking
from tests.hub.conftest import Servers, wait_for
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

JOINED = {"server": "gamma"}


@pytest.fixture(scope="module")
def gamma(servers: Servers) -> ServerProcess:
    """A machine that joined by itself; nobody can dial it by what the hub knows."""
    node = servers.start("gamma")
    join(node, servers)
    return node


def join(node: ServerProcess, servers: Servers) -> None:
    token = servers.hub.home / f"join-{node.home.name}"
    token.write_text(servers.hub.token())
    done = node.command("join", servers.hub.url(), "--token-file", str(token))
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def shell(servers: Servers, gamma: ServerProcess) -> dict[str, Any]:
    made = servers.http.post("/sessions", json={"name": "room", "command": "bash", **JOINED})
    assert made.status_code == 201, made.text
    return made.json()


def run(servers: Servers, session: str, line: str, **more: Any) -> httpx.Response:
    return servers.http.post(f"/sessions/{session}/run", json={"input": line, **more})


def test_a_machine_that_joined_is_listed_by_the_id_of_its_key(
    servers: Servers, gamma: ServerProcess
) -> None:
    told = gamma.client.get("/server/hub")

    listed = next(
        each for each in servers.http.get("/servers").json() if each["hostname"] == "gamma"
    )

    assert told["state"] == "joined"
    assert listed["health"] == "healthy"
    assert listed["server_id"] == told["machine"]
    assert listed["address"] == f"node:{told['machine']}"
    assert gamma.paths.node_key_file.stat().st_mode & 0o077 == 0


def test_a_command_runs_there_by_machine_by_session_id_and_by_both(
    servers: Servers, shell: dict[str, Any], gamma: ServerProcess
) -> None:
    by_machine = run(servers, "room", "echo one", **JOINED)
    by_id = run(servers, shell["id"], "echo two")
    by_name = run(servers, "room", "echo three")
    by_both = servers.http.get("/sessions/gamma%2Froom/screen", params={"format": "plain"})

    assert [each.json()["output"] for each in (by_machine, by_id, by_name)] == [
        "one",
        "two",
        "three",
    ]
    assert by_both.status_code == 400  # a name in a path holds no slash: an argument may
    assert gamma.client.get(f"/sessions/{shell['id']}")["name"] == "room"


def test_large_answers_and_documents_come_whole(servers: Servers, shell: dict[str, Any]) -> None:
    run(servers, shell["id"], "seq 1 60000", max_output_bytes=1_000)

    rows = servers.http.get(
        f"/sessions/{shell['id']}/scrollback", params={"format": "plain", "limit": 9000}
    )
    cast = servers.http.get(f"/sessions/{shell['id']}/recording")

    assert len(rows.json()["lines"]) == 9000
    assert cast.status_code == 200
    assert "60000" in cast.text
    assert len(cast.content) > 400_000


def test_a_large_body_arrives_whole(servers: Servers, gamma: ServerProcess) -> None:
    servers.http.post("/sessions", json={"name": "sink", "command": "cat > /dev/null", **JOINED})

    typed = servers.http.post("/sessions/sink/input", content=b"x" * 200_000 + b"\n")

    assert typed.status_code == 204


def test_errors_keep_their_codes(servers: Servers, shell: dict[str, Any]) -> None:
    missing = servers.http.get("/sessions/nowhere", params=JOINED)
    wrong = servers.http.post(f"/sessions/{shell['id']}/run", json={"input": 7})

    assert refusal(missing) == (404, "session_not_found")
    assert refusal(wrong) == (400, "invalid_request")


async def test_a_session_is_followed_by_its_id_over_websocket_and_events(
    servers: Servers, shell: dict[str, Any]
) -> None:
    path = f"/sessions/{shell['id']}/ws/json"
    async with speaking(servers.hub, path, token=servers.hub.token()) as socket:
        await socket.ask("subscribe", events=["lines"])
        await anyio.to_thread.run_sync(run, servers, shell["id"], "echo followed")
        with anyio.fail_after(30):
            while "followed" not in json.dumps(await socket.take()):
                pass

    events = f"/sessions/{shell['id']}/events"
    with servers.http.stream("GET", events, params={"events": "lines"}) as stream:
        lines = stream.iter_lines()
        assert any(line == "event: sync" for line in lines)


def test_a_client_that_goes_takes_its_wait_with_it(
    servers: Servers, shell: dict[str, Any], gamma: ServerProcess
) -> None:
    with pytest.raises(httpx.ReadTimeout):
        servers.http.post(f"/sessions/{shell['id']}/run", json={"input": "sleep 5"}, timeout=0.5)

    gamma.client.post(f"/sessions/{shell['id']}/interrupt", {})
    assert run(servers, shell["id"], "echo free").json()["output"] == "free"


def test_a_machine_that_dies_within_a_call_ends_it_at_once(servers: Servers) -> None:
    delta = servers.start("delta")
    join(delta, servers)
    doomed = {"name": "doomed", "command": "bash", "server": "delta"}
    assert servers.http.post("/sessions", json=doomed).status_code == 201
    # A shell that starts is `running` too: the call would not have arrived when the machine dies.
    wait_for(lambda: delta.client.get("/sessions/doomed")["state"] == "prompt" or None)
    answers: list[httpx.Response] = []

    def call() -> None:
        answers.append(run(servers, "doomed", "sleep 60", max_wait_ms=60_000))

    calling = threading.Thread(target=call)
    calling.start()
    wait_for(lambda: delta.client.get("/sessions/doomed")["state"] == "running" or None)
    delta.kill()
    calling.join(30)

    assert refusal(answers[0]) == (503, "server_unavailable")
    assert answers[0].json()["error"]["details"]["executed"] == "unknown"
    gone = servers.http.get("/sessions", params={"server": "delta"})
    assert refusal(gone) == (503, "server_unavailable")
    assert gone.json()["error"]["details"] == {
        "server": "delta",
        "health": "away",
        "executed": False,
    }


def test_a_restarted_machine_joins_again_as_the_same(
    servers: Servers, gamma: ServerProcess, shell: dict[str, Any]
) -> None:
    before = gamma.client.get("/server/hub")["machine"]
    gamma.kill()
    gamma.start("--hostname", "gamma")

    wait_for(lambda: gamma.client.get("/server/hub")["state"] == "joined" or None)

    assert gamma.client.get("/server/hub")["machine"] == before
    assert run(servers, shell["id"], "echo back").json()["output"] == "back"


def test_who_shows_no_good_token_does_not_join(servers: Servers) -> None:
    stranger = servers.start("stranger")
    wrong = stranger.home / "wrong"
    wrong.write_text("x" * 43)

    done = stranger.command("join", servers.hub.url(), "--token-file", str(wrong))

    assert done.returncode == 1
    assert "not valid" in done.stderr
