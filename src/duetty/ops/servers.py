"""Operations on the servers that this one speaks for."""

from duetty.calls import Actor, Effect
from duetty.errors import (
    Exhausted,
    NotAPerson,
    ServerAlreadyRegistered,
    ServerNotFound,
    ServerUnavailable,
    StateUnwritable,
)
from duetty.hub import RemoteNode, parse_address
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Services
from duetty.ops.shapes import time_text
from duetty.wire.params import Nothing
from duetty.wire.results import Done
from duetty.wire.servers import (
    AddServerParams,
    HubInfo,
    JoinParams,
    ServerAdded,
    ServerInfo,
    ServerParams,
)


async def _list(params: Nothing, services: Services, actor: Actor) -> list[ServerInfo]:
    # The hub's own sessions are its owner's: no user may know of them.
    own = [_own(services)] if actor.user is None else []
    return [*own, *(server_info(node) for node in services.hub.nodes(actor.user))]


async def _get(params: ServerParams, services: Services, actor: Actor) -> ServerInfo:
    if actor.user is None and services.hub.is_self(params.hostname):
        return _own(services)
    return server_info(services.hub.find(params.hostname, actor.user))


async def _add(params: AddServerParams, services: Services, actor: Actor) -> ServerAdded:
    node = await services.hub.add(params.address, params.token)
    return ServerAdded(address=str(node.address), health="connecting")


async def _remove(params: ServerParams, services: Services, actor: Actor) -> Done:
    services.hub.remove(params.hostname)
    return Done()


async def _join(params: JoinParams, services: Services, actor: Actor) -> HubInfo:
    await services.membership.join(parse_address(params.address), params.token.strip())
    return _hub(services)


async def _leave(params: Nothing, services: Services, actor: Actor) -> HubInfo:
    services.membership.leave()
    return _hub(services)


async def _joined(params: Nothing, services: Services, actor: Actor) -> HubInfo:
    return _hub(services)


def _hub(services: Services) -> HubInfo:
    joining = services.membership.joining
    return HubInfo(
        hub=None if joining is None else str(joining.address),
        state="none" if joining is None else joining.state,
        user=None if joining is None else joining.user,
        machine=services.node.server_id,
        reason=None if joining is None else joining.reason,
    )


def _own(services: Services) -> ServerInfo:
    return ServerInfo(
        hostname=services.node.hostname,
        address="local",
        health="healthy",
        server_id=services.node.server_id,
        version=services.node.version,
        sessions=services.registry.alive,
        reason=None,
        away_since=None,
    )


def server_info(node: RemoteNode) -> ServerInfo:
    identity = node.identity
    return ServerInfo(
        hostname=None if identity is None else identity.hostname,
        address=node.place,
        health=node.health,
        server_id=None if identity is None else identity.server_id,
        version=None if identity is None else identity.version,
        sessions=len(node.sessions) if node.has_joined else None,
        reason=node.reason,
        away_since=None if node.away_at_ns is None else time_text(node.away_at_ns),
    )


LIST = Operation(
    name="server.list",
    summary="This server, and those that it speaks for: where each is and how it is.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=list[ServerInfo],
    run=_list,
    route=Route(method="GET", path="/servers"),
)
GET = Operation(
    name="server.get",
    summary="One server: this one, or one that it speaks for.",
    effect=Effect.READ,
    judged=PLAIN,
    params=ServerParams,
    result=ServerInfo,
    run=_get,
    route=Route(method="GET", path="/servers/{hostname}"),
    errors=(ServerNotFound,),
)
ADD = Operation(
    name="server.add",
    summary="Speak for another server too: its sessions are listed, and reached with `server`.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=AddServerParams,
    result=ServerAdded,
    run=_add,
    route=Route(method="POST", path="/servers", status=201),
    admin=True,
    errors=(ServerAlreadyRegistered, Exhausted, NotAPerson),
)
REMOVE = Operation(
    name="server.remove",
    summary="Speak for a server no more; nothing changes on it.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=ServerParams,
    result=Done,
    run=_remove,
    route=Route(method="DELETE", path="/servers/{hostname}", status=204),
    admin=True,
    errors=(ServerNotFound, NotAPerson),
)
JOIN = Operation(
    name="server.join",
    summary="Join a hub: dial it, prove who this machine is, and serve what its user asks through it.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=JoinParams,
    result=HubInfo,
    run=_join,
    route=Route(method="POST", path="/server/hub"),
    admin=True,
    errors=(NotAPerson, ServerUnavailable, StateUnwritable),
)
LEAVE = Operation(
    name="server.leave",
    summary="Leave the hub that this server joined.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=Nothing,
    result=HubInfo,
    run=_leave,
    route=Route(method="DELETE", path="/server/hub"),
    admin=True,
    errors=(NotAPerson,),
)
JOINED = Operation(
    name="server.hub",
    summary="The hub that this server joined, and how the connection to it is.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=HubInfo,
    run=_joined,
    route=Route(method="GET", path="/server/hub"),
)
