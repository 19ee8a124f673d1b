"""Every operation, asked in many ways: no crash, and no answer that the document does not know.

The document is the judge, the server a real one. What a case would run is made
harmless, and what it would wait for short; everything else is as it was drawn.
"""

# schemathesis says little about its own types:
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

import json
from collections.abc import Iterator
from typing import Any, cast

import httpx
import jsonschema
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from duetty.edges.http.openapi import document
from duetty.errors import AgentNotConfigured, ServerUnavailable
from duetty.ops import OPERATIONS
from tests.edges.http.asking import client_of
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

SEEDS = (1, pytest.param(2, marks=pytest.mark.slow))
"""Fixed, so that a failure comes again; two, so that what one never draws is drawn."""

EXAMPLES = {1: 6, 2: 24}
"""For each operation, by seed."""

DOCUMENTED = [status_code_conformance, content_type_conformance, response_schema_conformance]
CHECKS = [not_a_server_error, *DOCUMENTED]
Case = Any

SCHEMA = schemathesis.openapi.from_dict(document())
ALL = {
    operation.definition.raw["operationId"]: operation
    for operation in (each.ok() for each in SCHEMA.get_all_operations())
}
STREAMS = {name for name, each in ALL.items() if "x-stream" in each.definition.raw}
BY_NAME = {name: each for name, each in ALL.items() if name not in STREAMS}
ENDS_THE_SERVER = {"server.stop"}
WAITING = {name for name, each in OPERATIONS.items() if "max_wait_ms" in each.params.model_fields}


@pytest.fixture(scope="module")
def asking(server: ServerProcess) -> Iterator[httpx.Client]:
    with client_of(server) as client:
        yield client


def tame(case: Case) -> None:
    for given_, most in (
        ("max_wait_ms", 50),
        ("wait_ms", 50),
        ("timeout_ms", 50),
        ("grace_ms", 10),
    ):
        for place in (case.query, case.body):
            if isinstance(place, dict) and isinstance(place.get(given_), int):
                cast("dict[str, Any]", place)[given_] = min(most, cast("int", place[given_]))
    if isinstance(case.body, dict):
        body = cast("dict[str, Any]", case.body)
        if isinstance(body.get("command"), str):
            body["command"] = "cat"
        if isinstance(body.get("address"), str) and "." in body["address"]:
            body["address"] = "http://127.0.0.1:9"
        if isinstance(body.get("input"), str):
            body["input"] = ": " + "".join(c for c in body["input"] if c.isalnum())
        if case.operation.definition.raw["operationId"] in WAITING:
            body.setdefault("max_wait_ms", 50)
    if "max_wait_ms" in document_query(case):
        case.query = {"max_wait_ms": 50, **(case.query or {})}


def document_query(case: Case) -> set[str]:
    parameters = case.operation.definition.raw["parameters"]
    return {each["name"] for each in parameters if each["in"] == "query"}


def test_every_operation_but_the_one_that_ends_the_server_is_asked() -> None:
    assert set(BY_NAME) == set(OPERATIONS)


def drawn(number: int) -> settings:
    return settings(
        max_examples=EXAMPLES[number],
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.filter_too_much,
            HealthCheck.data_too_large,
        ],
    )


def cases_of(operation: Any) -> st.SearchStrategy[Case]:
    return st.one_of(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )


def name_known_session(case: Case, asking: httpx.Client) -> None:
    if "session" in (case.path_parameters or {}):
        # It may have been closed, removed or renamed by the case before.
        asking.post("/sessions", json={"name": "known", "command": "cat"})
        case.path_parameters = {**case.path_parameters, "session": "known"}


@pytest.mark.parametrize("number", SEEDS)
@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - ENDS_THE_SERVER))
def test_an_operation_answers_as_the_document_says(
    name: str, number: int, server: ServerProcess, asking: httpx.Client
) -> None:
    @seed(number)
    @drawn(number)
    @given(case=cases_of(BY_NAME[name]), known=st.sampled_from([True, True, False]))
    def ask(case: Case, known: bool) -> None:
        if known:
            name_known_session(case, asking)
        tame(case)
        response = case.call(base_url=server.url(), headers=dict(asking.headers))
        case.validate_response(response, checks=DOCUMENTED if is_owed(response) else CHECKS)

    ask()


OWED = {AgentNotConfigured.code, ServerUnavailable.code}


def is_owed(response: Any) -> bool:
    """The 503s that this server owes: it was given no model, and where it is to join is no hub."""
    return response.status_code == 503 and json.loads(response.content)["error"]["code"] in OWED


@pytest.mark.parametrize("number", SEEDS)
@pytest.mark.parametrize("name", sorted(STREAMS))
def test_a_stream_begins_as_the_document_says(
    name: str, number: int, server: ServerProcess, asking: httpx.Client
) -> None:
    told = ALL[name].definition.raw["x-stream"]["from_server"]

    @seed(number)
    @drawn(number)
    @given(case=cases_of(ALL[name]), known=st.sampled_from([True, True, False]))
    def ask(case: Case, known: bool) -> None:
        if known:
            name_known_session(case, asking)
        response = begun(case, server, asking)
        case.validate_response(response, checks=CHECKS)
        if response.status_code == 200:
            jsonschema.validate(first_event(response.text), {**told, **COMPONENTS})

    ask()


COMPONENTS = {"components": document()["components"]}


def begun(case: Case, server: ServerProcess, asking: httpx.Client) -> requests.Response:
    """The answer, of a stream up to its first event: it has no end to wait for."""
    asked = case.as_transport_kwargs(base_url=server.url(), headers=dict(asking.headers))
    with requests.request(**asked, stream=True, timeout=60) as response:
        if response.status_code == 200:
            heard = b""
            for part in response.iter_content(chunk_size=1):
                heard += part
                if heard.endswith(b"\n\n"):
                    break
            response._content = heard  # pyright: ignore[reportPrivateUsage] - what the checks read
        else:
            assert response.content
    return response


def first_event(text: str) -> Any:
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return json.loads(data[0])
