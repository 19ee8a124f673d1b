"""Arguments of a tool, checked against its schema; never quoted, since they may be input."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol, cast

from duetty.errors import BadArguments

Check = Callable[[dict[str, Any]], dict[str, Any]]
"""Gives the arguments as the tool takes them."""


class _Problem(Protocol):
    """The part of `jsonschema.ValidationError` that is used here; the package has no types."""

    absolute_path: Iterable[object]
    validator: str
    validator_value: Any
    instance: Any


TOKEN_NAMES = frozenset(
    {"token", "usertoken", "accesstoken", "authtoken", "bearertoken", "authorization", "apikey"}
)


def refuse_token(arguments: Mapping[str, Any], known: Collection[str] = ()) -> None:
    """A credential is shown in the header Authorization; `known` are the tool's own arguments.

    Raises:
        BadArguments: if one is an argument.
    """
    for name in arguments:
        plain = name.lower().replace("_", "").replace("-", "")
        if plain in TOKEN_NAMES and name not in known:
            raise BadArguments(
                f"{name[:50]}: a token is no argument of a tool; models and logs would read it",
                hint="send it as 'Authorization: Bearer TOKEN'; `duetty login HUB` keeps one",
            )


def check_of(schema: Mapping[str, Any]) -> Check:
    """A function that raises `BadArguments` for arguments that do not fit the schema."""
    known = frozenset(schema["properties"])
    fits = quick_fit(schema)

    def check(arguments: dict[str, Any]) -> dict[str, Any]:
        if fits(arguments):
            return arguments
        sentences = [_sentence(problem, known) for problem in _problems(schema, arguments)]
        if sentences:
            raise BadArguments("; ".join(sentences))
        return _with_whole_numbers(schema, arguments)

    return check


def _with_whole_numbers(schema: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """1.0 is an integer in JSON Schema, and nowhere else."""
    whole = {
        name: int(value)
        for name, value in arguments.items()
        if isinstance(value, float) and schema["properties"].get(name, {}).get("type") == "integer"
    }
    return arguments | whole


def _problems(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Iterable[_Problem]:
    # Loaded when first needed: a tenth of what a host waits for at a start, and most calls fit.
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(schema)
    return cast("Iterable[_Problem]", validator.iter_errors(arguments))  # pyright: ignore[reportUnknownMemberType]  # no types


_TYPES: Mapping[str, type] = {"string": str, "boolean": bool, "integer": int}
_PLAIN_OBJECT = frozenset(
    ("$schema", "type", "title", "description", "properties", "required", "additionalProperties")
)
_UNDERSTOOD = frozenset(("type", "description", "title", "default", "enum", "minimum"))


def quick_fit(schema: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool]:
    """Whether arguments surely fit: no words about those that may not, and a fraction of the time."""
    if not _PLAIN_OBJECT.issuperset(schema):
        return lambda arguments: False
    rules: dict[str, tuple[type, Any, Any]] = {}
    for name, given in schema["properties"].items():
        each = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        kind: object = each.get("type")
        if isinstance(kind, str) and kind in _TYPES and _UNDERSTOOD.issuperset(each):
            rules[name] = (_TYPES[kind], each.get("enum"), each.get("minimum"))
    required = frozenset(schema.get("required", ()))

    def fits(arguments: Mapping[str, Any]) -> bool:
        if not required.issubset(arguments):
            return False
        for name, value in arguments.items():
            rule = rules.get(name)
            if rule is None or type(value) is not rule[0]:
                return False
            if (rule[1] is not None and value not in rule[1]) or (
                rule[2] is not None and value < rule[2]
            ):
                return False
        return True

    return fits


def _sentence(problem: _Problem, known: frozenset[str]) -> str:
    wanted = problem.validator_value
    match problem.validator:
        case "required":
            missing = [name for name in wanted if name not in problem.instance]
            return f"missing: {', '.join(missing)}"
        case "additionalProperties" if not problem.absolute_path:
            unknown = sorted(set(problem.instance) - known)
            sentence = f"unknown: {', '.join(unknown)}; known: {', '.join(sorted(known))}"
            return sentence.encode("utf-8", "replace").decode()
        case "type":
            rule = f"must be of type {wanted}"
        case "enum":
            rule = f"must be one of {', '.join(map(str, wanted))}"
        case _:
            rule = f"must have {problem.validator} {wanted}"
    place = ".".join(str(part) for part in problem.absolute_path)
    return f"{place or 'arguments'}: {rule}"
