"""The fields of a call's two records in the trail: each with its name, its meaning and its value.

A field is defined here and nowhere else; `docs/audit-fields.md` is made from these tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from duetty.approvals import Granted
from duetty.calls import Call
from duetty.errors import DuettyError
from duetty.ops.guardrail.decision_record import Decided, decision_record, judged_record
from duetty.ops.guardrail.recorded_arguments import recorded_arguments
from duetty.ops.judgements import RunsLine
from duetty.ops.resolved_call import AnyCall

T = TypeVar("T")

LEFT_OUT = object()
"""The value of a field that this record does not have."""


@dataclass(frozen=True, slots=True)
class TrailField(Generic[T]):
    name: str
    meaning: str
    value: Callable[[T], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """The facts of a call that was decided, before it runs."""

    id: str
    call: AnyCall
    decided: Decided
    secret: bool
    can_ask: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeFacts:
    """The facts of a call that ran."""

    id: str
    call: AnyCall
    outcome: str
    duration_ms: float
    exit_code: int | None
    granted: Granted | None


def _arguments(facts: CallFacts) -> Mapping[str, object]:
    arguments = recorded_arguments(facts.call, secret=facts.secret)
    how = facts.call.operation.judged
    if facts.decided.judged.command_line is not None and isinstance(how, RunsLine):
        arguments.pop(how.line, None)  # it stands in `judged`
    return arguments


def _judged(facts: CallFacts) -> object:
    judged = facts.decided.judged
    is_judged = judged.command_line is not None or judged.tool is not None
    return judged_record(facts.decided) if is_judged else LEFT_OUT


def _given(value: object) -> object:
    return LEFT_OUT if value is None else value


CALLER: tuple[TrailField[Call], ...] = (
    TrailField(
        "actor",
        "who called: `kind`, `name` and `token`, the id of its credential",
        lambda call: {
            "kind": call.actor.kind,
            "name": call.actor.name,
            "token": call.actor.token,
        },
    ),
    TrailField("operation", "what it called", lambda call: call.operation),
    TrailField(
        "dialect", "the MCP vocabulary that it used; null by HTTP", lambda call: call.dialect
    ),
    TrailField(
        "conversation",
        "of an agent, where it has one",
        lambda call: call.actor.conversation or LEFT_OUT,
    ),
    TrailField(
        "client",
        "what an MCP client calls itself; not verified, and no rule sees it",
        lambda call: _given(call.actor.client),
    ),
)
"""In every record of a call, refused ones too."""

CALL: tuple[TrailField[CallFacts], ...] = (
    TrailField(
        "session",
        "the name of its session; null without one",
        lambda facts: None if facts.call.session is None else facts.call.session.name,
    ),
    TrailField(
        "session_id",
        "its id, which no other session ever has",
        lambda facts: None if facts.call.session is None else facts.call.session.profile.id,
    ),
    TrailField(
        "sandbox",
        "how the session is confined",
        lambda facts: None if facts.call.session is None else facts.call.session.profile.sandbox,
    ),
    TrailField("arguments", "as given, without secrets and within bounds", _arguments),
    TrailField(
        "decision",
        "with `rule`, `reason`, `classes`, `profile`, the digest of the rules (`policy`), and whether a person could be asked",
        lambda facts: decision_record(facts.decided, can_ask=facts.can_ask),
    ),
    TrailField("judged", "what policy saw of a line or a tool: enough to decide again", _judged),
)
"""In the record before a call runs, beside those of its caller."""

OUTCOME: tuple[TrailField[OutcomeFacts], ...] = (
    TrailField(
        "actor",
        "who called",
        lambda facts: {
            "kind": facts.call.actor.kind,
            "name": facts.call.actor.name,
        },
    ),
    TrailField("operation", "what it called", lambda facts: facts.call.operation.name),
    TrailField(
        "session",
        "the name of its session; null without one",
        lambda facts: None if facts.call.session is None else facts.call.session.name,
    ),
    TrailField(
        "outcome",
        "`done`, an error's code, `cancelled`, or `interrupted`: the server was killed meanwhile, and the next one says so",
        lambda facts: facts.outcome,
    ),
    TrailField("duration_ms", "from the decision to the end", lambda facts: facts.duration_ms),
    TrailField(
        "exit_code", "of the command, where it has one", lambda facts: _given(facts.exit_code)
    ),
    TrailField(
        "approval",
        "the id of the approval that allowed it",
        lambda facts: LEFT_OUT if facts.granted is None else facts.granted.approval,
    ),
    TrailField(
        "edited",
        "the line that a person put in place of the one that was asked about",
        lambda facts: _given(None if facts.granted is None else facts.granted.command_line),
    ),
)
"""In the record after a call."""

REFUSAL = ("trace_id", "rule", "reason")
"""Of an error's details: what the record of a refused call has."""


def _filled(fields: tuple[TrailField[T], ...], facts: T) -> dict[str, object]:
    return {each.name: value for each in fields if (value := each.value(facts)) is not LEFT_OUT}


def caller_fields(call: Call) -> dict[str, object]:
    return _filled(CALLER, call)


def call_fields(facts: CallFacts) -> dict[str, object]:
    return {"call": facts.id, **_filled(CALLER, facts.call.call), **_filled(CALL, facts)}


def refused_fields(id_: str, call: Call, error: DuettyError) -> dict[str, object]:
    why = {name: error.details[name] for name in REFUSAL if name in error.details}
    return {"call": id_, **_filled(CALLER, call), "outcome": error.code, **why}


def outcome_fields(facts: OutcomeFacts) -> dict[str, object]:
    return {"call": facts.id, **_filled(OUTCOME, facts)}
