"""Coded errors as HTTP answers: one envelope, one table from class to status."""

from collections.abc import Mapping

from pydantic_core import to_json
from starlette.responses import Response

from duetty.errors import (
    AuthInvalid,
    AuthRequired,
    BadArguments,
    Conflict,
    Deadline,
    DuettyError,
    Exhausted,
    ForkFailed,
    InputRejected,
    MaxSessions,
    NotFound,
    RateLimited,
    Refused,
    SessionExited,
    Unavailable,
)

STATUS: Mapping[type[DuettyError], int] = {
    AuthRequired: 401,
    AuthInvalid: 403,
    BadArguments: 400,
    NotFound: 404,
    Refused: 403,
    SessionExited: 409,
    Conflict: 409,
    Deadline: 408,
    MaxSessions: 503,
    ForkFailed: 503,
    Exhausted: 429,
    InputRejected: 500,
    Unavailable: 503,
    DuettyError: 500,
}
"""The nearest class in an error's own tree decides; a test walks the whole tree."""


STATUS_BY_CODE: Mapping[str, int] = {
    "body_too_large": 413,
    "unsupported_media_type": 415,
    "upgrade_required": 426,
    "headers_too_large": 431,
}
"""Errors of the HTTP edge itself."""


def status_of(error: DuettyError) -> int:
    if error.code in STATUS_BY_CODE:
        return STATUS_BY_CODE[error.code]
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def error_body(
    code: str, message: str, *, hint: str | None = None, details: Mapping[str, object] | None = None
) -> bytes:
    error: dict[str, object] = {"code": code, "message": message}
    if hint:
        error["hint"] = hint
    if details:
        error["details"] = details
    return to_json({"error": error})


def error_response(error: DuettyError) -> Response:
    response = Response(
        error_body(error.code, error.message, hint=error.hint, details=error.details),
        status_code=status_of(error),
        media_type="application/json",
    )
    if isinstance(error, AuthRequired):
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, RateLimited):
        response.headers["Connection"] = "close"
        response.headers["Retry-After"] = str(error.details.get("retry_after_s", 1))
    return response


def plain_error(status: int, code: str, message: str, *, hint: str | None = None) -> Response:
    return Response(
        error_body(code, message, hint=hint), status_code=status, media_type="application/json"
    )
