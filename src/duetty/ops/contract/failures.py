"""The ten failures of the terminal contract, and which of them each error of ours is.

A payload always has the same parts: code and message, a hint, and in `details` the
hints per field, the allowed values, whether a retry can help, and the trace id.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, get_args

from duetty.errors import (
    ApprovalExpired,
    ApprovalRejected,
    BadArguments,
    BadCommand,
    BadWorkingDirectory,
    CommandTooLong,
    Conflict,
    Deadline,
    DuettyError,
    Exhausted,
    InputRejected,
    InvalidSessionName,
    KeeperUnavailable,
    NotFound,
    PolicyDenied,
    Refused,
    ScopeMissing,
    ServerUnreachable,
    SessionBusy,
    SessionExited,
    SessionNameConflict,
    Unavailable,
)
from duetty.wire.contract import Action, Metadata, Mode, Reason, TargetInfo

ACTIONS: tuple[str, ...] = get_args(Action)
MODES: tuple[str, ...] = get_args(Mode)


class TerminalFailure(DuettyError):
    """A failure as the contract tells it."""

    retriable: ClassVar[bool] = False
    retry: ClassVar[str] = "never"
    """What has to happen before another attempt makes sense."""

    guidance: ClassVar[str] = ""
    """The hint, where nothing better is known."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        fields: Mapping[str, str] | None = None,
        allowed: Sequence[str] = (),
        **known: object,
    ) -> None:
        super().__init__(message, hint=hint or self.guidance or None)
        self.details = {
            "fields": dict(fields or {}),
            "allowed": list(allowed),
            "retriable": self.retriable,
            "retry": self.retry,
            "trace_id": None,
            **known,
        }

    def with_metadata(self, metadata: Metadata) -> "TerminalFailure":
        """The same with the fields of the request."""
        self.details = {
            **self.details,
            "trace_id": metadata.trace_id,
            "metadata": metadata.model_dump(),
        }
        return self


class InvalidAction(TerminalFailure, BadArguments):
    """Terminal contract: the action is neither canonical nor an alias."""

    code = "PM_TERM_INVALID_ACTION"
    retry = "after_change"
    guidance = f"use one of the canonical actions: {', '.join(ACTIONS)}"


class InvalidPayload(TerminalFailure, BadArguments):
    """Terminal contract: a field is missing, unknown or of the wrong kind; `fields` says which."""

    code = "PM_TERM_INVALID_PAYLOAD"
    retry = "after_change"
    guidance = "details.fields says what each field should be"


class InvalidMode(TerminalFailure, BadArguments):
    """Terminal contract: no such mode, or not for this action and intent."""

    code = "PM_TERM_INVALID_MODE"
    retry = "after_change"
    guidance = "details.allowed has the modes that can be used"


class Declined(TerminalFailure, Refused):
    """Terminal contract: a person declined, or no person answered in time."""

    code = "PM_TERM_DECLINED"
    guidance = "do not try the same again; ask the person what they want instead"


class TimedOut(TerminalFailure, Deadline):
    """Terminal contract: it took longer than the caller allowed; what was printed so far is in `details`."""

    code = "PM_TERM_TIMEOUT"
    retriable = True
    retry = "by_policy"
    guidance = "give a longer execution.timeout"


class Disconnected(TerminalFailure, Unavailable):
    """Terminal contract: the way to the terminal was cut."""

    code = "PM_TERM_DISCONNECTED"
    retriable = True
    retry = "after_reconnect"
    guidance = (
        "connect again, list, then look with read_output at what became of it before retrying"
    )


class GuiUnavailable(TerminalFailure, Conflict):
    """Terminal contract: no person can see a terminal now; nothing ran."""

    code = "PM_TERM_GUI_UNAVAILABLE"
    retriable = True
    retry = "after_view"
    guidance = (
        "have a person open the page, or attach to the terminal that target names, then retry; commands that "
        "only read also run without one, if you ask for invocation.mode = headless"
    )


class Blocked(TerminalFailure, Refused):
    """Terminal contract: policy does not let it run; `reason` says why."""

    code = "PM_TERM_BLOCKED_DESTRUCTIVE"
    retry = "after_change"
    guidance = "change the command, or have a person change the policy"


class TargetNotFound(TerminalFailure, NotFound):
    """Terminal contract: none of the caller's terminals is meant by this target, in this mode."""

    code = "PM_TERM_NOT_FOUND"
    retry = "after_list"
    guidance = "call with action list in the same mode, then retry with a target from there"


class Internal(TerminalFailure):
    """Terminal contract: something failed here; the server's log has the trace id."""

    code = "PM_TERM_INTERNAL"
    guidance = "the server's log has this trace_id"


class Partial(NamedTuple):
    """What was printed by then."""

    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None


USE_LISTED: Mapping[str, str] = {"target.session": "use one that list gives"}
"""The hint for a target that cannot be used, for any reason."""

FAILURES: tuple[type[TerminalFailure], ...] = (
    InvalidAction,
    InvalidPayload,
    InvalidMode,
    Declined,
    TimedOut,
    Disconnected,
    GuiUnavailable,
    Blocked,
    TargetNotFound,
    Internal,
)

CODE_OF: Mapping[type[DuettyError], type[TerminalFailure]] = {
    BadArguments: InvalidPayload,
    SessionNameConflict: InvalidPayload,
    NotFound: TargetNotFound,
    SessionExited: TargetNotFound,
    Refused: Blocked,
    ApprovalRejected: Declined,
    ApprovalExpired: Declined,
    SessionBusy: TimedOut,
    Deadline: TimedOut,
    KeeperUnavailable: Disconnected,
    InputRejected: Disconnected,
    ServerUnreachable: Disconnected,
    DuettyError: Internal,
}
"""The nearest class in an error's own tree decides."""

FIELD_OF: Mapping[type[DuettyError], str] = {
    BadCommand: "runtime.shell",
    CommandTooLong: "execution",
    InvalidSessionName: "runtime.name",
    SessionNameConflict: "runtime.name",
}
"""Which field of the request an error is about; a directory's depends on who named it."""

REASONS: Mapping[str, Reason] = {
    "destructive": "destructive",
    "not_allowlisted": "not_allowlisted",
    "not_provable": "not_provable",
    "denied_by_rule": "denied_by_rule",
    "asked_by_rule": "denied_by_rule",
}


def timed_out(
    message: str,
    *,
    timeout_ms: int | None,
    hint: str | None = None,
    target: TargetInfo | None = None,
    still_running: bool = False,
    approval: object = None,
    partial: Partial | None = None,
    reason: str = Deadline.code,
) -> TimedOut:
    """With everything that may be known."""
    return TimedOut(
        message,
        hint=hint,
        reason=reason,
        target=None if target is None else target.model_dump(),
        still_running=still_running,
        approval=approval,
        partial=(partial or Partial())._asdict(),
        timeout_ms=timeout_ms,
    )


def failure_of(
    error: DuettyError, *, cwd_field: str = "execution.cwd", timeout_ms: int | None = None
) -> TerminalFailure:
    """The error in the contract's words.

    `cwd_field`: which field named the directory. `timeout_ms`: the caller's own bound.
    """
    if isinstance(error, TerminalFailure):
        return error
    kind = next(CODE_OF[each] for each in type(error).__mro__ if each in CODE_OF)
    if kind is InvalidPayload:
        return _invalid(error, cwd_field)
    if kind is Blocked:
        return _blocked(error)
    if kind is Declined:
        answered = "expired" if isinstance(error, ApprovalExpired) else "declined"
        return Declined(
            error.message,
            hint=_not_again(error.hint),
            reason=answered,
            approval=error.details.get("approval"),
            note=error.details.get("note"),
        )
    if kind is Internal:
        # Our own codes say enough, and never what was typed.
        limit = "; a limit was reached" if isinstance(error, Exhausted) else ""
        return Internal(f"it could not be done here{limit}", hint=error.hint, reason=error.code)
    if kind is TargetNotFound:
        return TargetNotFound(error.message, fields=USE_LISTED, reason=error.code)
    if kind is TimedOut:
        return timed_out(
            error.message,
            hint=error.hint,
            timeout_ms=timeout_ms,
            approval=error.details.get("approval"),
            reason=error.code,
        )
    return kind(error.message, reason=error.code)


def _not_again(hint: str | None) -> str:
    """What could be done instead does not take the place of what must not."""
    if hint is None or hint.startswith("do not"):
        return hint or Declined.guidance
    return f"{Declined.guidance}; perhaps: {hint}"


def _invalid(error: DuettyError, cwd_field: str) -> InvalidPayload:
    place = next((FIELD_OF[each] for each in type(error).__mro__ if each in FIELD_OF), None)
    if isinstance(error, BadWorkingDirectory):
        place = cwd_field
    fields = error.details.get("fields")
    if place is not None:
        problems = {place: error.message}
    elif isinstance(fields, Mapping):
        problems = {str(name): str(problem) for name, problem in fields.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # made by dispatch
    else:
        problems = {"request": error.message}
    return InvalidPayload(error.message, hint=error.hint, fields=problems)


def _blocked(error: DuettyError) -> Blocked:
    reason: Reason = "denied_by_rule"
    rule = error.details.get("rule")
    if isinstance(error, PolicyDenied):
        reason = REASONS.get(str(error.details.get("reason")), "denied_by_rule")
    elif isinstance(error, ScopeMissing):
        rule = f"scope:{error.details.get('needs', 'session')}"
    classes = error.details.get("classes", ())
    hint = error.hint
    if error.details.get("nobody_to_ask"):
        # The caller must not repeat it as it is, even if a person is present by then.
        hint = f"{Blocked.guidance}; or have a person who has the page open be asked about it"
        if reason == "not_allowlisted":
            hint = (
                "headless runs only what is known to only read, and this is not, although no destructive class was found: "
                "run it with invocation.mode = interactive, where a person sees it"
            )
    return Blocked(error.message, hint=hint, reason=reason, rule=rule, classes=classes)
