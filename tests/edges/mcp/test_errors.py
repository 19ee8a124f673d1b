"""Every coded error has one way to be told."""

from mcp.types import INTERNAL_ERROR, INVALID_PARAMS

from duetty import errors
from duetty.edges.mcp.errors import json_rpc_code

OPERATIONAL = {
    "conflict", "session_exited", "session_busy", "instance_busy", "deadline", "idle_timeout", "wait_timeout",
    "run_timeout", "input_send_failed", "max_sessions_reached", "refused", "auth_required", "auth_invalid",
    "origin_not_allowed",
}  # fmt: skip


def kinds(kind: type[errors.DuettyError]) -> set[type[errors.DuettyError]]:
    return {kind}.union(*(kinds(child) for child in kind.__subclasses__()))


def code_of(kind: type[errors.DuettyError]) -> int | None:
    error = kind.__new__(kind)
    return json_rpc_code(error)


def test_what_a_model_should_reason_about_is_a_result_and_the_rest_an_error_of_the_protocol() -> (
    None
):
    ours = {kind for kind in kinds(errors.DuettyError) if kind.__module__ == errors.__name__}

    told = {kind.code for kind in ours if code_of(kind) is None}

    assert told == OPERATIONAL


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
