"""What a new session or command runs in: the settings say, a person may choose, an agent may only tighten.

A connection that was opened with a sandbox (`duetty mcp --sandbox`) is kept in it here, not by its client.
"""

from pathlib import Path
from typing import Literal, Protocol, TypedDict

from duetty.calls import Actor, Effect
from duetty.config import Settings
from duetty.errors import NotFound, PolicyDenied
from duetty.ops.operation import OperationCall
from duetty.ops.services import Services
from duetty.sandbox import REQUESTED_LEVELS, Level, Limits, RequestedLevel, SandboxRequest, support
from duetty.session import Registry

CONNECTION = "mcp --sandbox"
"""By what a confined connection is refused."""


class Confinable(Protocol):
    """Arguments that say what something new runs in."""

    @property
    def sandbox(self) -> RequestedLevel | None: ...
    @property
    def workspaces(self) -> list[str] | None: ...


def sandbox_order(
    params: Confinable, settings: Settings, actor: Actor, registry: Registry
) -> SandboxRequest:
    """Raises:
    PolicyDenied: if an agent asks for more room than the settings, or its connection, give.
    """
    return SandboxRequest(
        asked=_request(params, settings, actor),
        workspaces=_workspaces(params, settings, actor),
        network=settings.sandbox_network,
        # The person's home, whatever the call says.
        **_common(settings, registry.home, registry.caches),
    )


def _request(params: Confinable, settings: Settings, actor: Actor) -> RequestedLevel:
    asked, rule = _level(settings.session_sandbox), "session.sandbox"
    if actor.confined is not None and (asked == "none" or actor.confined.sandbox != "any"):
        asked, rule = actor.confined.sandbox, CONNECTION
    if params.sandbox is None:
        return asked
    if asked == "none" or (actor.kind == "person" and actor.confined is None):
        return params.sandbox
    if params.sandbox in (asked, "any"):
        return asked
    if params.sandbox == "bubblewrap":
        return "bubblewrap"
    raise PolicyDenied(
        f"sessions run in the sandbox {asked!r} here, and an agent cannot change that",
        hint="leave `sandbox` out, or ask a person to open the session",
        details={"reason": "denied_by_rule", "rule": rule},
    )


def keep_confined(call: OperationCall, services: Services, *, elsewhere: bool) -> None:
    """A confined connection changes neither what runs bare nor anything on another server.

    `elsewhere`: the call is for another server, whose sandboxes this one cannot check.

    Raises:
        PolicyDenied: if it would.
    """
    if call.actor.confined is None or call.operation.effect not in (Effect.INPUT, Effect.CONTROL):
        return
    where = "another server" if elsewhere else _bare(call, services)
    if where is not None:
        raise PolicyDenied(
            f"this connection is confined to a sandbox, and the call is for {where}",
            hint="open a session of its own: that one has the sandbox",
            details={"reason": "denied_by_rule", "rule": CONNECTION},
        )


def _bare(call: OperationCall, services: Services) -> str | None:
    """The session or process that a call is for, if it has no sandbox; what is not there yet will have one."""
    if call.session is not None and call.session.profile.sandbox == "none":
        return f"session {call.session_name!r}, which has no sandbox"
    process = getattr(call.params, "process", None)
    try:
        if isinstance(process, str) and services.processes.find(process).sandbox == "none":
            return f"process {process!r}, which has no sandbox"
    except NotFound:
        return None  # the operation says so
    return None


def boundary_of(settings: Settings) -> Level | Literal["unavailable"]:
    """What a new session gets by the settings alone. Asks the kernel once: for a worker thread."""
    asked = _level(settings.session_sandbox)
    if asked == "none":
        return "none"
    offered = support()
    if offered.bubblewrap is not None and asked != "landlock":
        return "bubblewrap"
    return "landlock" if offered.has_landlock and asked != "bubblewrap" else "unavailable"


def upstream_order(
    asked: RequestedLevel | None,
    workspaces: tuple[str, ...] | None,
    network: bool | None,
    settings: Settings,
    *,
    home: str,
    caches: Path,
) -> SandboxRequest:
    """As an upstream's table says, and where that says nothing, as the settings say for sessions."""
    return SandboxRequest(
        asked=asked or _level(settings.session_sandbox),
        workspaces=settings.sandbox_workspaces if workspaces is None else workspaces,
        network=settings.sandbox_network if network is None else network,
        **_common(settings, home, caches),
    )


class _Common(TypedDict):
    protect: bool
    whole_git: bool
    home: str
    hidden: tuple[str, ...]
    caches: Path
    limits: Limits


def _common(settings: Settings, home: str, caches: Path) -> _Common:
    return _Common(
        protect=settings.sandbox_protect,
        whole_git=settings.sandbox_git == "read-only",
        home=home,
        hidden=settings.sandbox_hidden,
        caches=caches,
        limits=Limits(
            cpu_s=settings.sandbox_cpu_s,
            memory_mib=settings.sandbox_memory_mib,
            processes=settings.sandbox_processes,
            file_mib=settings.sandbox_file_mib,
            open_files=settings.sandbox_open_files,
        ),
    )


def _level(setting: str) -> RequestedLevel:
    return next(each for each in REQUESTED_LEVELS if each == setting)


def _workspaces(params: Confinable, settings: Settings, actor: Actor) -> tuple[str, ...]:
    """Never the directory of a call: an agent would widen its own sandbox by starting in `/`.

    Nor a part of a workspace: what is in one can be exchanged for a link, or is protected there.
    """
    given = settings.sandbox_workspaces
    if actor.confined is not None and actor.confined.workspaces:
        given = actor.confined.workspaces
    if params.workspaces is None:
        return given
    if actor.kind == "person":
        return tuple(params.workspaces)
    known = {Path(each).expanduser().absolute(): each for each in given}
    chosen = [known.get(Path(each).expanduser().absolute()) for each in params.workspaces]
    if None in chosen:
        raise PolicyDenied(
            "an agent can only leave out some of the workspaces that it was given",
            hint="a person names workspaces: sandbox.workspaces, or `duetty new --workspace`",
            details={"reason": "denied_by_rule", "rule": "sandbox.workspaces"},
        )
    return tuple(each for each in chosen if each is not None)
