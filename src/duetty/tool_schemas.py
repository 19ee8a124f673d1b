"""Whether a value fits a tool's schema, as far as it uses keywords that cost nothing to check.

A schema is an upstream's or a tool host's: one with patterns, references or many branches could keep us busy for as
long as it likes. Those are left out, and what is left is linear in the value.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

MAX_DEPTH = 32

_PLAIN = frozenset(
    {"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum",
     "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties",
     "maxProperties"}
)  # fmt: skip


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "object": (dict,), "array": (list,), "null": (type(None),),
}  # fmt: skip

Problem = Callable[[Any], str | None]
"""One sentence without any value in it; None where a value fits, or the schema says nothing plain."""


def problem_of(schema: object, value: Any) -> str | None:
    return checker_of(schema)(value)


def checker_of(schema: object) -> Problem:
    """For many values of one schema."""
    plain = _plain(schema, MAX_DEPTH)
    surely_fits = _quick_check(plain)
    return lambda value: None if surely_fits(value) else _problem(plain, value)


def _quick_check(plain: Mapping[str, Any]) -> Callable[[Any], bool]:
    """Of the usual words; what has others, or does not fit, is looked at with the whole language."""
    wanted = plain.get("type")
    kinds = _TYPES.get(wanted, ()) if isinstance(wanted, str) else ()
    if set(plain) == {"type"}:
        return lambda value: type(value) in kinds
    if wanted != "object" or not plain.keys() <= {
        "type",
        "required",
        "properties",
        "additionalProperties",
    }:
        return lambda _value: False
    required = frozenset(plain.get("required", ()))
    held = {name: _quick_check(each) for name, each in plain.get("properties", {}).items()}
    is_closed = "additionalProperties" in plain

    def surely_fits(value: Any) -> bool:
        if type(value) is not dict:
            return False
        given = cast("dict[str, Any]", value)
        if not given.keys() >= required or (is_closed and not held.keys() >= given.keys()):
            return False
        for name, each in given.items():
            check = held.get(name)
            if check is not None and not check(each):
                return False
        return True

    return surely_fits


def _problem(plain: Mapping[str, Any], value: Any) -> str | None:
    # Loaded when first needed: most servers never see such a call.
    from jsonschema import Draft202012Validator

    try:
        found: Any = next(iter(Draft202012Validator(plain).iter_errors(value)), None)  # pyright: ignore[reportUnknownMemberType] - no types
    except Exception:  # noqa: BLE001 - a schema that is none says nothing
        return None
    if found is None:
        return None
    place = ".".join(str(part)[:50] for part in list(found.absolute_path)[:MAX_DEPTH])
    if found.validator == "required":
        missing = [each for each in found.validator_value if each not in found.instance]
        return f"{place or 'it'} has no {', '.join(map(str, missing))[:200]}"
    return f"{place or 'it'} does not have {found.validator} {str(found.validator_value)[:200]}"


def _plain(schema: object, depth: int) -> dict[str, Any]:
    """What of it is plain; `additionalProperties` counts only where nothing else could name them."""
    if not isinstance(schema, Mapping) or depth == 0:
        return {}
    given = cast("Mapping[str, Any]", schema)
    kept = {key: value for key, value in given.items() if key in _PLAIN}
    required = given.get("required")
    if isinstance(required, list):
        kept["required"] = [
            each for each in cast("list[object]", required) if isinstance(each, str)
        ]
    properties = given.get("properties")
    if isinstance(properties, Mapping):
        named = cast("Mapping[str, Any]", properties)
        kept["properties"] = {name: _plain(each, depth - 1) for name, each in named.items()}
        is_closed = given.get("additionalProperties") is False
        if is_closed and not {"patternProperties", "$ref", "allOf"} & given.keys():
            kept["additionalProperties"] = False
    if isinstance(given.get("items"), Mapping) and "prefixItems" not in given:
        kept["items"] = _plain(given["items"], depth - 1)
    return kept
