"""Arguments and results of approvals, policy and the audit trail, as they cross the boundary."""

from typing import Annotated, Any, Literal

from pydantic import Field

from duetty.calls import RecordKind
from duetty.wire.base import CommandLine, Params, Result, SystemText

MAX_LINE = 16_384
MAX_RULE = 400_000
MAX_WAIT_MS = 300_000

MAX_HOURS = 8
"""The longest bypass. A longer need calls for a rule, which others can read."""

Via = Literal["page", "attach", "cli", "http"]
Covers = Literal["once", "conversation", "session", "project", "hours", "always"]


class ApprovalsParams(Params):
    settled: bool = Field(False, description="with the last ones that were settled")
    after: int | None = Field(
        None, ge=0, description="wait until something was asked or settled after this `seq`"
    )
    wait_ms: int = Field(0, ge=0, le=MAX_WAIT_MS, description="how long to wait for that")


class ApprovalParams(Params):
    approval: str = Field(description="id of the approval", max_length=64)


class ApproveParams(ApprovalParams):
    covers: Covers = Field(
        "once", description="how far the yes goes: one of the question's `choices`"
    )
    hours: float | None = Field(
        None,
        gt=0,
        le=MAX_HOURS,
        allow_inf_nan=False,
        description="for `hours`: how long; 1 if not given",
    )
    command_line: Annotated[CommandLine, Field(max_length=MAX_LINE)] | None = Field(
        None, description="run this instead; it is judged again"
    )
    confirm: bool = Field(
        False,
        description="run `command_line` although it does what the question did not say, after an answer with the code edit_unconfirmed",
    )
    rule: str | None = Field(
        None,
        max_length=MAX_RULE,
        description="the `rule` of the choice that the person was shown; `always` needs it",
    )
    note: str | None = Field(None, max_length=500)
    via: Via = "http"


class DeclineParams(ApprovalParams):
    note: str | None = Field(None, max_length=500, description="shown to the caller")
    via: Via = "http"


class StandingParams(Params):
    standing: str = Field(description="id of the standing approval", max_length=64)


class ApprovalChoice(Result):
    """A way to say yes to a question."""

    covers: Covers
    says: str = Field(description="what runs unasked then, to be shown beside the choice")
    rule: str | None = Field(description="the same in full, as it is kept; null for `once`")


class ApprovalInfo(Result):
    id: str
    state: Literal["pending", "granted", "rejected", "expired", "withdrawn"]
    operation: str
    session: str | None = Field(description="the name that it has now, or had last")
    session_id: str | None
    actor: str
    command_line: str | None = Field(description="as it will run")
    shown: str | None = Field(description="the same, with everything that hides made visible")
    cwd: str | None
    reason: str
    said: str | None = Field(description="what for, in the caller's words")
    rule: str | None
    classes: list[str]
    suggestion: str | None
    choices: list[ApprovalChoice] = Field(
        description="how far a yes can go, narrowest first; `once` is always there"
    )
    asked_at: str
    expires_at: str
    settled_at: str | None
    settled_by: str | None
    via: str | None
    covers: Covers | None
    standing: str | None = Field(
        description="id of the standing approval that the answer left, or that answered it"
    )
    edited: str | None
    note: str | None


class ApprovalList(Result):
    seq: int = Field(description="give it as `after` to wait for a change")
    approvals: list[ApprovalInfo]


class StandingInfo(Result):
    id: str
    covers: Covers
    rule: str = Field(description="what it covers")
    actor: str
    session: str | None = Field(description="only there; null means everywhere")
    session_id: str | None
    project: str | None = Field(description="only there; null means everywhere")
    classes: list[str] = Field(description="of what is let through, where it is no single line")
    created_at: str
    created_by: str
    via: str
    approval: str = Field(description="id of the question that was answered")
    expires_at: str | None = Field(description="null: until it is revoked, or its session ends")
    uses: int
    used_at: str | None


class AuditParams(Params):
    kind: RecordKind | None = None
    actor: str | None = Field(None, max_length=200, description="name, or kind:name")
    operation: str | None = Field(None, max_length=100)
    session: str | None = Field(None, max_length=100)
    call: str | None = Field(None, max_length=64, description="all records of one call")
    decision: Literal["allow", "ask", "deny", "refused"] | None = Field(
        None,
        description="as policy made it; `refused`: calls that did not run, by a rule, a person's no or for want of an answer",
    )
    outcome: str | None = Field(None, max_length=100, description="done, or an error's code")
    text: str | None = Field(None, max_length=1_000, description="anywhere in the record")
    since_s: float | None = Field(None, ge=0, le=2**31, description="seconds ago, at most")
    until_s: float | None = Field(None, ge=0, le=2**31, description="seconds ago, at least")
    before: int | None = Field(None, ge=1, description="only records with a smaller `seq`")
    limit: int = Field(50, ge=1, le=1_000)


AuditRecord = Annotated[
    dict[str, Any],
    Field(description="seq, prev, hash, at_ns, kind, and what the kind has; docs/audit.md"),
]


class AuditProblem(Result):
    file: str
    line: int
    seq: int | None
    what: str


class AuditVerified(Result):
    intact: bool
    records: int
    first_seq: int | None
    last_seq: int | None
    last_hash: str | None
    files: int
    anchored: bool = Field(description="whether the store knew the ends to compare with")
    problems: list[AuditProblem]


class PolicyCheckParams(Params):
    command: str = Field(max_length=MAX_LINE)
    cwd: SystemText = Field("", max_length=4_096)
    mode: Literal["interactive", "headless"] = "interactive"


class PolicyAnswer(Result):
    decision: Literal["allow", "ask", "deny"]
    reason: str
    rule: str
    classes: list[str]
    detail: str | None
    suggestion: str | None
    can_ask: bool = Field(description="whether a person is there who could be asked")


class PolicyRule(Result):
    name: str
    decide: Literal["deny", "ask", "allow"]
    why: str
    where: str


class PolicyInfo(Result):
    profile: str
    digest: str
    rules: list[PolicyRule]
