"""Requests as nobody should make them: each is answered with a code, and nothing is passed over."""

import gzip
import json
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import httpx
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from duetty.ops import OPERATIONS
from tests.edges.http.asking import address_of, refusal, spoken
from tests.server_process import ServerProcess

pytestmark = pytest.mark.pty


def plain(annotation: object) -> set[object]:
    """The types and literal values that an annotation allows, without what surrounds them."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return plain(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return {kind for part in get_args(annotation) for kind in plain(part)}
    return {origin or annotation}


def of_type(kind: type) -> list[tuple[type[BaseModel], str]]:
    """Every field of this type in every operation's arguments, and in the shapes within them."""
    todo: list[Any] = [operation.params for operation in OPERATIONS.values()]
    seen: set[type[BaseModel]] = set()
    found: list[tuple[type[BaseModel], str]] = []
    while todo:
        shape = todo.pop()
        todo += get_args(shape)
        if not (isinstance(shape, type) and issubclass(shape, BaseModel)) or shape in seen:
            continue
        seen.add(shape)
        for name, field in shape.model_fields.items():
            todo.append(field.annotation)
            if kind in plain(field.annotation):
                found.append((shape, name))
    return sorted(set(found), key=lambda each: (each[0].__name__, each[1]))


def takes(shape: type[BaseModel], name: str, value: object) -> bool:
    """Whether this field, whatever the others are, may have this value."""
    try:
        shape.model_validate({name: value})
    except ValidationError as error:
        return not any(problem["loc"][:1] == (name,) for problem in error.errors())
    return True


def called(field: tuple[type[BaseModel], str]) -> str:
    return f"{field[0].__name__}.{field[1]}"


@pytest.mark.parametrize("field", of_type(int), ids=called)
def test_a_whole_number_is_neither_a_truth_value_nor_a_text_nor_a_fraction(
    field: tuple[type[BaseModel], str],
) -> None:
    shape, name = field

    assert not takes(shape, name, True)
    assert not takes(shape, name, "1")
    assert not takes(shape, name, 1.5)
    assert not takes(shape, name, [1])


@pytest.mark.parametrize("field", of_type(bool), ids=called)
def test_a_truth_value_is_no_number_and_no_text(field: tuple[type[BaseModel], str]) -> None:
    shape, name = field

    assert takes(shape, name, True)
    assert not takes(shape, name, 1)
    assert not takes(shape, name, "true")


def test_every_kind_of_field_was_looked_at() -> None:
    assert len(of_type(int)) > 30
    assert len(of_type(bool)) > 10
    assert TypeAdapter(Literal[2, 3]).validate_python(2) == 2


@pytest.mark.parametrize("rows", [True, "24", 24.5, None, [24], {}])
def test_a_size_that_is_no_number_is_refused(
    http: httpx.Client, session: str, rows: object
) -> None:
    answer = http.post(f"/sessions/{session}/resize", json={"cols": 80, "rows": rows})

    assert refusal(answer) == (400, "invalid_request")
    assert http.get(f"/sessions/{session}").json()["rows"] == 24


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity"])
def test_a_constant_that_is_no_json_is_refused(
    http: httpx.Client, session: str, constant: bytes
) -> None:
    answer = http.post(
        f"/sessions/{session}/resize",
        content=b'{"cols": 80, "rows": ' + constant + b"}",
        headers={"content-type": "application/json"},
    )

    assert refusal(answer) == (400, "invalid_request")
    assert "no JSON" in answer.json()["error"]["message"]


def test_a_number_too_large_for_anything_is_brought_into_range_or_refused(
    http: httpx.Client, session: str
) -> None:
    large = int("9" * 400)

    resized = http.post(f"/sessions/{session}/resize", json={"cols": 80, "rows": large})
    asked = http.get(f"/sessions/{session}/scrollback", params={"limit": "9" * 400})
    longer = http.post(
        f"/sessions/{session}/resize",
        content=b'{"cols": 80, "rows": ' + b"9" * 5_000 + b"}",
        headers={"content-type": "application/json"},
    )
    streamed = http.get(f"/sessions/{session}/events", params={"interval_ms": "9" * 5_000})

    assert (resized.status_code, resized.json()["rows"]) == (200, 1_000)
    assert refusal(asked) == (400, "invalid_request")
    assert refusal(longer) == (400, "invalid_request")
    assert refusal(streamed) == (400, "invalid_request")


@pytest.mark.parametrize("value", ["maybe", "", "TRUE ", "2"])
def test_a_truth_value_in_a_query_is_true_or_false(
    http: httpx.Client, session: str, value: str
) -> None:
    answer = http.get(f"/sessions/{session}/idle", params={"timeout_ms": 1, "fresh": value})

    assert refusal(answer) == (400, "invalid_request")


def test_a_packed_body_is_refused_not_typed(http: httpx.Client, session: str) -> None:
    packed = {"content-encoding": "gzip"}
    as_json = {"content-type": "application/json"}

    typed = http.post(
        f"/sessions/{session}/input", content=gzip.compress(b"echo no\r"), headers=packed
    )
    made = http.post(
        "/sessions", content=gzip.compress(b'{"name": "packed"}'), headers=packed | as_json
    )

    assert refusal(typed) == (415, "unsupported_media_type")
    assert refusal(made) == (415, "unsupported_media_type")


def parts(heard: bytes) -> tuple[int, dict[str, str], Any]:
    head, _, body = heard.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return int(first.split()[1]), headers, json.loads(body)


UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"


@pytest.mark.parametrize(
    ("method", "headers", "told"),
    [
        ("GET", UPGRADE + KEY + "Sec-WebSocket-Version: 8\r\n", (426, "upgrade_required")),
        (
            "GET",
            UPGRADE + "Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 8\r\n",
            (426, "upgrade_required"),
        ),
        (
            "GET",
            UPGRADE + "Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n",
            (400, "invalid_request"),
        ),
        ("GET", UPGRADE + "Sec-WebSocket-Version: 13\r\n", (400, "invalid_request")),
        (
            "POST",
            UPGRADE + KEY + "Sec-WebSocket-Version: 13\r\n",
            (405, "method_not_allowed"),
        ),
    ],
)
def test_an_upgrade_that_cannot_be_one_gets_the_one_envelope(
    server: ServerProcess, method: str, headers: str, told: tuple[int, str]
) -> None:
    host, port = address_of(server)
    said = (
        f"{method} /ws/json HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Authorization: Bearer {server.token()}\r\n{headers}\r\n"
    )

    status, shown, body = parts(spoken(server, said.encode()))

    assert (status, body["error"]["code"]) == told
    assert shown["content-type"] == "application/json"
    assert shown["x-frame-options"] == "DENY"
    assert shown.get("sec-websocket-version") == ("13" if status == 426 else None)


def test_an_encoding_of_the_transfer_that_we_do_not_undo_is_refused(server: ServerProcess) -> None:
    host, port = address_of(server)
    said = (
        f"POST /sessions HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n"
        f"Authorization: Bearer {server.token()}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
    )

    status, _, body = parts(spoken(server, said.encode()))

    assert (status, body["error"]["code"]) == (415, "unsupported_media_type")


def test_a_body_in_chunks_and_requests_one_after_the_other_are_answered_in_order(
    server: ServerProcess,
) -> None:
    host, port = address_of(server)
    head = f"Host: {host}:{port}\r\nAuthorization: Bearer {server.token()}\r\n"
    body = '{"name": "in-chunks", "command": "cat"}'
    said = (
        f"POST /sessions HTTP/1.1\r\n{head}Content-Type: application/json\r\n"
        f"Transfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n{body}\r\n0\r\n\r\n"
        f"DELETE /sessions/in-chunks?grace_ms=0 HTTP/1.1\r\n{head}\r\n"
        f"GET /nothing HTTP/1.1\r\n{head}Connection: close\r\n\r\n"
    )

    heard = spoken(server, said.encode())

    assert [each[:3] for each in heard.split(b"HTTP/1.1 ")[1:]] == [b"201", b"204", b"404"]


def test_the_page_refuses_what_it_cannot_do_as_the_api_does(http: httpx.Client) -> None:
    refused, missing = http.delete("/ui"), http.get("/ui/assets/none.js")

    assert refusal(refused) == (405, "method_not_allowed")
    assert {each.strip() for each in refused.headers["allow"].split(",")} == {"GET", "HEAD"}
    assert refusal(missing) == (404, "not_found")


# --- tags, which no other file shows -------------------------------------------------


def test_tags_are_sorted_and_there_may_be_none(http: httpx.Client) -> None:
    tagged = http.post(
        "/sessions", json={"command": "sleep 100", "tags": ["zulu", "alpha", "mike", "alpha"]}
    ).json()
    bare = http.post("/sessions", json={"command": "sleep 100"}).json()

    for each in (tagged, bare):
        http.delete(f"/sessions/{each['name']}", params={"grace_ms": 0, "signal": "KILL"})
    assert (tagged["tags"], bare["tags"]) == (["alpha", "mike", "zulu"], [])


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain", "accept": "application/json, text/event-stream"}, 415),
        ({"content-type": "application/json", "accept": "text/html"}, 406),
    ],
)
def test_a_tool_call_of_another_kind_is_told_which_it_must_be(
    http: httpx.Client, headers: dict[str, str], status: int
) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }

    assert http.post("/mcp", content=json.dumps(hello), headers=headers).status_code == status


def test_a_target_with_a_host_of_its_own_is_asked_for_by_that_host(server: ServerProcess) -> None:
    host, port = address_of(server)

    def asked(target: str) -> tuple[int, object]:
        said = (
            f"GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n"
            f"Authorization: Bearer {server.token()}\r\n\r\n"
        )
        status, _, body = parts(spoken(server, said.encode()))
        return status, body["error"]["code"] if status != 200 else "fine"

    assert asked("http://evil.com/health") == (403, "origin_not_allowed")
    assert asked(f"http://evil.com:{port}/health") == (403, "origin_not_allowed")
    assert asked(f"http://{host}:{port}@evil.com/health") == (403, "origin_not_allowed")
    assert asked(f"http://{host}:{port}/health") == (200, "fine")
