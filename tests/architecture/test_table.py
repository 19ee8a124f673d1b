"""One table entry ⇒ one route, one schema, one page; one tree of errors."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from duetty.calls import Effect
from duetty.edges.http.errors import status_of
from duetty.errors import DuettyError
from duetty.ops import OPERATIONS, Operation
from duetty.ops.judgements import CallsTool, Plain, RunsLine, Types
from duetty.ops.operation import Route
from duetty.wire.base import Params


def error_tree() -> list[type[DuettyError]]:
    import_module("duetty.server")  # every error class is loaded with it
    found: list[type[DuettyError]] = [DuettyError]
    for kind in found:
        found += kind.__subclasses__()
    return found


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_an_operation_says_everything_that_doors_need(operation: Operation[Any, Any]) -> None:
    assert re.fullmatch(r"[a-z_]+\.[a-z_]+", operation.name)
    assert operation.summary.endswith(".")
    assert isinstance(operation.effect, Effect)
    placed = set(re.findall(r"\{(\w+)\}", operation.route.path))
    assert placed <= set(operation.params.model_fields)
    assert operation.route.method != "GET" or operation.effect is Effect.READ


def test_an_operation_is_given_its_session_and_looks_for_none() -> None:
    """A call that waits for a person or the prompt means the session that it meant at first."""
    again = [
        str(path)
        for path in (Path(__file__).parents[2] / "src/duetty/ops").rglob("*.py")
        if "registry.find(params." in path.read_text(encoding="utf-8")
    ]

    assert again == []


def test_no_two_operations_share_a_route() -> None:
    routes = [(each.route.method, each.route.path) for each in OPERATIONS.values()]

    assert len(routes) == len(set(routes))


def test_every_error_class_has_a_status_and_a_code_of_words() -> None:
    for kind in error_tree():
        # Ours are words; a published contract's are as it publishes them.
        assert re.fullmatch(r"[a-z][a-z0-9_]*|PM_TERM_[A-Z_]+", kind.code), kind
        assert 400 <= status_of(kind.__new__(kind)) < 600


def test_no_code_stands_for_two_unrelated_errors() -> None:
    by_code: dict[str, type[DuettyError]] = {}
    for kind in error_tree():
        first = by_code.setdefault(kind.code, kind)
        assert first is kind or issubclass(kind, first), (first, kind)


def test_an_operation_that_does_not_say_how_it_is_judged_cannot_be_made() -> None:
    said = {
        "name": "thing.run",
        "summary": "Run a thing.",
        "effect": Effect.CONTROL,
        "params": Params,
        "result": None,
        "run": None,
        "route": Route(method="POST", path="/things"),
    }

    with pytest.raises(TypeError, match="judged"):
        Operation(**said)  # type: ignore[arg-type, call-arg]


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_how_an_operation_is_judged_names_its_own_arguments(
    operation: Operation[Any, Any],
) -> None:
    how = operation.judged
    named = set[str]()
    match how:
        case RunsLine(line=name) | Types(text=name):
            named = {name}
        case CallsTool(tool=tool, arguments=arguments):
            named = {"upstream", tool, arguments or tool}
        case Plain():
            # What runs a line or types says so.
            takes = set(operation.params.model_fields)
            is_harmless = operation.composed or operation.effect is Effect.READ
            assert is_harmless or not takes & {"command", "keys"}

    assert named <= set(operation.params.model_fields)
