"""Operations on the servers that this one speaks for."""

from duetty.calls import Actor, Effect
from duetty.errors import Exhausted, NotAPerson, ServerAlreadyRegistered, ServerNotFound
from duetty.hub import RemoteNode
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Services
from duetty.wire.params import Nothing
from duetty.wire.results import Done
from duetty.wire.servers import AddServerParams, ServerAdded, ServerInfo, ServerParams


async def _list(params: Nothing, services: Services, actor: Actor) -> list[ServerInfo]:
    return [_own(services), *(_info(node) for node in services.hub.nodes())]


async def _get(params: ServerParams, services: Services, actor: Actor) -> ServerInfo:
    if services.hub.is_self(params.hostname):
        return _own(services)
    return _info(services.hub.find(params.hostname))


async def _add(params: AddServerParams, services: Services, actor: Actor) -> ServerAdded:
    node = await services.hub.add(params.address, params.token)
    return ServerAdded(address=str(node.address), health="connecting")


async def _remove(params: ServerParams, services: Services, actor: Actor) -> Done:
    services.hub.remove(params.hostname)
    return Done()


def _own(services: Services) -> ServerInfo:
    return ServerInfo(
        hostname=services.node.hostname,
        address="local",
        health="healthy",
        server_id=services.node.server_id,
        version=services.node.version,
        sessions=services.registry.alive,
        reason=None,
    )


def _info(node: RemoteNode) -> ServerInfo:
    identity = node.identity
    return ServerInfo(
        hostname=None if identity is None else identity.hostname,
        address=str(node.address),
        health=node.health,
        server_id=None if identity is None else identity.server_id,
        version=None if identity is None else identity.version,
        sessions=None,
        reason=node.reason,
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
