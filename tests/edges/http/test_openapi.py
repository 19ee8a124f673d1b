"""The API's description says what the table says, and the server does what it says."""

import json
import re
from typing import Any

import httpx
import pytest
import yaml
from starlette.routing import Route, compile_path

from duetty.clock import SystemClock
from duetty.edges.http import Guard, make_app, origins
from duetty.edges.http.docs_page import STYLE, page
from duetty.edges.http.errors import status_of
from duetty.edges.http.openapi import document, error_codes
from duetty.edges.http.operations import operation_endpoints, operation_routes
from duetty.edges.http.sse import sse_routes
from duetty.edges.http.websocket import websocket_routes
from duetty.edges.http.websocket.methods import METHODS, find_method
from duetty.ops import OPERATIONS, Bounds, Operation

Described = dict[str, Any]

TABLE = {(each.route.method, each.route.path): each for each in OPERATIONS.values()}


class Tables:
    """As much of a dispatcher as routes are made from."""

    operations = OPERATIONS


def described() -> dict[tuple[str, str], Described]:
    return {
        (method.upper(), path): operation
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
        if "x-stream" not in operation
    }


def described_streams() -> dict[str, Described]:
    return {
        path: methods["get"]
        for path, methods in document()["paths"].items()
        if "x-stream" in methods.get("get", {})
    }


class Bounded:
    """As much of the access as an application is made from."""

    def __init__(self) -> None:
        self.bounds = Bounds()
        self.jwt = None
        self.fetch = None


async def never() -> None:
    raise AssertionError


def test_there_is_a_route_for_every_operation_and_no_other() -> None:
    """One under `/session` too, for what is under `/sessions/{session}`: the document says that rule once."""
    guard = Guard(
        access=Bounded(),  # type: ignore[arg-type]  # nothing else is asked
        origins=lambda: origins(scheme="http", port=1, names=()),
    )

    routes = {
        (method, route.path)
        for route in operation_routes(operation_endpoints(Tables(), guard, never))  # type: ignore[arg-type]
        for method in (route.methods or set[str]()) - {"HEAD"}
    }

    named = "/sessions/{session}"
    unnamed = {(method, path.replace(named, "/session")) for method, path in TABLE if named in path}
    assert unnamed
    assert routes == set(TABLE) | unnamed
    assert f"under `{named}` is under `/session` too" in document()["info"]["description"]
    assert make_app(Tables(), guard, stopping=never, clock=SystemClock())  # type: ignore[arg-type]


def test_the_document_describes_every_operation_and_no_other() -> None:
    assert {key: each["operationId"] for key, each in described().items()} == {
        key: operation.name for key, operation in TABLE.items()
    }


def test_the_document_describes_every_websocket_and_every_stream_of_events_and_no_other() -> None:
    sockets = websocket_routes(Tables(), None, never)  # type: ignore[arg-type]
    events = sse_routes(Tables(), None, never)  # type: ignore[arg-type]

    told = {path: each["x-stream"]["kind"] for path, each in described_streams().items()}

    assert told == {
        **{route.path: "websocket" for route in sockets},
        **{route.path: "events" for route in events},
    }
    for path, each in described_streams().items():
        success = "101" if each["x-stream"]["kind"] == "websocket" else "200"
        assert success in each["responses"], path
        assert ("session" in {field["name"] for field in each["parameters"]}) == ("{" in path)
    ids = [
        operation["operationId"]
        for methods in document()["paths"].values()
        for operation in methods.values()
    ]
    assert len(ids) == len(set(ids))


def test_every_operation_is_a_websocket_method_and_every_method_an_operation() -> None:
    by_own_name = {name: find_method(name) for name in OPERATIONS}
    published = {name: find_method(name) for name in METHODS}

    assert {name for name, found in by_own_name.items() if found is None} == set()
    assert {name for name, found in published.items() if found is None} == set()
    assert find_method("no.such") is None
    assert not set(METHODS) & set(OPERATIONS)


def test_no_route_hides_another() -> None:
    routes = operation_routes(operation_endpoints(Tables(), None, never))  # type: ignore[arg-type]
    for wanted in routes:
        path = re.sub(r"\{\w+\}", "some", wanted.path)
        first = next(each for each in routes if compile_path(each.path)[0].match(path))
        assert first is wanted or isinstance(first, Route)
        assert first.path == wanted.path


@pytest.mark.parametrize("key", TABLE, ids=[f"{method} {path}" for method, path in TABLE])
def test_every_argument_of_an_operation_is_described_where_it_is_read(key: tuple[str, str]) -> None:
    operation, told = TABLE[key], described()[key]
    by_place: dict[str, set[str]] = {"path": set(), "query": set()}
    for parameter in told["parameters"]:
        by_place[parameter["in"]].add(parameter["name"])
    body = told.get("requestBody", {}).get("content", {}).get("application/json", {})
    inside: set[str] = set(body.get("schema", {}).get("properties", {}))

    raw = {operation.route.raw_body, "encoding"} if operation.route.raw_body else set[str | None]()
    assert by_place["path"] == set(re.findall(r"\{(\w+)\}", operation.route.path))
    assert (
        by_place["path"] | by_place["query"] | inside | raw
        == set(operation.params.model_fields) | {"server"} | raw
    )


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_error_an_operation_declares_is_described(operation: Operation[Any, Any]) -> None:
    told = described()[operation.route.method, operation.route.path]

    codes = error_codes(operation, is_open=operation.name == "server.health")

    for kind in operation.errors:
        assert kind.code in codes[status_of(kind.__new__(kind))]
    for status, names in codes.items():
        schema = told["responses"][str(status)]["content"]["application/json"]["schema"]
        assert schema["allOf"][1]["properties"]["error"]["properties"]["code"]["enum"] == names


def test_every_reference_in_the_document_leads_somewhere() -> None:
    whole = json.dumps(document())
    known = set(document()["components"]["schemas"])

    assert set(re.findall(r'"#/components/schemas/([^"]+)"', whole)) <= known


@pytest.mark.pty
def test_the_document_is_served_as_json_yaml_and_a_page(http: httpx.Client) -> None:
    as_json, as_yaml = http.get("/openapi.json"), http.get("/openapi.yaml")
    as_page = http.get("/docs")

    assert as_json.json()["openapi"] == "3.1.0"
    assert as_yaml.headers["content-type"] == "text/yaml; charset=utf-8"
    assert yaml.safe_load(as_yaml.text) == as_json.json()
    assert as_page.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src" not in as_page.headers["content-security-policy"]
    assert http.get("/docs/style.css").headers["content-type"] == "text/css; charset=utf-8"


def test_the_page_shows_every_operation_and_needs_nothing_from_elsewhere() -> None:
    text = page().decode()

    assert all(f'<article id="{name}">' in text for name in OPERATIONS)
    assert "<script" not in text
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", text)
    assert "url(" not in STYLE
    assert " style=" not in text
