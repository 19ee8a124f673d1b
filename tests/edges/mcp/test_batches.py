"""Arrays of messages, for the two revisions of the protocol that know them."""

import json
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from duetty.cli import rpc
from duetty.edges.mcp import batch
from tests.edges.mcp.host import INITIALIZE, Host, hosted
from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def ping(id_: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": "ping"}


def call(id_: int, tool: str, **arguments: object) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def ids(answers: list[dict[str, Any]]) -> list[int]:
    return sorted(each["id"] for each in answers)


# --- over HTTP ----------------------------------------------------------------------


class HttpClient:
    """A session of Streamable HTTP, as a client of an old revision has it: no version header."""

    def __init__(self, server: ServerProcess, version: str) -> None:
        self._url = f"{server.url()}/mcp"
        self._headers = {
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {server.token()}",
        }
        handshake = INITIALIZE | {"protocolVersion": version}
        opened = self.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": handshake})
        self._headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]

    def post(self, message: object) -> httpx.Response:
        return self.post_body(json.dumps(message).encode())

    def post_body(self, body: bytes) -> httpx.Response:
        headers = self._headers | {"Content-Type": "application/json"}
        return httpx.post(self._url, content=body, headers=headers, timeout=60)


def told(answer: httpx.Response) -> list[dict[str, Any]]:
    """The answers on an event stream."""
    lines = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


@pytest.mark.parametrize("version", batch.BATCHING)
def test_requests_in_one_body_are_answered_on_one_stream(
    server: ServerProcess, version: str
) -> None:
    client = HttpClient(server, version)

    # The first array comes with the end of the handshake, the second when the server knows the client.
    first = client.post([INITIALIZED, ping(2), {**ping(3), "method": "tools/list"}])
    name = f"batch-{version}"
    client.post(call(4, "wsh_create_session", name=name))
    runs = [call(5, "wsh_run_command", session=name, input="echo one"), ping(6)]
    second = client.post(runs)

    assert (first.status_code, second.status_code) == (200, 200)
    assert first.headers["content-type"].startswith("text/event-stream")
    assert ids(told(first)) == [2, 3]
    answers = {each["id"]: each["result"] for each in told(second)}
    assert answers[5]["structuredContent"]["output"] == "one"
    assert answers[6] == {}


def test_an_array_may_begin_with_white_space(server: ServerProcess) -> None:
    client = HttpClient(server, "2025-03-26")

    answer = client.post_body(b" \r\n\t" + json.dumps([INITIALIZED, ping(2)]).encode())

    assert ids(told(answer)) == [2]


def test_both_doors_mean_the_same_by_an_array() -> None:
    """The bridge cannot import the server's edge, so each of them says it."""
    assert (batch.BATCHING, batch.MAX_MESSAGES) == (rpc.BATCHING, rpc.MAX_BATCH)


def test_notifications_alone_are_accepted_without_a_word(server: ServerProcess) -> None:
    answer = HttpClient(server, "2025-03-26").post([INITIALIZED, INITIALIZED])

    assert (answer.status_code, answer.content) == (202, b"")


def test_what_is_no_message_gets_its_error_beside_the_answers_of_the_others(
    server: ServerProcess,
) -> None:
    client = HttpClient(server, "2025-03-26")

    answers = told(client.post([INITIALIZED, 7, ping(2), {**ping(3), "method": "no/such"}]))

    codes = {each["id"]: each.get("error", {}).get("code") for each in answers}
    assert codes[2] is None
    assert codes[3] == -32601
    assert len(answers) == 3
    assert [each["error"]["code"] for each in answers if each["id"] not in (2, 3)] == [-32602]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [ping(2), [ping(3)]],
        [ping(2), {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": INITIALIZE}],
        [ping(each) for each in range(2, 103)],
    ],
    ids=["empty", "nested", "with a handshake", "too many"],
)
def test_arrays_that_are_no_batch_are_refused_as_a_whole(
    server: ServerProcess, messages: list[Any]
) -> None:
    client = HttpClient(server, "2025-03-26")

    answer = client.post(messages)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in (-32600, -32602, -32700)


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_later_revisions_have_no_arrays(server: ServerProcess, version: str) -> None:
    client = HttpClient(server, version)
    client.post(INITIALIZED)
    while client.post(ping(9)).status_code != 200:
        pass

    answer = client.post([ping(2), ping(3)])

    assert answer.status_code == 400


# --- over stdio ---------------------------------------------------------------------


@pytest.mark.parametrize("version", batch.BATCHING)
def test_requests_in_one_line_are_answered_in_one_line(server: ServerProcess, version: str) -> None:
    with hosted(server) as host:
        host.shake_hands(version)
        host.say(json.dumps([ping(11), {**ping(12), "method": "no/such"}, INITIALIZED, 7]).encode())
        answers: Any = host.hear()
        pong = host.ask("ping")

    codes = {each["id"]: each.get("error", {}).get("code") for each in answers}
    assert codes == {11: None, 12: -32601, None: -32600}
    assert pong["result"] == {}


def say_run_and_ping(host: Host, run_id: int, ping_id: int) -> None:
    """An array of a call that takes for ever and one that takes no time."""
    host.call("wsh_create_session", name="batch")
    run = call(run_id, "wsh_run_command", session="batch", input="sleep 600")
    host.say(json.dumps([run, ping(ping_id)]).encode())


def test_a_cancelled_request_is_not_waited_for(server: ServerProcess) -> None:
    with hosted(server) as host:
        host.shake_hands("2025-03-26")
        say_run_and_ping(host, 21, 22)
        host.call("wsh_list_sessions")
        gone = {"method": "notifications/cancelled", "params": {"requestId": 21}}
        host.say(json.dumps({"jsonrpc": "2.0", **gone}).encode())
        answers: Any = host.hear()

    assert ids(answers) == [22]


def test_when_the_server_goes_each_call_of_an_array_has_its_error(home: Any) -> None:
    server = ServerProcess(home)
    server.start()
    try:
        with hosted(server) as host:
            host.shake_hands("2025-03-26")
            say_run_and_ping(host, 31, 32)
            host.ask("ping")
            server.kill()
            answers: Any = host.hear()
    finally:
        server.end()

    assert ids(answers) == [31, 32]
    assert {each["id"]: "error" in each for each in answers} == {31: True, 32: False}


@pytest.mark.parametrize("messages", [[], [{"jsonrpc": "2.0", "id": 3, "method": "initialize"}]])
def test_lines_that_are_no_batch_are_refused_as_a_whole(
    server: ServerProcess, messages: list[Any]
) -> None:
    with hosted(server) as host:
        host.shake_hands("2025-03-26")
        host.say(json.dumps(messages).encode())
        refusal = host.hear()

    assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)


def test_later_revisions_have_no_arrays_on_stdio_either(server: ServerProcess) -> None:
    with hosted(server) as host:
        host.shake_hands("2025-06-18")
        host.say(json.dumps([ping(2), ping(3)]).encode())
        refusal = host.hear()

    assert refusal["error"]["code"] == -32600


# --- how they are begun -------------------------------------------------------------


@pytest.mark.anyio
async def test_messages_begin_one_after_the_other_unless_one_waits() -> None:
    under_way: list[int] = []
    most = 0

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        nonlocal most
        id_ = json.loads((await receive())["body"])["id"]
        under_way.append(id_)
        most = max(most, len(under_way))
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        if id_ == 50:
            while 99 not in begun:
                await anyio.sleep(0.001)
        begun.append(id_)
        under_way.remove(id_)

    begun: list[int] = []
    many = batch.Batch([ping(number) for number in range(100)], nothing)
    with anyio.fail_after(30):
        await many.answer(serve, turn=nothing, scope={"headers": []}, send=nothing)

    assert begun[-1] == 50
    assert sorted(begun) == list(range(100))
    assert most <= 10  # on a machine that has other things to do some are late


@pytest.mark.anyio
async def test_each_message_waits_for_its_turn_of_the_loop() -> None:
    seen: list[str] = []

    async def turn() -> None:
        seen.append("turn")

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        seen.append(json.loads((await receive())["body"])["id"])

    many = batch.Batch([ping(number) for number in range(3)], nothing)
    with anyio.fail_after(30):
        await many.answer(serve, turn=turn, scope={"headers": []}, send=nothing)

    assert seen == ["turn", 0, "turn", 1, "turn", 2]


async def nothing(*_: object) -> Any:
    return None
