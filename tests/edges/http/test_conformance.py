"""Every operation, asked in many ways: no crash, and no answer that the document does not know.

The document is the judge, the server a real one. What a case would run is made
harmless, and what it would wait for short; everything else is as it was drawn.
"""

# schemathesis says little about its own types:
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from collections.abc import Iterator
from typing import Any, cast

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from duetty.edges.http.openapi import document
from duetty.ops import OPERATIONS
from tests.edges.http.asking import client_of
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.pty]

EXAMPLES = 20
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
Case = Any

SCHEMA = schemathesis.openapi.from_dict(document())
BY_NAME = {
    operation.definition.raw["operationId"]: operation
    for operation in (each.ok() for each in SCHEMA.get_all_operations())
    if "x-stream" not in operation.definition.raw  # a stream has no end to wait for
}
ENDS_THE_SERVER = {"server.stop"}


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
        if "max_wait_ms" not in body and "input" in body:
            body["max_wait_ms"] = 50
    if "max_wait_ms" in document_query(case):
        case.query = {"max_wait_ms": 50, **(case.query or {})}


def document_query(case: Case) -> set[str]:
    parameters = case.operation.definition.raw["parameters"]
    return {each["name"] for each in parameters if each["in"] == "query"}


def test_every_operation_but_the_one_that_ends_the_server_is_asked() -> None:
    assert set(BY_NAME) == set(OPERATIONS)


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - ENDS_THE_SERVER))
def test_an_operation_answers_as_the_document_says(
    name: str, server: ServerProcess, asking: httpx.Client
) -> None:
    operation = BY_NAME[name]
    cases = st.one_of(
        operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
        operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.filter_too_much,
            HealthCheck.data_too_large,
        ],
    )
    @given(case=cases, known=st.sampled_from([True, True, False]))
    def ask(case: Case, known: bool) -> None:
        if known and "session" in (case.path_parameters or {}):
            # It may have been closed, removed or renamed by the case before.
            asking.post("/sessions", json={"name": "known", "command": "cat"})
            case.path_parameters = {**case.path_parameters, "session": "known"}
        tame(case)
        response = case.call(base_url=server.url(), headers=dict(asking.headers))
        case.validate_response(response, checks=CHECKS)

    ask()
