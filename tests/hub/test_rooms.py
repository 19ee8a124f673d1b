"""Any program as a tool host in a room (docs/rooms.md): it announces, is called, and answers once."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from tests.edges.http.asking import new_token, refusal
from tests.hub.conftest import Servers
from tests.hub.room_host import hosting

SECRET = "the-bridge-s-own-secret"


@pytest.fixture(scope="module")
def hub() -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(stack, BRIDGE_SECRET=SECRET)


def post(hub: Servers, room: str, **body: Any) -> httpx.Response:
    given = {"commandId": "c1", "tool": "echo", "args": {"text": "hi"}, "secret": SECRET, **body}
    return httpx.post(f"{hub.hub.url()}/rooms/{room}", json=given, timeout=60)


async def calling(hub: Servers, room: str, **body: Any) -> httpx.Response:
    return await anyio.to_thread.run_sync(lambda: post(hub, room, **body))


async def test_a_tool_host_is_listed_called_and_answers_once_for_one_command(hub: Servers) -> None:
    answers: list[httpx.Response] = []
    async with hosting(hub, documentName="Home", fileKey="abc") as host:
        listed = (await anyio.to_thread.run_sync(lambda: hub.http.get("/rooms"))).json()

        async def call() -> None:
            answers.append(await calling(hub, host.room))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await host.next()
            tasks.start_soon(call)
            await host.answer(host.calls[0], {"text": "hi"})
        again = await calling(hub, host.room)

    assert [(each["title"], each["document_name"], each["file_key"]) for each in listed] == [
        ("Home page", "Home", "abc")
    ]
    assert [each.json() for each in (*answers, again)] == [{"text": "hi"}] * 3
    [asked] = host.calls
    assert asked["args"] == {"text": "hi"}
    assert 0 < asked["leftMs"] <= 30_000


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ({"secret": "wrong"}, (403, "auth_invalid")),
        ({"secret": None}, (403, "auth_invalid")),
        ({"tool": "other"}, (404, "tool_not_announced")),
        ({"args": {"text": 7}}, (400, "invalid_request")),
        ({"args": {}}, (400, "invalid_request")),
        ({"commandId": ""}, (400, "invalid_request")),
    ],
)
async def test_what_does_not_fit_is_refused_here_and_never_sent(
    hub: Servers, body: dict[str, Any], refused: tuple[int, str]
) -> None:
    async with hosting(hub) as host:
        answer = await calling(hub, host.room, **body)

        with anyio.move_on_after(0.1):
            await host.next()

    assert refusal(answer) == refused
    assert answer.json()["error"]["details"]["executed"] is False
    assert host.calls == []


async def test_a_hosts_schema_cannot_keep_the_hub_busy(hub: Servers) -> None:
    text = {"type": "string", "pattern": "^(a+)+$"}  # takes years on the text below
    slow = {"name": "slow", "inputSchema": {"type": "object", "properties": {"text": text}}}
    body = {"tool": "slow", "args": {"text": "a" * 60 + "!"}}
    async with hosting(hub, tools=[slow]) as host:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: calling(hub, host.room, **body))
            await host.answer(await host.next(), "checked by the host")

        assert [call["args"] for call in host.calls] == [body["args"]]


async def test_a_host_that_leaves_within_a_call_ends_it_and_its_room_is_gone(hub: Servers) -> None:
    answers: list[httpx.Response] = []
    async with anyio.create_task_group() as tasks, hosting(hub) as host:

        async def call() -> None:
            answers.append(await calling(hub, host.room, commandId="lost"))

        tasks.start_soon(call)
        await host.next()
    after = await calling(hub, host.room)

    assert refusal(answers[0]) == (503, "room_left")
    assert answers[0].json()["error"]["details"]["executed"] == "unknown"
    assert refusal(after) == (404, "room_not_found")


async def test_a_host_comes_back_to_its_room_with_its_key_and_nobody_else_does(
    hub: Servers,
) -> None:
    async with hosting(hub) as host, hosting(hub, sessionId=host.room, key=host.key) as again:
        assert again.room == host.room
        with pytest.raises(ConnectionClosed) as closed:
            await host.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4409
        with pytest.raises((KeyError, ConnectionClosed)):
            async with hosting(hub, sessionId=host.room, key="guessed"):
                pass


async def test_a_token_without_the_scope_join_opens_no_room(hub: Servers) -> None:
    reader = new_token(hub.http, "read")

    with pytest.raises(Exception, match="403"):
        async with hosting(hub, token=reader):
            pass


async def test_a_slow_host_is_a_deadline_and_the_same_command_has_its_result_later(
    hub: Servers,
) -> None:
    body = {"command_id": "slow", "tool": "echo", "args": {"text": "hi"}}
    answers: list[httpx.Response] = []
    async with hosting(hub) as host:
        path = f"/rooms/{host.room}/call"

        def ask(wait_ms: int) -> httpx.Response:
            return hub.http.post(path, json={**body, "wait_ms": wait_ms})

        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                answers.append(await anyio.to_thread.run_sync(ask, 50))

            tasks.start_soon(call)
            await host.next()
        await host.answer(host.calls[0], "done at last")
        answers.append(await anyio.to_thread.run_sync(ask, 5_000))

    assert refusal(answers[0]) == (408, "deadline")
    assert answers[0].json()["error"]["details"]["executed"] == "unknown"
    assert answers[1].json()["result"] == "done at last"
    assert len(host.calls) == 1


@pytest.mark.parametrize("field", ["secret", "tool", "commandId", "args"])
async def test_text_that_is_no_unicode_is_no_crash(hub: Servers, field: str) -> None:
    lone: Any = {"text": "\ud800"} if field == "args" else "\ud800"
    body = {"commandId": f"u-{field}", "tool": "echo", "args": {"text": "hi"}, "secret": SECRET}
    sent = json.dumps(body | {field: lone})
    answers: list[httpx.Response] = []
    async with hosting(hub) as host, anyio.create_task_group() as tasks:
        if field == "args":

            async def answer() -> None:
                asked = await host.next()
                await host.answer(asked, asked["args"]["text"])

            tasks.start_soon(answer)
        url = f"{hub.hub.url()}/rooms/{host.room}"
        answers.append(await anyio.to_thread.run_sync(lambda: httpx.post(url, content=sent)))

    [heard] = answers
    assert heard.status_code == (200 if field == "args" else 403 if field == "secret" else 400)
    assert field != "args" or heard.json() == "\ud800"


async def test_an_operation_that_a_terminal_has_not_is_named_as_what_is_missing(
    hub: Servers,
) -> None:
    made = hub.http.post("/sessions", json={"name": "few", "command": "cat"}).json()

    asked = httpx.post(
        f"{hub.hub.url()}/rooms/{made['id']}",
        json={"commandId": "n", "tool": "nope", "args": {}, "secret": SECRET},
        headers={"Authorization": f"Bearer {hub.hub.token()}"},
    )

    assert refusal(asked) == (404, "tool_not_announced")
    assert "command.run" in asked.json()["error"]["details"]["tools"]


async def test_rooms_of_one_user_are_none_of_anothers(hub: Servers) -> None:
    tokens: dict[str, str] = {}
    for name in ("ada", "bea"):
        hub.hub.client.post("/users", {"name": name})
        given = {"scopes": ["read", "input", "join"]}
        tokens[name] = hub.hub.client.post(f"/users/{name}/tokens", given)["token"]
    async with hosting(hub, token=tokens["ada"]) as host:

        def called(token: str | None) -> httpx.Response:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            body = {"commandId": "x", "tool": "echo", "args": {"text": "hi"}, "secret": SECRET}
            return httpx.post(f"{hub.hub.url()}/rooms/{host.room}", json=body, headers=headers)

        by_other = await anyio.to_thread.run_sync(called, tokens["bea"])
        by_nobody = await anyio.to_thread.run_sync(called, None)

        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                answer = await anyio.to_thread.run_sync(called, tokens["ada"])
                assert answer.json() == "mine"

            tasks.start_soon(call)
            await host.answer(await host.next(), "mine")

    assert refusal(by_other) == refusal(by_nobody) == (404, "room_not_found")


async def test_a_terminal_is_a_room_whose_tools_are_operations(hub: Servers) -> None:
    made = hub.http.post("/sessions", json={"name": "term", "command": "bash"}).json()

    answer = await calling(hub, made["id"], tool="command.run", args={"input": "echo roomy"})

    assert answer.json()["output"] == "roomy"
