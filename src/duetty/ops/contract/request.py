"""A request as everything behind the contract's door sees it: canonical, checked, whole.

Pure: the same request gives the same value or the same failure, always. Judged in
this order: action, mode, the shape of every part, what the action needs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from duetty.ops.contract.compat import ALIASES, LIFTED, Bridged, is_whole
from duetty.ops.contract.failures import MODES, InvalidMode, InvalidPayload
from duetty.ops.contract.words import line_of
from duetty.shell import OTHER_SHELL
from duetty.wire.base import MAX_ARGUMENT_BYTES, system_bytes
from duetty.wire.contract import (
    Action,
    Compat,
    CompatGiven,
    ExecutionGiven,
    Intent,
    InvocationGiven,
    Mode,
    RuntimeGiven,
    TargetGiven,
)

MAX_PROBLEMS = 20
MAX_NAME_CHARS = 100
MAX_LEVELS = 32
"""Of what a part may hold. Readers of JSON give up at different depths; this is within the reach of all."""

PARTS: Mapping[str, TypeAdapter[Any]] = {
    "invocation": TypeAdapter(InvocationGiven),
    "runtime": TypeAdapter(RuntimeGiven),
    "execution": TypeAdapter(ExecutionGiven),
    "target": TypeAdapter(TargetGiven),
    "compat": TypeAdapter(Compat),
}

KNOWN: Mapping[str, frozenset[object]] = {
    "invocation": frozenset(InvocationGiven.model_fields),
    "runtime": frozenset(RuntimeGiven.model_fields),
    "execution": frozenset(ExecutionGiven.model_fields),
    "target": frozenset(TargetGiven.model_fields),
}
"""Fields of each part that holds no others."""

M = TypeVar("M", bound=BaseModel)


def _words_of(annotation: object) -> tuple[str, ...]:
    """Those that a field's type lists."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if get_origin(annotation) in (Union, UnionType):
        return tuple(word for each in get_args(annotation) for word in _words_of(each))
    return ()


ENUMERATED: Mapping[str, tuple[str, ...]] = {
    f"{part}.{name}": words
    for part, model in (
        ("invocation", InvocationGiven),
        ("runtime", RuntimeGiven),
        ("execution", ExecutionGiven),
        ("compat", CompatGiven),
    )
    for name, field in model.model_fields.items()
    if (words := _words_of(field.annotation))
}
"""Fields that take one of a few words, and which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    action: Action
    mode: Mode
    intent: Intent | None
    """Of an execute."""

    execution: ExecutionGiven
    runtime: RuntimeGiven
    target: str | None

    @property
    def timeout_ms(self) -> int | None:
        given = self.execution.timeout
        return given if given is not None else self.execution.timeout_ms

    @property
    def words(self) -> tuple[str, ...] | None:
        """The command as words, where it was given so; None for a command line."""
        run = self.execution
        return (run.command, *run.args) if run.command is not None and run.args else None


NEW_TERMINAL = ("cols", "rows", "name", "shell", "sandbox")
"""Hints about a terminal that is opened for the call; a headless command has a sandbox, too."""

RUNTIME_FOR: Mapping[str, frozenset[tuple[Action, Mode]]] = {
    **{name: frozenset[tuple[Action, Mode]]({("execute", "interactive")}) for name in NEW_TERMINAL},
    "sandbox": frozenset({("execute", "interactive"), ("execute", "headless")}),
    "default_cwd": frozenset({("execute", "interactive"), ("execute", "headless")}),
    "open_page": frozenset({("execute", "interactive")}),
    "background": frozenset({("execute", "headless")}),
    "max_output_bytes": frozenset(
        {
            ("execute", "interactive"),
            ("execute", "headless"),
            ("read_output", "interactive"),
            ("read_output", "headless"),
        }
    ),
    "stdout_offset": frozenset({("read_output", "headless")}),
    "stderr_offset": frozenset({("read_output", "headless")}),
}
"""Where each hint means something; elsewhere it is an error, not a silence."""

EXECUTION_FOR: Mapping[Action, frozenset[str]] = {
    "execute": frozenset(ExecutionGiven.model_fields),
    "read_output": frozenset({"timeout", "timeout_ms"}),
    "terminate": frozenset(),
    "list": frozenset(),
}


def mode_of(given: Mapping[str, Any]) -> Mode:
    """The mode that was asked for.

    Raises:
        InvalidMode: if it is none of the two.
    """
    invocation = given.get("invocation")
    mode = cast("dict[str, Any]", invocation).get("mode") if isinstance(invocation, dict) else None
    if isinstance(mode, str) and mode not in MODES and is_whole(mode):
        raise InvalidMode(
            "this mode is not known",
            fields={"invocation.mode": f"one of {', '.join(MODES)}"},
            allowed=MODES,
        )
    return "headless" if mode == "headless" else "interactive"


def checked(bridged: Bridged) -> Request:
    """Raises:
    InvalidMode: if the mode is unknown, or not for this intent.
    InvalidPayload: if anything else does not fit.
    """
    mode = mode_of(bridged.parts)
    parts, problems = _parts(bridged.parts)
    problems = {**bridged.problems, **problems}
    if problems:
        raise _invalid(problems, _allowed(bridged, problems))
    execution = cast("ExecutionGiven", parts["execution"])
    runtime = cast("RuntimeGiven", parts["runtime"])
    target = cast("TargetGiven", parts["target"])
    problems = _unfitting(bridged.action, mode, execution, runtime)
    problems |= _target_problems(bridged.action, mode, target)
    request = Request(
        action=bridged.action,
        mode=mode,
        intent=execution.intent or "execute_command" if bridged.action == "execute" else None,
        execution=execution,
        runtime=runtime,
        target=target.identity,
    )
    if bridged.action == "execute" and not problems:
        problems = _execute_problems(request)
    if problems:
        raise _invalid(problems)
    return request


def _parts(given: Mapping[str, Any]) -> tuple[dict[str, BaseModel], dict[str, str]]:
    parts: dict[str, BaseModel] = {}
    problems: dict[str, str] = {}
    for name in given:
        if name not in PARTS:
            problems[_visible_name(name)] = _unknown(name)
    for name, kind in PARTS.items():
        if _levels(given.get(name)) > MAX_LEVELS:
            problems[name] = f"is nested more than {MAX_LEVELS} levels deep"
            continue
        if not _is_whole_text(_unread(name, given.get(name))):
            problems[name] = "must be Unicode text, its names too"
            continue
        try:
            parts[name] = kind.validate_python(_without_null(name, given.get(name, {})))
        except ValidationError as error:
            problems |= _problems(name, error)
    return parts, problems


def _levels(value: object) -> int:
    """Objects and lists within one another; as deep as a reader of JSON may go."""
    level, found = 0, [value]
    while found := [each for each in found if isinstance(each, (dict, list))]:
        level += 1
        if level > MAX_LEVELS:
            break
        found = [
            inner
            for each in cast("list[dict[str, object] | list[object]]", found)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return level


def _unread(name: str, part: object) -> object:
    """What no field of the part looks at: names, and what compat lets pass."""
    return (
        list(cast("dict[object, object]", part))
        if name in KNOWN and isinstance(part, dict)
        else part
    )


def _is_whole_text(value: object) -> bool:
    """Whether no text in it has half a character."""
    found = [value]
    while found:
        each = found.pop()
        if isinstance(each, str) and not is_whole(each):
            return False
        if isinstance(each, dict):
            fields = cast("dict[object, object]", each)
            found += [*fields.keys(), *fields.values()]
        elif isinstance(each, list):
            found += cast("list[object]", each)
    return True


def _visible_name(name: object) -> str:
    """A name that the caller chose, short and without halves of characters or what cannot be seen."""
    short = str(name)[:MAX_NAME_CHARS].encode("utf-8", "replace").decode()
    if not short.strip(" "):
        return f'"{short}"'
    return short if short.isprintable() else ascii(short)[1:-1]


def _unknown(name: str) -> str:
    if name in LIFTED:
        return f"belongs into {'.'.join(LIFTED[name])}; a flat call says compat.shape = flat"
    return f"unknown; known are action, {', '.join(PARTS)}"


def _without_null(name: str, part: object) -> object:
    """Callers send null for what they leave out; what is not known is not known by null either."""
    if not isinstance(part, dict):
        return part
    fields = cast("dict[object, object]", part)
    known = KNOWN.get(name, fields)
    return {
        field: value for field, value in fields.items() if value is not None or field not in known
    }


def _problems(part: str, error: ValidationError) -> dict[str, str]:
    """One sentence for each wrong field; never its value, which may be input."""
    found: dict[str, str] = {}
    for problem in error.errors(include_url=False, include_input=False):
        place = ".".join(_visible_name(each) for each in (part, *problem["loc"]) if each != "[key]")
        match problem["type"]:
            case "too_long":
                about = problem.get("ctx", {})
                kind = "characters" if about.get("field_type") == "Value" else "items"
                found[place] = f"must have at most {about.get('max_length')} {kind}"
            case "extra_forbidden":
                found[place] = "unknown"
            case "model_type" | "dict_type":
                found[place] = "must be an object"
            case "value_error":
                found[place] = problem["msg"].removeprefix("Value error, ")
            case _:
                found[place] = problem["msg"]
    return found


def _unfitting(
    action: Action, mode: Mode, execution: ExecutionGiven, runtime: RuntimeGiven
) -> dict[str, str]:
    problems: dict[str, str] = {}
    for name in _set_fields(runtime):
        if (action, mode) not in RUNTIME_FOR[name]:
            where = sorted(f"{mode} {action}" for action, mode in RUNTIME_FOR[name])
            problems[f"runtime.{name}"] = f"only for {' and '.join(where)}"
    for name in _set_fields(execution):
        if name not in EXECUTION_FOR[action]:
            problems[f"execution.{name}"] = f"{action} takes none"
    return problems


def _set_fields(part: BaseModel) -> Iterable[str]:
    return sorted(part.model_fields_set)


def _target_problems(action: Action, mode: Mode, target: TargetGiven) -> dict[str, str]:
    is_process = mode == "headless"  # of terminals, the only one is meant
    if action in ("read_output", "terminate") and target.identity is None and is_process:
        return {"target.session": f"{action} needs one; list has them"}
    if action == "list" and target.identity is not None:
        return {"target": "list takes none"}
    return {}


def _execute_problems(request: Request) -> dict[str, str]:
    run, has_target = request.execution, request.target is not None
    problems: dict[str, str] = {}
    if request.intent == "open_only":
        for name in ("command", "args", "stdin"):
            if getattr(run, name):
                problems[f"execution.{name}"] = "open_only runs nothing"
        if has_target:
            problems["target"] = "open_only opens a new terminal; runtime.name names it"
    elif run.command is None:
        problems["execution.command"] = "execute_command needs one"
    if request.mode == "headless":
        if has_target:
            problems["target"] = "a headless command is a process of its own"
        if system_bytes(_line(request)) > MAX_ARGUMENT_BYTES:
            place = "execution.command" if request.words is None else "execution.args"
            problems[place] = f"headless: one line of at most {MAX_ARGUMENT_BYTES} bytes"
        return problems
    if has_target:
        for name in ("cwd", "env"):
            if name in run.model_fields_set:
                problems[f"execution.{name}"] = "only for a new terminal, and target names one"
        for name in NEW_TERMINAL:
            if name in request.runtime.model_fields_set:
                problems[f"runtime.{name}"] = "only for a new terminal, and target names one"
    return problems


def _line(request: Request) -> str:
    """The command as a headless shell would be given it."""
    if request.words is None:
        return request.execution.command or ""
    return line_of(request.words, OTHER_SHELL)


def _allowed(bridged: Bridged, problems: Iterable[str]) -> tuple[str, ...]:
    """What the first of the wrong fields can be that take one of a few words."""
    meant = ALIASES[bridged.alias.requested or ""].intent if bridged.alias.normalised else None
    for place in problems:
        if place == "execution.intent" and meant is not None:
            return (meant,)
        if place in ENUMERATED:
            return ENUMERATED[place]
    return ()


def _invalid(problems: Mapping[str, str], allowed: tuple[str, ...] = ()) -> InvalidPayload:
    shown = dict(list(problems.items())[:MAX_PROBLEMS])
    message = "; ".join(f"{place}: {problem}" for place, problem in shown.items())
    return InvalidPayload(message, fields=shown, allowed=allowed)
