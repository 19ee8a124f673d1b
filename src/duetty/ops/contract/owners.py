"""Whose a terminal is. A caller sees its own, a person sees all."""

from duetty.calls import Actor
from duetty.ops.contract.failures import USE_LISTED, TargetNotFound
from duetty.ops.services import Services
from duetty.processes import Process
from duetty.session import Session


def owns_session(actor: Actor, session: Session) -> bool:
    if actor.session is not None:
        return session.name == actor.session  # handed to it, by a token for this one
    return actor.kind == "person" or session.profile.owner == actor.identity


def owns_process(actor: Actor, process: Process) -> bool:
    if actor.session is not None:
        return False
    return actor.kind == "person" or process.owner == actor.identity


def sessions_of(services: Services, actor: Actor) -> list[Session]:
    return [each for each in services.registry.sessions() if owns_session(actor, each)]


def processes_of(services: Services, actor: Actor) -> list[Process]:
    services.processes.sweep()
    return [each for each in services.processes.all() if owns_process(actor, each)]


def session_of(services: Services, actor: Actor, identity: str) -> Session:
    """By name or id, among the caller's own.

    Raises:
        TargetNotFound: if none of them is meant, also where another owner's is.
    """
    for session in sessions_of(services, actor):
        if identity in (session.name, session.profile.id):
            return session
    is_headless = any(each.id == identity for each in processes_of(services, actor))
    raise _not_found("headless" if is_headless else None)


def process_of(services: Services, actor: Actor, identity: str) -> Process:
    """Raises:
    TargetNotFound: as above.
    """
    for process in processes_of(services, actor):
        if process.id == identity:
            return process
    own = sessions_of(services, actor)
    is_interactive = any(identity in (each.name, each.profile.id) for each in own)
    raise _not_found("interactive" if is_interactive else None)


def _not_found(other_mode: str | None) -> TargetNotFound:
    hint = f"it is {other_mode}: say so in invocation.mode" if other_mode else None
    return TargetNotFound(
        "no terminal of yours is meant by this target in this mode",
        hint=hint,
        fields=USE_LISTED,
        reason="other_mode" if other_mode else "unknown",
    )
