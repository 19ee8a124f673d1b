"""Requests on a JSON WebSocket that contradict themselves or end the connection they came on."""

import json
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from tests.edges.websocket.connect import JsonClient, drain, speaking
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


@pytest.mark.parametrize("method", ["kill_session", "session.remove"])
async def test_who_removes_the_session_of_its_own_connection_gets_the_answer_first(
    server: ServerProcess, http: httpx.Client, method: str
) -> None:
    http.post("/sessions", json={"name": "own", "command": "cat"})

    async with speaking(server, "/sessions/own/ws/json") as client:
        answer = await client.answer(await client.ask(method, grace_ms=0))
        with pytest.raises(ConnectionClosed) as closed:
            await drain(client.take)

    assert "error" not in answer
    assert (answer["method"], closed.value.rcvd and closed.value.rcvd.reason) == (
        method,
        "session ended",
    )
    assert http.get("/sessions/own").status_code == 404


async def test_a_connection_about_one_session_refuses_the_name_of_another(
    server: ServerProcess, session: str, http: httpx.Client
) -> None:
    http.post("/sessions", json={"name": "bystander", "command": "cat"})
    id_ = http.get(f"/sessions/{session}").json()["id"]

    async with speaking(server, f"/sessions/{session}/ws/json") as client:
        in_params = [
            await client.call("kill_session", name="bystander"),
            await client.call("rename_session", name="bystander", new_name="taken"),
        ]
        beside = await client.call("get_screen", "bystander")
        subscribed = await client.call("subscribe", "bystander", events=["lines"])
        own = [
            await client.call("get_input_mode", session),
            await client.call("get_input_mode", id_),
        ]

    assert (*in_params, beside, subscribed) == ("invalid_request",) * 4
    assert [mode["mode"] for mode in own] == ["passthrough"] * 2
    assert http.get("/sessions/bystander").json()["state"] != "exited"
    http.delete("/sessions/bystander", params={"grace_ms": 0})


async def test_a_request_that_names_two_sessions_is_refused(
    server: ServerProcess, session: str
) -> None:
    async with speaking(server, "/ws/json") as client:
        two = await answered(client, "two", session, "other")
        same = await answered(client, "same", session, session)

    assert two["error"]["code"] == "invalid_request"
    assert same["result"]["mode"] == "passthrough"


async def answered(client: JsonClient, id_: str, session: str, named: str) -> dict[str, Any]:
    request = {"id": id_, "method": "get_input_mode", "session": session}
    await client.socket.send(json.dumps({**request, "params": {"session": named}}))
    return await client.until(lambda told: told.get("id") == id_)


async def test_a_subscription_with_a_parameter_that_nobody_knows_is_refused(
    server: ServerProcess, session: str
) -> None:
    async with speaking(server, f"/sessions/{session}/ws/json") as client:
        mistyped = await client.call("subscribe", events=["lines"], intervall_ms=5)
        truth = await client.call("subscribe", events=["lines"], interval_ms=True)
        nothing = await client.call("subscribe")
        right = await client.call("subscribe", events=["lines"], interval_ms=5)

    assert (mistyped, truth, nothing) == ("invalid_request",) * 3
    assert right == {"events": ["lines"]}


@pytest.mark.parametrize("rows", [True, "24", 24.5, None])
async def test_a_size_that_is_no_number_is_refused_here_too(
    server: ServerProcess, session: str, rows: object
) -> None:
    async with speaking(server, f"/sessions/{session}/ws/json") as client:
        assert await client.call("resize", cols=80, rows=rows) == "invalid_request"


async def test_answers_come_by_id_between_the_events_of_a_subscription(
    server: ServerProcess, session: str
) -> None:
    async with speaking(server, f"/sessions/{session}/ws/json") as client:
        await client.call("subscribe", events=["lines", "cursor"], interval_ms=0)
        await client.call("send_input", data="for i in 1 2 3 4 5 6 7 8; do echo n$i; done\r")
        asked = {
            await client.ask("get_input_mode"): "mode",
            await client.ask("get_focus"): "focused",
        }
        answers = {id_: await found(client, id_) for id_ in asked}
        last = await client.find(lambda told: told.get("line") == [{"text": "n8"}])

    assert {
        id_: set(told["result"]) >= {asked[id_]} for id_, told in answers.items()
    } == dict.fromkeys(asked, True)
    assert last["event"] == "line"


async def found(client: JsonClient, id_: int) -> dict[str, Any]:
    return await client.find(lambda told: told.get("id") == id_)


async def test_the_first_session_without_a_name_is_called_0(home: Path) -> None:
    with running_server(home) as fresh:
        async with speaking(fresh, "/ws/json") as client:
            with anyio.fail_after(60):
                names = [
                    (await client.call("create_session", command="cat"))["name"] for _ in range(2)
                ]

    assert names == ["0", "1"]
