"""Whether a credential allows a call. Every dispatch asks, so no edge can forget to."""

from dataclasses import replace
from typing import Any

from duetty.calls import INSIDE, Actor, Effect, Scope
from duetty.errors import BadArguments, NotAPerson, ScopeMissing, SessionNotFound
from duetty.ops.operation import Operation
from duetty.session import Registry

REMOVED = "(removed)"
"""What a session that is gone is called; no session can be."""


def named_now(actor: Actor, registry: Registry) -> Actor:
    """The actor, kept to the session that its credential is for by the name that this has now."""
    if actor.session_id is None:
        return actor
    try:
        session = registry.find(actor.session_id)
    except SessionNotFound:
        return replace(actor, session=REMOVED)
    is_it = session.profile.id == actor.session_id
    return replace(actor, session=session.name if is_it else REMOVED)


def permit(actor: Actor, scope: Scope, *, session: str | None = None) -> None:
    """Whether the actor's credential allows this, for this session if one is named.

    Raises:
        ScopeMissing: if not; it says what is missing.
    """
    if not _allows(actor, scope):
        if actor.user is not None and actor.session_id is not None:
            raise _not_shared_for(actor, scope)
        raise ScopeMissing(
            f"this needs the scope {scope.value!r}, which the token does not have",
            hint="make one with that scope: `duetty token create`",
            details={"needs": scope.value, "has": sorted(actor.scopes)},
        )
    if session is not None and actor.session is not None and not _is_meant(actor, session):
        raise _other_session(actor)


def _not_shared_for(actor: Actor, scope: Scope) -> ScopeMissing:
    """A token with that scope would not help."""
    role = "drive" if scope is Scope.INPUT else "moderate"
    return ScopeMissing(
        f"this session is another user's, who shares it with you, and not for this ({scope.value})",
        hint=f"its owner can share it for more: `duetty share MACHINE/SESSION {actor.user} --role {role}`",
        details={"needs": scope.value, "has": sorted(actor.scopes), "shared": True},
    )


def _is_meant(actor: Actor, session: str) -> bool:
    """Whether this is the one session that the actor reaches, by its name or by its id."""
    return session == actor.session or (
        actor.session_id is not None and session == actor.session_id
    )


def permit_change(actor: Actor, operation: Operation[Any, Any]) -> None:
    """Whether the actor stands outside of what the server keeps, if the server itself is changed.

    Raises:
        NotAPerson: if not.
    """
    if actor == INSIDE and operation.admin and operation.effect is not Effect.READ:
        raise NotAPerson(
            "what runs in a session cannot change the server that keeps it",
            hint="do it in another terminal",
        )


def _allows(actor: Actor, scope: Scope) -> bool:
    if scope is Scope.APPROVE and Scope.ADMIN in actor.scopes:
        return True  # who may say who answers may answer
    return scope in actor.scopes


def answering(scopes: frozenset[Scope], actor: Actor) -> frozenset[Scope]:
    """The scopes of a token that answers for a person: it sees what it answers, and no more.

    Raises:
        NotAPerson: if an agent asks for one, which could then answer itself.
        BadArguments: if it is to do other things too.
    """
    if actor.kind != "person":
        raise NotAPerson(
            "only a person can hand out the scope 'approve'",
            hint="make the token on the page, or with `duetty token create` outside of a session",
        )
    wanted = scopes | {Scope.READ}
    if wanted != frozenset({Scope.READ, Scope.APPROVE}):
        raise BadArguments(
            "the scope 'approve' goes with 'read' only",
            hint="make another token for the rest",
            details={"fields": {"scopes": "approve goes with read only"}},
        )
    return wanted


def _other_session(actor: Actor) -> ScopeMissing:
    # Says nothing about whether the session that was asked for exists.
    return ScopeMissing(
        f"this token is for session {actor.session!r} only", details={"session": actor.session}
    )


def keep_within(actor: Actor, operation: Operation[Any, Any], params: Any) -> Any:
    """The arguments, kept to the one session that the actor may reach."""
    if operation.shared:
        return params
    named = getattr(params, "session", None)
    if named is None and "session" in operation.params.model_fields:
        return params.model_copy(update={"session": actor.session})
    if not isinstance(named, str) or not _is_meant(actor, named):
        raise _other_session(actor)
    return params
