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

from collections.abc import Mapping, Sequence
from typing import ClassVar


class DuettyError(Exception):
    """A failure that the caller gets as an answer, with a permanent code."""

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
    """No session has this name; `duetty list` shows those that there are."""

    code = "session_not_found"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"no session {session!r}", hint="list the sessions to see which names exist"
        )


class NoActiveSession(NotFound):
    """The call names no session, and none is active."""

    code = "no_active_session"


class MultipleSessions(Conflict):
    """The call names no session, and several are active: name one."""

    code = "multiple_sessions"


class SessionAmbiguous(Conflict):
    """Several machines have a session of this name."""

    code = "session_ambiguous"

    def __init__(self, session: str, machines: Sequence[str]) -> None:
        super().__init__(
            f"{len(machines)} machines have a session {session[:100]!r}",
            hint="name one as MACHINE/SESSION, or by its id",
            details={"machines": list(machines[:50])},
        )


class UnsupportedMediaType(BadArguments):
    """The body is of a kind, or packed in a way, that is not read here."""

    code = "unsupported_media_type"


class InvalidSessionName(BadArguments):
    """A name has letters, digits, `.`, `_` and `-`, and is not too long."""

    code = "invalid_session_name"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is not a session name",
            hint="use 1 to 64 bytes of letters, digits, '-', '_' and '.'",
        )


class InvalidTag(BadArguments):
    """A tag has letters, digits and a few signs, and is not too long."""

    code = "invalid_tag"

    def __init__(self, tag: str) -> None:
        super().__init__(
            f"{tag!r} is not a tag", hint="use 1 to 64 bytes of letters, digits, '-', '_' and '.'"
        )


class SessionNameConflict(Conflict):
    """Another session has this name."""

    code = "session_name_conflict"

    def __init__(self, name: str, *, has_exited: bool = False) -> None:
        if has_exited:
            super().__init__(
                f"the session {name!r} has exited and keeps its name until it is removed (killed)",
                hint="remove it (session.remove, wsh_manage_session kill, duetty kill), or choose another name",
            )
        else:
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
    """The prompt is not free: an earlier call left a program running, or another actor has begun a line."""

    code = "session_busy"


class SessionOpenFailed(BadArguments):
    """The process could not be started as asked."""

    code = "session_create_failed"


class BadWorkingDirectory(SessionOpenFailed):
    """The working directory does not exist, or cannot be entered."""

    code = "invalid_cwd"


class BadCommand(SessionOpenFailed):
    """The program does not exist, or cannot be run."""

    code = "invalid_command"


class CommandTooLong(BadCommand):
    """The command, its arguments and its environment are more than the system gives to a program."""

    code = "command_too_long"


class MaxSessions(Exhausted):
    """As many sessions are open as the settings allow; close one."""

    code = "max_sessions_reached"


class ForkFailed(Exhausted):
    """The machine has no process, descriptor or PTY left for a new session."""

    code = "fork_failed"


class ProcessNotFound(NotFound):
    """No process has this id, or it was forgotten since."""

    code = "process_not_found"

    def __init__(self, process: str) -> None:
        super().__init__(
            f"no process {process!r}", hint="list the processes; ended ones are kept for an hour"
        )


class ProcessIdConflict(Conflict):
    """Another process has this id."""

    code = "process_id_conflict"

    def __init__(self, process: str) -> None:
        super().__init__(
            f"a process {process!r} exists", hint="choose another id or leave the id out"
        )


class MaxProcesses(Exhausted):
    """As many processes run as the settings allow; wait for one to end."""

    code = "max_processes_reached"


class BlockNotFound(NotFound):
    """No command of this session has this number."""

    code = "block_not_found"

    def __init__(self, block: str) -> None:
        super().__init__(
            f"no block {block!r}", hint="a run's answer and the session's history name blocks"
        )


class OutputExpired(NotFound):
    """The journal turned over: the bytes of this block are gone."""

    code = "output_expired"


# --- waits and input ----------------------------------------------------------


class IdleTimeout(Deadline):
    """The session did not fall silent in time."""

    code = "idle_timeout"


class WaitTimeout(Deadline):
    """What was waited for did not happen in time."""

    code = "wait_timeout"


class InputRejected(Unavailable):
    """The program does not read its input and the bound of the queue is reached."""

    code = "input_send_failed"


class UnknownKey(BadArguments):
    """No key has this name; the message has the nearest one."""

    code = "unknown_key"


# --- overlays, panels, the keyboard ---------------------------------------------


class OverlayNotFound(NotFound):
    """No overlay of this session has this id."""

    code = "overlay_not_found"

    def __init__(self, id: str) -> None:
        super().__init__(f"no overlay {id!r}", hint="list the session's overlays")


class PanelNotFound(NotFound):
    """No panel of this session has this id."""

    code = "panel_not_found"

    def __init__(self, id: str) -> None:
        super().__init__(f"no panel {id!r}", hint="list the session's panels")


class InvalidOverlay(BadArguments):
    """An overlay or panel would become larger than it may."""

    code = "invalid_overlay"


class NotFocusable(BadArguments):
    """The element was not made to take the focus."""

    code = "not_focusable"

    def __init__(self, id: str) -> None:
        super().__init__(
            f"element {id!r} takes no keys", hint="create it, or patch it, with focusable true"
        )


class AlreadyInAltScreen(Conflict):
    """The session shows its alternate elements already."""

    code = "already_in_alt_screen"

    def __init__(self) -> None:
        super().__init__(
            "the elements of the alt screen mode are shown already", hint="exit_alt goes back"
        )


class NotInAltScreen(Conflict):
    """The session shows its normal elements already."""

    code = "not_in_alt_screen"

    def __init__(self) -> None:
        super().__init__("the normal elements are shown already", hint="enter_alt comes first")


# --- policy, approvals, audit, sandbox ------------------------------------------


class PolicyDenied(Refused):
    """The rules forbid it, or no person is present to ask; `details` says why."""

    code = "policy_denied"


class ApprovalRejected(Refused):
    """A person declined. Asking the same again will not change that."""

    code = "approval_rejected"


class ApprovalExpired(Refused):
    """No person answered in time, which counts as a no."""

    code = "approval_expired"


class ApprovalUnanswered(Deadline):
    """The caller's own bound passed while a person was asked. The question is taken back, nothing ran."""

    code = "approval_unanswered"


class ApprovalNotFound(NotFound):
    """No question has this id."""

    code = "approval_not_found"

    def __init__(self, approval: str) -> None:
        super().__init__(f"no approval {approval!r}", hint="list the approvals")


class ApprovalSettled(Conflict):
    """Another answer came first, or the question expired; `details` says which."""

    code = "approval_settled"


class EditUnconfirmed(Conflict):
    """The changed line would do what the question did not say; `details` says what."""

    code = "edit_unconfirmed"


class AnswerNotOffered(BadArguments):
    """A yes to this question cannot go so far; `details` says how far it can."""

    code = "answer_not_offered"


class NotAPerson(Refused):
    """Only a person may answer; an agent's credential never can."""

    code = "not_a_person"


class RulesChanged(Conflict):
    """The rules are not those any more that the new text was made from."""

    code = "rules_changed"


class AuditUnavailable(Unavailable):
    """The audit trail cannot be written, and nothing runs unrecorded."""

    code = "audit_unavailable"


class SandboxUnavailable(Unavailable):
    """This machine cannot give the sandbox that was asked for; nothing was started."""

    code = "sandbox_unavailable"


class CapabilityMissing(Unavailable):
    """The operating system lacks something that the server cannot do without."""

    code = "capability_missing"

    def __init__(self, capability: str, gives: str) -> None:
        super().__init__(
            f"this system has no {capability}: {gives}",
            hint="run Duetty on Linux, WSL2 or in a Linux container; `duetty doctor` shows what is missing",
            details={"capability": capability},
        )


# --- upstreams ----------------------------------------------------------------


class UpstreamNotFound(NotFound):
    """No upstream has this name; `duetty upstreams` lists them."""

    code = "upstream_not_found"

    def __init__(self, upstream: str) -> None:
        super().__init__(f"no upstream {upstream!r}", hint="list them: `duetty upstreams`")


class ToolNotFound(NotFound):
    """The upstream has no tool of this name."""

    code = "tool_not_found"

    def __init__(self, upstream: str, tool: str) -> None:
        super().__init__(
            f"{upstream!r} has no tool {tool!r}", hint=f"duetty upstreams tools {upstream}"
        )


class ToolOff(Refused):
    """A person or the settings turned the tool off."""

    code = "tool_off"


class ToolNotTrusted(Refused):
    """The tool is new, or not what a person accepted; a person looks at it first."""

    code = "tool_not_trusted"


class FingerprintChanged(Conflict):
    """The upstream's tools are no longer those that were shown."""

    code = "fingerprint_changed"


class UpstreamUnavailable(Unavailable):
    """It is off, starting, or failed; `details.state` says which."""

    code = "upstream_unavailable"


class UpstreamNeedsLogin(Unavailable):
    """A person has to sign in to it first; nothing that a model does can replace that."""

    code = "upstream_needs_login"

    def __init__(self, upstream: str, *, is_known: bool = False, failed: str = "") -> None:
        again = " again, or for more than before" if is_known else ""
        last = f"; the last try failed: {failed}" if failed else ""
        super().__init__(
            f"a person has to sign in to upstream {upstream!r}{again}{last}",
            hint=f"a person signs in with `duetty upstreams login {upstream}`, or on the page's Tools screen",
            details={"state": "needs_login"},
        )


class UpstreamFault(Unavailable):
    """It answered with an error of the protocol, or with what cannot be read."""

    code = "upstream_fault"


class UpstreamTimeout(Deadline):
    """It did not answer in time; the server cancelled the request."""

    code = "upstream_timeout"


class UpstreamMayNotAsk(Refused):
    """Its table does not let the upstream ask for this, or a person declined."""

    code = "upstream_may_not_ask"


class QuestionNotFound(NotFound):
    code = "question_not_found"

    def __init__(self, question: str) -> None:
        super().__init__(
            f"no question {question!r} waits", hint="it was answered, or its caller has gone"
        )


class HostUnavailable(Unavailable):
    """No client of a host can do what it is asked for, or it would not, or not in time."""

    code = "host_unavailable"


# --- keeper, journal, store ---------------------------------------------------


class KeeperUnavailable(Unavailable):
    """The process that holds the PTYs does not answer; `duetty doctor` says why."""

    code = "keeper_unavailable"


class InstanceBusy(Conflict):
    """Another server runs this instance."""

    code = "instance_busy"


class StateUnwritable(Unavailable):
    """The state directory cannot be written."""

    code = "state_unwritable"


class TrailUnreadable(Unavailable):
    """A file of the audit trail cannot be read, so an answer would be incomplete."""

    code = "trail_unreadable"


class StoreUnavailable(Unavailable):
    """The database of history and tokens cannot be read or written."""

    code = "store_unavailable"


# --- the agent ----------------------------------------------------------------


class ConversationNotFound(NotFound):
    code = "conversation_not_found"

    def __init__(self, conversation: str) -> None:
        super().__init__(f"no conversation {conversation!r}", hint="`duetty agent list` shows them")


class ConversationRunning(Conflict):
    """It is at work already: send it a message, follow it, or stop it."""

    code = "conversation_running"


class AgentNotInstalled(Unavailable):
    """The library that speaks to models is not installed with this Duetty."""

    code = "agent_not_installed"


class AgentNotConfigured(Unavailable):
    """No model is set that the agent could use."""

    code = "agent_not_configured"


class AgentInterrupted(Unavailable):
    """The server ended while the agent was at work; it can be resumed, and nothing runs twice."""

    code = "agent_interrupted"


class AgentLimit(Exhausted):
    """A limit of turns, tokens, money or time was reached, and no person extended it."""

    code = "agent_limit"


class ModelUnavailable(Unavailable):
    """The model does not answer, or not whole; the same may work later."""

    code = "model_unavailable"


class ModelRefused(Refused):
    """The model's server takes no such request: key, name of the model or its settings."""

    code = "model_refused"


class ContextTooLong(Exhausted):
    """The conversation does not fit into the model, not even shortened."""

    code = "context_too_long"


# --- edges --------------------------------------------------------------------


class AuthRequired(Refused):
    """The request has no credential: send `Authorization: Bearer` and what `duetty token` prints."""

    code = "auth_required"


class AuthInvalid(Refused):
    """The credential is unknown, has expired, or is of another server."""

    code = "auth_invalid"


class OriginNotAllowed(Refused):
    """A page of another address asked; add it to `server.cors_origins`, if you trust it."""

    code = "origin_not_allowed"


class ScopeMissing(Refused):
    """The credential is good, and does not allow this."""

    code = "scope_missing"


class TokenNotFound(NotFound):
    """No token has this id."""

    code = "token_not_found"

    def __init__(self, token: str) -> None:
        super().__init__(f"no token {token!r}", hint="list the tokens")


class UserNotFound(NotFound):
    code = "user_not_found"

    def __init__(self, name: str) -> None:
        super().__init__(f"no user {name!r}", hint="`duetty hub user list` shows them")


class UserExists(Conflict):
    code = "user_exists"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a user {name!r}")


class ShareNotFound(NotFound):
    code = "share_not_found"

    def __init__(self, share: str) -> None:
        super().__init__(f"no share {share!r}", hint="`duetty share` lists them")


class NoMachine(Conflict):
    """The user has no machine in this hub that could be asked."""

    code = "no_machine"

    def __init__(self) -> None:
        super().__init__(
            "none of your machines is in this hub now",
            hint="on a machine: `duetty join HUB`",
            details={"executed": False},
        )


class SeveralMachines(Conflict):
    """The call names neither a session nor a machine, and there are several."""

    code = "multiple_machines"

    def __init__(self, machines: Sequence[Mapping[str, str]]) -> None:
        names = ", ".join(each["server"] for each in machines[:10])
        more = ", …" if len(machines) > 10 else ""
        super().__init__(
            f"{len(machines)} machines could be meant: {names}{more}",
            hint="say which with `server`, by name or id",
            details={"machines": list(machines), "executed": False},
        )


class RoomNotFound(NotFound):
    code = "room_not_found"

    def __init__(self, room: str) -> None:
        super().__init__(
            f"no room {room[:100]!r}",
            hint="GET /rooms lists them; its tool host may have left",
            details={"executed": False},
        )


class RoomToolNotFound(NotFound):
    """The tool host of the room announced no such tool."""

    code = "tool_not_announced"

    def __init__(self, tool: str, tools: Sequence[str]) -> None:
        super().__init__(
            f"this room has no tool {tool!r}", details={"tools": list(tools), "executed": False}
        )


class RoomBusy(Exhausted):
    code = "room_busy"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most} calls are under way in this room",
            hint="try again in a moment",
            details={"executed": False},
        )


class RoomLeft(Unavailable):
    """The tool host went away within the call."""

    code = "room_left"

    def __init__(self) -> None:
        super().__init__(
            "the tool host went away within the call",
            hint="the same commandId may be sent again when it is back",
            details={"executed": "unknown"},
        )


class ToolFailed(Unavailable):
    """The tool host answered with an error of its own."""

    code = "tool_failed"

    def __init__(self, message: str, code: str) -> None:
        super().__init__(
            message, details={"executed": "unknown", "error": {"code": code, "message": message}}
        )


class ServerNotFound(NotFound):
    """`server` names a node that this one does not know."""

    code = "server_not_found"

    def __init__(self, server: str) -> None:
        super().__init__(
            f"no server {server!r}",
            hint="leave `server` out, or name one from the list of servers",
            details={"executed": False},
        )


class ServerAlreadyRegistered(Conflict):
    """This server speaks for that one already."""

    code = "server_already_registered"

    def __init__(self, address: str) -> None:
        super().__init__(f"{address} is one of the servers already", hint="list the servers")


class ServerUnavailable(Unavailable):
    """`server` names a node that does not answer now; `details` says which and how it is."""

    code = "server_unavailable"


# --- the hub: `details.executed` says whether the command can have run: false or "unknown" ---


class EngineUnavailable(Unavailable):
    """The engine that replicas of a hub share does not answer; the command was not run."""

    code = "engine_unavailable"

    def __init__(self, why: str, *, hint: str = "") -> None:
        super().__init__(
            f"the hub's engine cannot be asked: {why}",
            hint=hint
            or "try again soon; sessions whose node is connected to the same replica still work",
            details={"executed": False},
        )


class SessionOffline(Unavailable):
    """No node holds the session now; the command was not run."""

    code = "session_offline"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"the machine of session {session!r} is not connected",
            hint="try again when it is; list the sessions to see which are",
            details={"executed": False},
        )


class NodeDisconnected(Unavailable):
    """The node went away within the call; the command may have run."""

    code = "node_disconnected"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"the machine of session {session!r} went away within the call",
            hint="send it again with the same commandId: it runs at most once",
            details={"executed": "unknown"},
        )


class NodeTimeout(Deadline):
    """The node did not answer within the caller's bound; the command may have run."""

    code = "node_timeout"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"the machine of session {session!r} did not answer in time",
            hint="send it again with the same commandId to get its result",
            details={"executed": "unknown"},
        )


class CommandExpired(Deadline):
    """The caller's bound passed before the command was begun; it was not run."""

    code = "command_expired"

    def __init__(self) -> None:
        super().__init__(
            "the time for this command was over before it began",
            hint="send it again with more time",
            details={"executed": False},
        )


class NodeBusy(Exhausted):
    """A node or a user has as many calls under way as one may; the command was not run."""

    code = "node_busy"

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(
            f"{what} has {limit} calls under way",
            hint="wait until one of them ends",
            details={"executed": False},
        )


class SessionClaimed(Conflict):
    """Another node holds this session id; choose another one."""

    code = "session_claimed"

    def __init__(self) -> None:
        super().__init__(
            "this session id belongs to another node", hint="join with an id of your own"
        )


class CommandIdReused(Conflict):
    """Two different commands came with one commandId; the second was not run."""

    code = "command_id_reused"

    def __init__(self) -> None:
        super().__init__(
            "this commandId was used for another command",
            hint="give each command an id of its own",
            details={"executed": False},
        )


class ResultNotKept(Conflict):
    """The command ran, and its result is not there to be given again."""

    code = "result_not_kept"

    def __init__(self, executed: object) -> None:
        super().__init__(
            "this command was begun before, and its result was not kept",
            hint="look at the session to see what it did",
            details={"executed": executed},
        )


class TokenRevoked(AuthInvalid):
    """The token was revoked, also while the call was under way."""

    code = "token_revoked"

    def __init__(self, executed: object = False) -> None:
        super().__init__(
            "this token is no longer valid; a command under way goes on",
            hint="sign in again",
            details={"executed": executed},
        )


class SignInAgain(AuthInvalid):
    """A browser has its cookie and not the key that it signed in with: it may look, and no more."""

    code = "sign_in_again"

    def __init__(self) -> None:
        super().__init__(
            "this browser does not hold the key of its sign-in",
            hint="`duetty token link` prints a link that signs it in again",
        )


class RateLimited(Exhausted):
    """Too many requests in a short time; `Retry-After` says when to go on."""

    code = "rate_limited"


class ServerStopping(Unavailable):
    """The server ends while it serves a call; what was started goes on."""

    code = "server_stopping"

    def __init__(self) -> None:
        super().__init__(
            "the server is stopping; the command goes on",
            hint="connect again, then look at the screen",
        )


class ServerUnreachable(Unavailable):
    """No server answers at the address the client was given."""

    code = "server_unreachable"


class BadSetting(BadArguments):
    """A setting is unknown or has a bad value; names file, line and nearest name."""

    code = "bad_setting"


# --- whether it ran -----------------------------------------------------------------


def with_executed(error: DuettyError) -> DuettyError:
    """The error of a call through a hub says whether that can have had an effect: false or "unknown".

    Where the error itself does not know, its class decides.
    """
    if "executed" not in error.details:
        is_late = isinstance(error, Deadline) and not isinstance(error, ApprovalUnanswered)
        may_have_run = (
            is_late or isinstance(error, Unavailable | SessionExited) or type(error) is DuettyError
        )
        error.details = {**error.details, "executed": "unknown" if may_have_run else False}
    return error
