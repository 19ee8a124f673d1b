"""Coded errors as MCP tells them: a wrong call, a fault of ours, or something to reason about."""

from collections.abc import Mapping

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from duetty.errors import (
    BadArguments,
    Conflict,
    Deadline,
    DuettyError,
    HostUnavailable,
    InputRejected,
    MaxProcesses,
    MaxSessions,
    NoActiveSession,
    NotFound,
    Refused,
    SessionNameConflict,
    UpstreamFault,
    UpstreamUnavailable,
)

JSON_RPC_CODES: Mapping[type[DuettyError], int | None] = {
    BadArguments: INVALID_PARAMS,
    NotFound: INVALID_PARAMS,
    SessionNameConflict: INVALID_PARAMS,
    Conflict: None,
    Deadline: None,
    HostUnavailable: None,
    InputRejected: None,
    MaxProcesses: None,
    MaxSessions: None,
    NoActiveSession: None,
    Refused: None,
    UpstreamUnavailable: None,
    DuettyError: INTERNAL_ERROR,
}
"""The nearest class in an error's own tree decides. None: the tool's result says it (`isError`)."""


def json_rpc_code(error: DuettyError) -> int | None:
    if isinstance(error, UpstreamFault) and isinstance(code := error.details.get("rpc_code"), int):
        return code  # the upstream's own
    return next(JSON_RPC_CODES[kind] for kind in type(error).__mro__ if kind in JSON_RPC_CODES)


def protocol_error(error: DuettyError) -> MCPError:
    """The error as a JSON-RPC one, with the message that the HTTP edge gives."""
    fields: dict[str, object] = {"code": error.code}
    if error.hint:
        fields["hint"] = _sayable(error.hint)
    if "executed" in error.details:
        fields["executed"] = error.details["executed"]
    if isinstance(error, UpstreamFault) and "rpc_data" in error.details:
        fields["data"] = error.details["rpc_data"]  # the upstream's own
    code = json_rpc_code(error) or INTERNAL_ERROR
    return MCPError(code=code, message=_sayable(error.message), data=fields)


def _sayable(text: str) -> str:
    """Without halves of characters, which a name in a caller's arguments may have."""
    return text.encode("utf-8", "replace").decode()
