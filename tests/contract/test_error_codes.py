"""Every error of ours is one of the contract's ten, and always the same one."""

from importlib import import_module

import pytest

from duetty.edges.http.errors import status_of
from duetty.errors import (
    ApprovalExpired,
    ApprovalRejected,
    AuditUnavailable,
    BadWorkingDirectory,
    DuettyError,
    KeeperUnavailable,
    MaxSessions,
    PolicyDenied,
    ScopeMissing,
    SessionBusy,
    SessionExited,
    SessionNameConflict,
    SessionNotFound,
)
from duetty.ops.contract.failures import FAILURES, TerminalFailure, failure_of

CODES = {
    "PM_TERM_INVALID_ACTION": (400, False),
    "PM_TERM_INVALID_PAYLOAD": (400, False),
    "PM_TERM_INVALID_MODE": (400, False),
    "PM_TERM_DECLINED": (403, False),
    "PM_TERM_TIMEOUT": (408, True),
    "PM_TERM_DISCONNECTED": (503, True),
    "PM_TERM_GUI_UNAVAILABLE": (409, True),
    "PM_TERM_BLOCKED_DESTRUCTIVE": (403, False),
    "PM_TERM_NOT_FOUND": (404, False),
    "PM_TERM_INTERNAL": (500, False),
}
"""As the contract's document has them, with their status over HTTP and whether to retry."""


def error_tree() -> list[type[DuettyError]]:
    import_module("duetty.server")  # every error class is loaded with it
    found: list[type[DuettyError]] = [DuettyError]
    for kind in found:
        found += kind.__subclasses__()
    return found


def test_the_ten_codes_are_those_of_the_document() -> None:
    told = {kind.code: (status_of(kind("x")), kind.retriable) for kind in FAILURES}

    assert told == CODES


@pytest.mark.parametrize("kind", FAILURES, ids=lambda kind: kind.code)
def test_a_failure_always_has_every_part(kind: type[TerminalFailure]) -> None:
    failure = kind("x")

    assert failure.hint
    assert set(failure.details) == {"fields", "allowed", "retriable", "retry", "trace_id"}


def test_every_error_of_ours_has_a_code_of_the_contract() -> None:
    for kind in error_tree():
        error = kind.__new__(kind)
        DuettyError.__init__(error, "x")
        if not issubclass(kind, TerminalFailure):
            assert failure_of(error).code in CODES, kind


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (ApprovalRejected("no"), "PM_TERM_DECLINED", "declined"),
        (ApprovalExpired("nobody"), "PM_TERM_DECLINED", "expired"),
        (
            PolicyDenied("no", details={"reason": "destructive"}),
            "PM_TERM_BLOCKED_DESTRUCTIVE",
            "destructive",
        ),
        (
            PolicyDenied("no", details={"reason": "asked_by_rule"}),
            "PM_TERM_BLOCKED_DESTRUCTIVE",
            "denied_by_rule",
        ),
        (PolicyDenied("no"), "PM_TERM_BLOCKED_DESTRUCTIVE", "denied_by_rule"),
        (
            ScopeMissing("no", details={"needs": "control"}),
            "PM_TERM_BLOCKED_DESTRUCTIVE",
            "denied_by_rule",
        ),
        (SessionBusy("busy"), "PM_TERM_TIMEOUT", "session_busy"),
        (KeeperUnavailable("gone"), "PM_TERM_DISCONNECTED", "keeper_unavailable"),
        (SessionNotFound("s"), "PM_TERM_NOT_FOUND", "session_not_found"),
        (SessionExited("s", 0), "PM_TERM_NOT_FOUND", "session_exited"),
        (AuditUnavailable("full"), "PM_TERM_INTERNAL", "audit_unavailable"),
        (MaxSessions("many"), "PM_TERM_INTERNAL", "max_sessions_reached"),
        (DuettyError("secret"), "PM_TERM_INTERNAL", "internal_error"),
    ],
    ids=lambda value: value.code if isinstance(value, DuettyError) else str(value),
)
def test_a_class_of_failure_has_its_code_and_reason(
    error: DuettyError, code: str, reason: str
) -> None:
    failure = failure_of(error)

    assert (failure.code, failure.details["reason"]) == (code, reason)


def test_an_error_about_a_field_names_the_field_of_the_request() -> None:
    nowhere = failure_of(BadWorkingDirectory("not a directory"))
    taken = failure_of(SessionNameConflict("s"))

    assert nowhere.details["fields"] == {"execution.cwd": "not a directory"}
    assert list(taken.details["fields"]) == ["runtime.name"]  # type: ignore[call-overload]


def test_what_failed_inside_is_not_told() -> None:
    failure = failure_of(DuettyError("/home/anna/secret could not be read"))

    assert "secret" not in f"{failure.message} {failure.details}"
