"""The same request has the same error through every door: half characters, deep ones, wrong words, a server's name."""

import json
from typing import Any

import pytest

from duetty.ops.contract.compat import bridge
from duetty.ops.contract.failures import InvalidPayload
from duetty.ops.contract.request import MAX_LEVELS, checked
from tests.contract.doors import DOORS, opened
from tests.contract.test_odd_requests import posted
from tests.edges.mcp.host import MODERN, hosted
from tests.server_process import ServerProcess

Json = dict[str, Any]


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"x": value}
    return value


ODD: dict[str, Json] = {
    "half a character": {"action": "execute", "execution": {"command": "echo \ud800"}},
    "in a name": {"action": "list", "compat": {"\udfff": 1}, "\ud800": 1},
    "as an action": {"action": "\ud800"},
    "as a mode": {"action": "list", "invocation": {"mode": "\ud800"}},
    "in a list": {"action": "execute", "execution": {"command": "echo", "args": ["\ud83d"]}},
    "deep": {"action": "list", "compat": deep(MAX_LEVELS + 1)},
    "very deep": {"action": "list", "compat": deep(300)},
    "deep and unknown": {"action": "list", "x": deep(250)},
    "unknown, and null": {"action": "list", "bogus": None},
    "unknown and null beside a command": {
        "action": "execute",
        "bogus": None,
        "execution": {"command": "ls"},
        "invocation": {"mode": "headless"},
    },
    "in what compat says": {"action": "list", "compat": {"a": "\ud800"}},
    "deep in what compat says": {"action": "list", "compat": {"a": [{"b": {"\udc00": 1}}]}},
    "in a part's name": {"action": "list", "runtime": {"\ud800": 1}},
    "no name": {"action": "list", "": 1},
    "no name within": {"action": "execute", "execution": {"command": "ls", "": 1}},
}


@pytest.mark.pty
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("asks", [False, True], ids=["plain", "can be asked"])
@pytest.mark.sampled(4)
def test_what_a_reader_may_stumble_over_is_told_alike_by_http_and_on_stdio(
    server: ServerProcess, odd: str, asks: bool
) -> None:
    request = ODD[odd]
    _, by_http = posted(server, json.dumps(request).encode())
    capabilities: Json = {"elicitation": {}} if asks else {}
    with hosted(server, "--dialect", "terminal") as host:
        given = {
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "0"},
        }
        host.ask("initialize", given)
        host.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        by_mcp = host.call("terminal", **request)
        after = host.call("terminal", action="list")

    assert by_http["error"]["code"] == "PM_TERM_INVALID_PAYLOAD"
    assert _lasting(by_mcp["error"]) == _lasting(by_http["error"])
    assert after["ok"] is True


@pytest.mark.pty
@pytest.mark.parametrize("odd", ODD)
def test_what_a_reader_may_stumble_over_is_told_alike_on_mcp_over_http(
    server: ServerProcess, odd: str
) -> None:
    _, by_http = posted(server, json.dumps(ODD[odd]).encode())

    posted_there(server, {"action": "list"})
    status, told = posted_there(server, ODD[odd])

    assert status == 200
    error = told["result"]["structuredContent"]["error"]
    assert _lasting(error) == _lasting(by_http["error"])


def posted_there(server: ServerProcess, request: Json) -> tuple[int, Json]:
    params = {"name": "terminal", "arguments": request, "_meta": MODERN}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN["io.modelcontextprotocol/protocolVersion"],
        "Mcp-Method": "tools/call",
        "Mcp-Name": "terminal",
    }
    return posted(server, json.dumps(message).encode(), "/mcp/terminal", **headers)


def _lasting(error: Json) -> Json:
    details = error["details"]
    metadata = {**details["metadata"], "trace_id": None}
    return {**error, "details": {**details, "trace_id": None, "metadata": metadata}}


@pytest.mark.pty
@pytest.mark.parametrize(
    ("id_", "tool"), [(rb'"\ud800"', b'"terminal"'), (b"7", rb'"\ud800"')], ids=["id", "tool"]
)
def test_what_is_odd_in_the_message_itself_is_no_message(
    server: ServerProcess, id_: bytes, tool: bytes
) -> None:
    params = b'{"name":%s,"arguments":{}}' % tool
    with hosted(server, "--dialect", "terminal") as host:
        host.shake_hands()
        host.say(b'{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}' % (id_, params))
        answer = host.hear()
        after = host.call("terminal", action="list")

    assert answer["error"]["code"] in (-32600, -32700)
    assert after["ok"] is True


@pytest.mark.parametrize("levels", [1, MAX_LEVELS - 1])
def test_what_is_not_so_deep_is_let_pass(levels: int) -> None:
    assert checked(bridge({"action": "list", "compat": {"x": deep(levels)}})).action == "list"


@pytest.mark.parametrize("compat", [deep(MAX_LEVELS + 1), {"x": [[deep(MAX_LEVELS)]]}])
def test_what_is_too_deep_says_so(compat: Json) -> None:
    with pytest.raises(InvalidPayload) as refused:
        checked(bridge({"action": "list", "compat": compat}))

    assert refused.value.details["fields"] == {"compat": "is nested more than 32 levels deep"}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"compat": {"a": "\ud800"}}, "compat: must be Unicode text, its names too"),
        ({"compat": {"\ud800": 1}}, "compat: must be Unicode text, its names too"),
        ({"compat": {"a": [{"b": "\udc00"}]}}, "compat: must be Unicode text, its names too"),
        ({"runtime": {"\ud800": 1}}, "runtime: must be Unicode text, its names too"),
        ({"target": {"": 1}}, 'target."": unknown'),
        ({"target": {"  ": 1}}, 'target."  ": unknown'),
        ({"": 1}, '"": unknown; known are action, invocation, runtime, execution, target, compat'),
    ],
)
def test_a_name_that_nobody_could_read_is_told_in_words(request_: Json, message: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        checked(bridge({"action": "list", **request_}))

    assert refused.value.message == message


@pytest.mark.parametrize("compat", [{"a": "\U0001f600"}, {"ü": ["é", {"x": None}]}, {"a": None}])
def test_what_compat_says_in_whole_characters_is_let_pass(compat: Json) -> None:
    assert checked(bridge({"action": "list", "compat": compat})).action == "list"


@pytest.mark.parametrize(
    ("request_", "field", "allowed"),
    [
        (
            {"action": "execute", "execution": {"command": "ls", "intent": "guess"}},
            "execution.intent",
            ["open_only", "execute_command"],
        ),
        ({"action": "list", "compat": {"shape": "round"}}, "compat.shape", ["canonical", "flat"]),
        (
            {"action": "execute", "execution": {"command": "ls"}, "runtime": {"sandbox": "box"}},
            "runtime.sandbox",
            ["none", "any", "landlock", "bubblewrap"],
        ),
        (
            {"action": "list", "invocation": {"mode": 5}},
            "invocation.mode",
            ["interactive", "headless"],
        ),
        (
            {"action": "create", "execution": {"intent": "execute_command"}},
            "execution.intent",
            ["open_only"],
        ),
        ({"action": "list", "runtime": {"cols": "wide"}}, "runtime.cols", []),
        ({"action": "list", "runtime": {"sandbox": "none"}}, "runtime.sandbox", []),
    ],
)
def test_a_wrong_word_is_told_with_those_that_can_be_used(
    request_: Json, field: str, allowed: list[str]
) -> None:
    with pytest.raises(InvalidPayload) as refused:
        checked(bridge(request_))

    assert refused.value.details["allowed"] == allowed
    assert list(refused.value.details["fields"]) == [field]  # type: ignore[call-overload]


@pytest.mark.pty
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("server_", [5, True, ["a"], {}])
async def test_a_server_that_is_no_text_is_a_bad_payload(
    server: ServerProcess, door: str, server_: object
) -> None:
    async with opened(door, server) as ask:
        refused = await ask(action="list", server=server_)

    assert refused.code == "PM_TERM_INVALID_PAYLOAD"
    assert list(refused.details["fields"]) == ["server"]


@pytest.mark.pty
def test_a_server_that_is_no_text_is_a_bad_argument_of_others(server: ServerProcess) -> None:
    status, told = posted(server, b'{"server": 5}', "/sessions")

    assert (status, told["error"]["code"]) == (400, "invalid_request")
