"""Every error a caller can meet, in one tree.

    DuettyError
    ├── BadArguments      the caller can mend the call
    ├── NotFound          what was named does not exist
    ├── Refused           known, understood, and not allowed
    ├── Conflict          not in this state, perhaps in another
    ├── Deadline          the caller's own bound passed; the work goes on
    ├── Exhausted         a limit of ours or of the machine was reached
    └── Unavailable       something behind us does not answer

An error class is something the caller does differently. `code` is permanent,
`message` says what was wrong and where, `hint` what to do about it. Messages
never contain input, output or a nonce.
"""

from collections.abc import Mapping
from typing import ClassVar


class DuettyError(Exception):
    """Something the caller is told, with a permanent code."""

    code: ClassVar[str] = "internal_error"

    def __init__(
        self, message: str, *, hint: str | None = None, details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: Mapping[str, object] = details or {}


class BadArguments(DuettyError):
    """The caller can mend the call."""

    code = "invalid_request"


class NotFound(DuettyError):
    """What was named does not exist."""

    code = "not_found"


class Refused(DuettyError):
    """Known, understood, and not allowed."""

    code = "refused"


class Conflict(DuettyError):
    """Not in this state, perhaps in another."""

    code = "conflict"


class Deadline(DuettyError):
    """The caller's own bound passed; the work goes on."""

    code = "deadline"


class Exhausted(DuettyError):
    """A limit of ours or of the machine was reached."""

    code = "resource_limit_reached"


class Unavailable(DuettyError):
    """Something behind us does not answer."""

    code = "unavailable"


# --- sessions -----------------------------------------------------------------


class SessionNotFound(NotFound):
    code = "session_not_found"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"no session {session!r}", hint="list the sessions to see which names exist"
        )


class InvalidSessionName(BadArguments):
    code = "invalid_session_name"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is not a session name",
            hint="use 1 to 64 bytes of letters, digits, '-', '_' and '.'",
        )


class InvalidTag(BadArguments):
    code = "invalid_tag"

    def __init__(self, tag: str) -> None:
        super().__init__(
            f"{tag!r} is not a tag", hint="use 1 to 64 bytes of letters, digits, '-', '_' and '.'"
        )


class SessionNameConflict(Conflict):
    code = "session_name_conflict"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"a session named {name!r} exists", hint="choose another name or leave the name out"
        )


class SessionExited(Conflict):
    """The session's process is gone: it can be read, not written."""

    code = "session_exited"

    def __init__(self, name: str, exit_code: int | None) -> None:
        super().__init__(
            f"the process of session {name!r} has exited"
            + (f" with code {exit_code}" if exit_code is not None else ""),
            hint="its screen, scrollback and blocks stay readable; open a new session to go on",
            details={"exit_code": exit_code},
        )


class SessionBusy(Conflict):
    """An earlier call of the queue left a program running; typing into it was not meant."""

    code = "session_busy"


class SessionOpenFailed(BadArguments):
    """The process could not be started as asked."""

    code = "session_create_failed"


class BadWorkingDirectory(SessionOpenFailed):
    code = "invalid_cwd"


class BadCommand(SessionOpenFailed):
    code = "invalid_command"


class MaxSessions(Exhausted):
    code = "max_sessions_reached"


class ForkFailed(Exhausted):
    """The machine has no process, descriptor or PTY left for a new session."""

    code = "fork_failed"


class BlockNotFound(NotFound):
    code = "block_not_found"

    def __init__(self, block: str) -> None:
        super().__init__(f"no block {block!r}", hint="list the session's blocks")


class OutputExpired(NotFound):
    """The journal turned over: the bytes of this block are gone."""

    code = "output_expired"


# --- waits and input ----------------------------------------------------------


class IdleTimeout(Deadline):
    code = "idle_timeout"


class WaitTimeout(Deadline):
    code = "wait_timeout"


class RunTimeout(Deadline):
    """The command goes on; what it printed so far is in `details`."""

    code = "run_timeout"


class InputRejected(Unavailable):
    """The program does not read its input and the bound of the queue is reached."""

    code = "input_send_failed"


class UnknownKey(BadArguments):
    code = "unknown_key"


# --- keeper, journal, store ---------------------------------------------------


class KeeperUnavailable(Unavailable):
    code = "keeper_unavailable"


class InstanceBusy(Conflict):
    """Another server runs this instance."""

    code = "instance_busy"


class StateUnwritable(Unavailable):
    """The state directory cannot be written."""

    code = "state_unwritable"


class StoreUnavailable(Unavailable):
    code = "store_unavailable"


# --- edges --------------------------------------------------------------------


class AuthRequired(Refused):
    code = "auth_required"


class AuthInvalid(Refused):
    code = "auth_invalid"


class OriginNotAllowed(Refused):
    code = "origin_not_allowed"


class ServerUnreachable(Unavailable):
    """No server answers at the address the client was given."""

    code = "server_unreachable"


class BadSetting(BadArguments):
    """A setting is unknown or has a bad value; names file, line and nearest name."""

    code = "bad_setting"
