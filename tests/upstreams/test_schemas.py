"""Arguments and answers against a tool's own schemas."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.errors import BadArguments, UpstreamFault
from duetty.tool_schemas import problem_of
from tests.upstreams.running import WAIT_S, Home, plain, trusted

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "maxLength": 5},
        "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}},
    },
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"path": "a", "lines": [1, 2]}, None),
        ({}, "it has no path"),
        ({"path": 1}, "path does not have type string"),
        ({"path": "secret!"}, "path does not have maxLength 5"),
        ({"path": "a", "lines": [1, 0]}, "lines.1 does not have minimum 1"),
        ({"path": "a", "other": 1}, "it does not have additionalProperties False"),
        ([], "it does not have type object"),
    ],
)
def test_what_does_not_fit_is_told_without_the_value(value: Any, told: str | None) -> None:
    assert problem_of(SCHEMA, value) == told


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"pattern": "(a+)+$"}}},
        {"$ref": "https://evil.example/schema"},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"properties": {"a": {"type": "no such type"}}},
        {"required": 7},
        [],
        None,
    ],
)
def test_a_schema_that_could_keep_us_busy_or_is_none_says_nothing(schema: Any) -> None:
    assert problem_of(schema, {"a": "a" * 50 + "!"}) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3)
    ),
)


@given(JSON, JSON)
def test_no_schema_and_no_value_raises(schema: Any, value: Any) -> None:
    problem_of({"properties": {"a": schema}, "items": schema, "required": schema}, value)
    problem_of(schema, value)


async def test_arguments_that_do_not_fit_never_reach_the_upstream(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    tools = [{"name": "echo", "inputSchema": SCHEMA}]
    async with Home(tmp_path).running(it=plain(tools=tools, notes=str(notes))) as upstreams:
        await trusted(upstreams)
        with pytest.raises(BadArguments), anyio.fail_after(WAIT_S):
            await upstreams.call("it", "echo", {"path": 1})

        assert not notes.exists()


async def test_an_answer_that_breaks_the_tools_own_schema_is_a_fault(tmp_path: Path) -> None:
    tools = [{"name": "echo", "outputSchema": SCHEMA}]
    async with Home(tmp_path).running(it=plain(tools=tools)) as upstreams:
        await trusted(upstreams)
        with anyio.fail_after(WAIT_S):
            good = await upstreams.call("it", "echo", {"path": "a"})
            with pytest.raises(UpstreamFault):
                await upstreams.call("it", "echo", {"other": 1})

    assert good["structuredContent"] == {"path": "a"}
