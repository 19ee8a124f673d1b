"""What a new session or command runs in: the settings say, a person may choose, an agent may only tighten."""

from pathlib import Path
from typing import Protocol

from duetty.calls import Actor
from duetty.config import Settings
from duetty.errors import PolicyDenied
from duetty.sandbox import ASKED, Asked, Limits, SandboxOrder


class Confinable(Protocol):
    """Arguments that say what something new runs in."""

    @property
    def sandbox(self) -> Asked | None: ...
    @property
    def workspaces(self) -> list[str] | None: ...


def sandbox_order(params: Confinable, settings: Settings, actor: Actor) -> SandboxOrder:
    """Raises:
    PolicyDenied: if an agent asks for more room than the settings give.
    """
    asked = _level(settings.session_sandbox)
    if params.sandbox is not None:
        if actor.kind != "person" and asked != "none" and params.sandbox not in (asked, "any"):
            if params.sandbox != "bubblewrap":
                raise PolicyDenied(
                    f"sessions run in the sandbox {asked!r} here, and an agent cannot change that",
                    hint="leave `sandbox` out, or ask a person to open the session",
                    details={"reason": "denied_by_rule", "rule": "session.sandbox"},
                )
            asked = "bubblewrap"
        elif actor.kind == "person" or asked == "none":
            asked = params.sandbox
    return SandboxOrder(
        asked=asked,
        workspaces=_workspaces(params, settings, actor),
        protect=settings.sandbox_protect,
        network=settings.sandbox_network,
        hidden=settings.sandbox_hidden,
        limits=Limits(
            cpu_s=settings.sandbox_cpu_s,
            memory_mib=settings.sandbox_memory_mib,
            processes=settings.sandbox_processes,
            file_mib=settings.sandbox_file_mib,
            open_files=settings.sandbox_open_files,
        ),
    )


def _level(setting: str) -> Asked:
    return next(each for each in ASKED if each == setting)


def _workspaces(params: Confinable, settings: Settings, actor: Actor) -> tuple[str, ...]:
    """Never the directory of a call: an agent would widen its own sandbox by starting in `/`."""
    if params.workspaces is None:
        return settings.sandbox_workspaces
    if actor.kind != "person":
        allowed = [Path(each).expanduser().resolve() for each in settings.sandbox_workspaces]
        for each in params.workspaces:
            place = Path(each).expanduser().resolve()
            if not any(place == root or root in place.parents for root in allowed):
                raise PolicyDenied(
                    "an agent cannot choose what it may write",
                    hint="a person names workspaces: sandbox.workspaces, or `duetty new --workspace`",
                    details={"reason": "denied_by_rule", "rule": "sandbox.workspaces"},
                )
    return tuple(params.workspaces)
