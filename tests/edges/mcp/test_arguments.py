"""Wrong arguments are named, and never quoted."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from duetty.edges.mcp.arguments import check_of, quick_fit
from duetty.edges.mcp.dialects.schema import INTEGER
from duetty.edges.mcp.dialects.wsh import RESOURCES, TOOLS
from duetty.errors import BadArguments

CHECKS = {tool.name: check_of(tool.input_schema()) for tool in TOOLS}
SECRET = "hunter2"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("wsh_run_command", {"session": "s"}, "missing: input"),
        ("wsh_get_screen", {"session": 5}, "session: must be of type string"),
        (
            "wsh_get_screen",
            {"session": "s", "format": SECRET},
            "format: must be one of styled, plain",
        ),
        (
            "wsh_get_screen",
            {"session": "s", "size": SECRET},
            "unknown: size; known: format, picture, session",
        ),
        ("wsh_run_command", {"session": "s", "input": [SECRET]}, "input: must be of type string"),
        (
            "wsh_run_command",
            {"session": "s", "input": SECRET, "max_wait_ms": 0},
            "max_wait_ms: must have minimum 1",
        ),
        ("wsh_create_session", {"env": {"A": 1}}, "env.A: must be of type string"),
        ("wsh_create_session", {"rows": -1}, "rows: must have minimum 0"),
        ("wsh_create_session", {"cols": -1}, "cols: must have minimum 0"),
        (
            "wsh_manage_session",
            {"session": "s", "action": "resize", "rows": -24, "cols": 80},
            "rows: must have minimum 0",
        ),
        ("wsh_overlay", {"session": "s", "x": -1}, "x: must have minimum 0"),
        ("wsh_overlay", {"session": "s", "y": -1}, "y: must have minimum 0"),
        (
            "wsh_await_quiesce",
            {"session": "s", "last_generation": -1},
            "last_generation: must have minimum 0",
        ),
        ("wsh_send_input", {"session": "s", "keys": []}, "keys: must have minItems 1"),
    ],
)
def test_a_wrong_argument_is_named_with_its_rule(
    tool: str, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(BadArguments) as caught:
        CHECKS[tool](arguments)

    assert caught.value.message == message


def test_a_whole_number_may_be_written_with_a_point() -> None:
    check = check_of({"type": "object", "properties": {"n": INTEGER, "x": {"type": "number"}}})

    taken = check({"n": 100.0, "x": 2.0})

    assert (taken, type(taken["n"]), type(taken["x"])) == ({"n": 100, "x": 2.0}, int, float)


def test_right_arguments_pass() -> None:
    CHECKS["wsh_run_command"]({"session": "s", "input": "ls", "view": "output", "until": "x"})


ADDRESSES: list[tuple[str, list[dict[str, str] | None]]] = [
    ("wsh://sessions", [{}, None, None]),
    ("wsh://sessions/a.b/screen", [None, {"name": "a.b"}, None]),
    ("wsh://sessions/caf%C3%A9/scrollback", [None, None, {"name": "café"}]),
    ("wsh://sessions/a/b/screen", [None, None, None]),
    ("wsh://sessions//screen", [None, None, None]),
    ("WSH://sessions", [None, None, None]),
]


@pytest.mark.parametrize(("uri", "found"), ADDRESSES)
def test_an_address_belongs_to_at_most_one_resource(
    uri: str, found: list[dict[str, str] | None]
) -> None:
    assert [resource.match(uri) for resource in RESOURCES] == found


VALUES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(-2, 2)
    | st.sampled_from(["styled", "plain", "kill", "s", ""])
    | st.lists(st.text(max_size=3), max_size=2)
)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_what_fits_at_a_glance_fits_the_schema(data: st.DataObject) -> None:
    schema = data.draw(st.sampled_from(TOOLS)).input_schema()
    names = st.sampled_from([*schema["properties"], *schema["required"], "other"])
    arguments = data.draw(st.dictionaries(names, VALUES, max_size=4))

    if quick_fit(schema)(arguments):
        assert Draft202012Validator(schema).is_valid(arguments)  # pyright: ignore[reportUnknownMemberType]  # no types


def test_a_schema_with_more_to_it_is_never_judged_at_a_glance() -> None:
    name = {"type": "string"}
    odd: list[dict[str, Any]] = [
        {"properties": {"a": {**name, "maxLength": 1}}},
        {"properties": {"a": name}, "anyOf": [{"required": ["b"]}]},
        {"properties": {"a": True}},
        {"properties": {"a": {"type": ["string", "null"]}}},
    ]

    assert [quick_fit(schema)({"a": "xx"}) for schema in odd] == [False] * 4
