"""Arguments of a tool, checked against its schema; never quoted, since they may be input."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, cast

from jsonschema import Draft202012Validator

from duetty.errors import BadArguments

Check = Callable[[Mapping[str, Any]], None]


class _Problem(Protocol):
    """The part of `jsonschema.ValidationError` that is used here; the package has no types."""

    absolute_path: Iterable[object]
    validator: str
    validator_value: Any
    instance: Any


def check_of(schema: Mapping[str, Any]) -> Check:
    """A function that raises `BadArguments` for arguments that do not fit the schema."""
    validator = Draft202012Validator(schema)
    known = frozenset(schema["properties"])

    def check(arguments: Mapping[str, Any]) -> None:
        problems = cast("Iterable[_Problem]", validator.iter_errors(arguments))  # pyright: ignore[reportUnknownMemberType]  # no types
        told = [_sentence(problem, known) for problem in problems]
        if told:
            raise BadArguments("; ".join(told))

    return check


def _sentence(problem: _Problem, known: frozenset[str]) -> str:
    wanted = problem.validator_value
    match problem.validator:
        case "required":
            missing = [name for name in wanted if name not in problem.instance]
            return f"missing: {', '.join(missing)}"
        case "additionalProperties" if not problem.absolute_path:
            unknown = sorted(set(problem.instance) - known)
            return f"unknown: {', '.join(unknown)}; known: {', '.join(sorted(known))}"
        case "type":
            rule = f"must be of type {wanted}"
        case "enum":
            rule = f"must be one of {', '.join(map(str, wanted))}"
        case _:
            rule = f"must have {problem.validator} {wanted}"
    place = ".".join(str(part) for part in problem.absolute_path)
    return f"{place or 'arguments'}: {rule}"
