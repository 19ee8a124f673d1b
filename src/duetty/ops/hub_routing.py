"""Which node a call is for: the one that is named, or the one that has the session; and as whom it is asked.

A user of a hub reaches the machines that are theirs, and sessions that were shared with them. All
else is as if it did not exist.
"""

from dataclasses import dataclass, replace
from typing import Any

from duetty.calls import Actor, Call, Scope
from duetty.errors import (
    BadArguments,
    NoMachine,
    ScopeMissing,
    ServerNotFound,
    SessionAmbiguous,
    SessionNotFound,
    SeveralMachines,
)
from duetty.hub import SCOPES_OF, RemoteNode
from duetty.ops.operation import Operation
from duetty.ops.permits import permit
from duetty.ops.services import Services

_OWN = frozenset({"server.health", "server.link", "server.join", "server.leave", "server.hub"})
_OWN_NOUNS = frozenset({"auth", "token", "user"})
"""Never sent on: what they give would be the hub's own standing with that node."""

_OF_HUB = frozenset(
    {
        "server.health",
        "server.list",
        "server.get",
        "session.list",
        "session.select",
        "command.ended",
        "command.left",
    }
)
_OF_HUB_NOUNS = frozenset({"auth", "token", "user", "share", "room"})
"""What a hub answers its users itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachable:
    """A node, and as whom this caller asks it."""

    node: RemoteNode
    actor: Actor


def reachable(actor: Actor, services: Services) -> list[Reachable]:
    """The caller's own machines, and those of sessions that were shared with them."""
    own = [Reachable(node=node, actor=actor) for node in services.hub.nodes(actor.user)]
    given: dict[tuple[str | None, str, str], frozenset[Scope]] = {}
    for share in services.users.of(actor.user):  # several of one session count together
        place = share.owner, share.node, share.session
        given[place] = given.get(place, frozenset()) | SCOPES_OF[share.role]
    shared = [
        Reachable(node=node, actor=replace(actor, scopes=actor.scopes & scopes, session_id=session))
        for (owner, id_, session), scopes in given.items()
        if (node := services.hub.joined_node(id_, owner)) is not None and session in node.sessions
    ]
    return own + shared


def destination(
    operation: Operation[Any, Any], call: Call, services: Services
) -> tuple[RemoteNode | None, Call]:
    """The node that a call is for, None for this one; and the call as it is asked of that.

    Raises:
        BadArguments, ServerNotFound: if `server` names none; or what the operation says to that.
        SessionNotFound, SessionAmbiguous: if the session is none of this user's, or several.
        NoMachine, SeveralMachines: if it names neither, and there is not exactly one machine.
        ScopeMissing: if the credential is not enough to ask another node.
    """
    if "server" in operation.params.model_fields:
        return None, call
    is_here = call.actor.via is not None  # a node is asked for what is its own
    if not is_here and call.arguments.get("server") is not None:
        return _by_name(operation, call, services)
    if "server" in call.arguments:
        rest = {name: value for name, value in call.arguments.items() if name != "server"}
        call = replace(call, arguments=rest)
    return (None, call) if is_here else _by_session(operation, call, services)


def _by_name(
    operation: Operation[Any, Any], call: Call, services: Services
) -> tuple[RemoteNode | None, Call]:
    rest = dict(call.arguments)
    server = rest.pop("server")
    call = replace(call, arguments=rest)
    if not isinstance(server, str):
        error = BadArguments(
            "server: must be a text", details={"fields": {"server": "must be a text"}}
        )
        raise error if operation.malformed is None else operation.malformed(error)
    if services.hub.is_self(server) and call.actor.user is None:
        return None, call
    if call.actor.session is not None:
        raise ScopeMissing(
            "this token is for one session of this server", details={"session": call.actor.session}
        )
    try:
        found = _machine(server, call, services)
    except ServerNotFound as error:
        if operation.malformed is None:
            raise
        fields = {"fields": {"server": "must be one that this one knows"}}
        raise operation.malformed(
            BadArguments(error.message, hint=error.hint, details=fields)
        ) from error
    return _checked(operation, call, found)


def _machine(server: str, call: Call, services: Services) -> Reachable:
    """One of the user's own machines, or one of which the named session was shared."""
    session = call.arguments.get("session")
    if isinstance(session, str):
        for each in reachable(call.actor, services):
            if each.actor is not call.actor and each.node.is_called(server) and _has(each, session):
                return each
    return Reachable(node=services.hub.find(server, call.actor.user), actor=call.actor)


def _has(each: Reachable, session: str) -> bool:
    id_ = each.actor.session_id
    return id_ is not None and session in (id_, each.node.sessions.get(id_))


def _by_session(
    operation: Operation[Any, Any], call: Call, services: Services
) -> tuple[RemoteNode | None, Call]:
    """`MACHINE/SESSION` says both; an id is unique, and a name counts if only one machine has it."""
    actor, hub = call.actor, services.hub
    noun = operation.name.partition(".")[0]
    if actor.session is not None or (
        actor.user is not None and (operation.name in _OF_HUB or noun in _OF_HUB_NOUNS)
    ):
        return None, call
    if (found := _of_question(operation, call, services)) is not None:
        return found
    if (machine := _machine_of_new(operation, call, services)) is not None:
        name = str(call.arguments["name"]).partition("/")[2] or None
        given = {**call.arguments, "name": name, "server": machine}
        return _by_name(operation, replace(call, arguments=given), services)
    named = call.arguments.get("session")
    if not isinstance(named, str) or "session" not in operation.params.model_fields:
        if actor.user is None:
            return None, call
        return _checked(operation, call, _only_machine(actor, services))
    machine, slash, session = named.partition("/")
    if slash:
        call = replace(call, arguments={**call.arguments, "session": session})
        if hub.is_self(machine) and actor.user is None:
            return None, call
        return _checked(operation, call, _machine(machine, call, services))
    has_joined = actor.user is not None or hub.joined_of(None) or hub.away_of(None)
    if actor.user is None and (not has_joined or services.registry.has(named)):
        return None, call
    found = _machine_with(named, actor, services)
    return (None, call) if found is None else _checked(operation, call, found)


def _of_question(
    operation: Operation[Any, Any], call: Call, services: Services
) -> tuple[RemoteNode, Call] | None:
    """A question, or a standing approval, that is named with its machine, as a viewer of the hub sees it."""
    for part in ("approval", "standing"):
        given = call.arguments.get(part)
        if isinstance(given, str) and "/" in given and part in operation.params.model_fields:
            machine, _, id_ = given.partition("/")
            call = replace(call, arguments={**call.arguments, part: id_})
            found = [
                each for each in reachable(call.actor, services) if each.node.is_called(machine)
            ]
            if not found:
                raise ServerNotFound(machine[:100])
            # Of several shares on one machine, that which allows most: one may only look on.
            most = max(found, key=lambda each: len(each.actor.scopes))
            return _checked(operation, call, most)
    return None


def _machine_of_new(operation: Operation[Any, Any], call: Call, services: Services) -> str | None:
    """`MACHINE/NAME` for a session that is to be opened; the name may be left out."""
    name = call.arguments.get("name")
    if operation.name != "session.open" or not isinstance(name, str) or "/" not in name:
        return None
    machine = name.partition("/")[0]
    nodes = services.hub.nodes(call.actor.user)
    if call.actor.user is None and not any(node.is_called(machine) for node in nodes):
        return None  # no machine, so a slash is a wrong character
    return machine


def _machine_with(named: str, actor: Actor, services: Services) -> Reachable | None:
    """The one machine in the caller's reach that has this session; None where the hub's own may.

    Raises:
        SessionNotFound, SessionAmbiguous: if there is none for a user, or several.
    """
    nodes = services.hub.with_session(named, actor.user)
    found = [Reachable(node=node, actor=actor) for node in nodes]
    found = found or [
        each for each in reachable(actor, services) if each.actor is not actor and _has(each, named)
    ]
    if len(found) > 1:
        raise SessionAmbiguous(named, [each.node.name for each in found])
    if not found and actor.user is not None:
        raise SessionNotFound(named)
    return found[0] if found else None


def _only_machine(actor: Actor, services: Services) -> Reachable:
    known = services.hub.nodes(actor.user)
    nodes = [node for node in known if node.health != "away"] or known
    if not nodes:
        raise NoMachine
    if len(nodes) > 1:
        raise SeveralMachines([{"server": node.name, "id": node.id} for node in nodes[:50]])
    return Reachable(node=nodes[0], actor=actor)


def _checked(
    operation: Operation[Any, Any], call: Call, found: Reachable
) -> tuple[RemoteNode, Call]:
    """Raises:
    BadArguments, ScopeMissing: if this cannot be asked of another node.
    """
    if operation.name in _OWN or operation.name.partition(".")[0] in _OWN_NOUNS:
        raise BadArguments(
            f"{operation.name} is about this server and who calls it",
            hint="ask that server itself; the list of servers tells how it is",
        )
    if operation.composed and not found.node.has_joined:
        for scope in (Scope.READ, Scope.INPUT, Scope.CONTROL):
            permit(call.actor, scope)  # its steps are taken there, where we are one and the same
    return found.node, replace(call, actor=found.actor)


def node_of_session(named: str, actor: Actor, services: Services) -> tuple[RemoteNode, str]:
    """The caller's own machine that has this session, and the session's id.

    Raises:
        SessionNotFound, SessionAmbiguous: if there is none, or several.
    """
    machine, slash, session = named.rpartition("/")
    nodes = (
        [services.hub.find(machine, actor.user)]
        if slash
        else services.hub.with_session(session, actor.user)
    )
    if len(nodes) > 1:
        raise SessionAmbiguous(session, [node.name for node in nodes])
    for node in nodes:
        for id_, name in node.sessions.items():
            if session in (id_, name):
                return node, id_
    raise SessionNotFound(named)
