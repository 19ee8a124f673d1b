"""What a new session or command runs in: the settings say, a person may choose, an agent may only tighten."""

from pathlib import Path
from typing import Protocol, TypedDict

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


def sandbox_order(
    params: Confinable, settings: Settings, actor: Actor, *, home: str
) -> SandboxOrder:
    """`home`: the person's, whatever the call says.

    Raises:
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
        network=settings.sandbox_network,
        **_of_settings(settings, home),
    )


def upstream_order(
    asked: Asked | None,
    workspaces: tuple[str, ...] | None,
    network: bool | None,
    settings: Settings,
    *,
    home: str,
) -> SandboxOrder:
    """As an upstream's table says, and where that says nothing, as the settings say for sessions."""
    return SandboxOrder(
        asked=asked or _level(settings.session_sandbox),
        workspaces=settings.sandbox_workspaces if workspaces is None else workspaces,
        network=settings.sandbox_network if network is None else network,
        **_of_settings(settings, home),
    )


class _Common(TypedDict):
    protect: bool
    whole_git: bool
    home: str
    hidden: tuple[str, ...]
    limits: Limits


def _of_settings(settings: Settings, home: str) -> _Common:
    return _Common(
        protect=settings.sandbox_protect,
        whole_git=settings.sandbox_git == "read-only",
        home=home,
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
    """Never the directory of a call: an agent would widen its own sandbox by starting in `/`.

    Nor a part of a workspace: what is in one can be exchanged for a link, or is protected there.
    """
    if params.workspaces is None:
        return settings.sandbox_workspaces
    if actor.kind == "person":
        return tuple(params.workspaces)
    known = {Path(each).expanduser().absolute(): each for each in settings.sandbox_workspaces}
    chosen = [known.get(Path(each).expanduser().absolute()) for each in params.workspaces]
    if None in chosen:
        raise PolicyDenied(
            "an agent can only leave out some of the workspaces that the settings name",
            hint="a person names workspaces: sandbox.workspaces, or `duetty new --workspace`",
            details={"reason": "denied_by_rule", "rule": "sandbox.workspaces"},
        )
    return tuple(each for each in chosen if each is not None)
