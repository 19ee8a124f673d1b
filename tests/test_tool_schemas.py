"""A value is judged as the whole language of JSON Schema judges it, by the quick way and by the other."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from duetty.tool_schemas import problem_of

_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 1.5])
    | st.text("ab", max_size=2),
    lambda each: (
        st.lists(each, max_size=2) | st.dictionaries(st.sampled_from("abc"), each, max_size=3)
    ),
    max_leaves=5,
)
_types = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null"])


def _object(each: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": _types, "properties": st.dictionaries(st.sampled_from("abc"), each, max_size=2)},
        optional={
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": st.booleans(),
            "items": each,
            "maxProperties": st.integers(0, 2),
        },
    )


_schemas = st.recursive(
    st.fixed_dictionaries({"type": _types}, optional={"minimum": st.integers(0, 1)}),
    _object,
    max_leaves=4,
)


@given(_schemas, _values)
def test_a_value_has_a_problem_where_the_whole_language_finds_one(
    schema: dict[str, Any], value: Any
) -> None:
    assert (problem_of(schema, value) is None) == Draft202012Validator(schema).is_valid(value)  # pyright: ignore[reportUnknownMemberType] - no types
