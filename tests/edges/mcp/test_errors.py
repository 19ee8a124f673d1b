"""Every coded error has one way to be told."""

from mcp.types import INTERNAL_ERROR, INVALID_PARAMS

from duetty import errors
from duetty.edges.mcp.errors import json_rpc_code

REASONED_ABOUT = (
    errors.Conflict, errors.Deadline, errors.Refused, errors.InputRejected, errors.MaxSessions, errors.MaxProcesses,
    errors.UpstreamUnavailable, errors.HostUnavailable, errors.NoActiveSession,
)  # fmt: skip
"""Not in this state, not in this time, not allowed, not so many: a model can do something about it."""


def kinds(kind: type[errors.DuettyError]) -> set[type[errors.DuettyError]]:
    return {kind}.union(*(kinds(child) for child in kind.__subclasses__()))


def code_of(kind: type[errors.DuettyError]) -> int | None:
    error = kind.__new__(kind)
    error.details = {}
    return json_rpc_code(error)


def test_what_a_model_should_reason_about_is_a_result_and_the_rest_an_error_of_the_protocol() -> (
    None
):
    ours = {kind for kind in kinds(errors.DuettyError) if kind.__module__ == errors.__name__}

    told = {kind for kind in ours if code_of(kind) is None}

    reasoned = {kind for kind in ours if issubclass(kind, REASONED_ABOUT)}
    assert told == reasoned - {errors.SessionNameConflict}


def test_wrong_calls_and_faults_of_ours_have_the_published_codes() -> None:
    codes = {
        kind: code_of(kind)
        for kind in (
            errors.SessionNotFound,
            errors.SessionNameConflict,
            errors.BadArguments,
            errors.UnknownKey,
            errors.ForkFailed,
            errors.KeeperUnavailable,
        )
    }

    assert codes == {
        errors.SessionNotFound: INVALID_PARAMS,
        errors.SessionNameConflict: INVALID_PARAMS,
        errors.BadArguments: INVALID_PARAMS,
        errors.UnknownKey: INVALID_PARAMS,
        errors.ForkFailed: INTERNAL_ERROR,
        errors.KeeperUnavailable: INTERNAL_ERROR,
    }
