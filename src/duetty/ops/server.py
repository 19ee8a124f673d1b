"""Operations on the node itself: health, status, stop."""

import os

import anyio.to_thread

from duetty import descriptors
from duetty.calls import Actor, Effect, Scope
from duetty.errors import NotAPerson, UserNotFound
from duetty.ops.judgements import PLAIN
from duetty.ops.mcp_host import host_entry
from duetty.ops.operation import Operation, Route
from duetty.ops.permits import permit
from duetty.ops.sandbox_choice import boundary_of
from duetty.ops.services import Services
from duetty.wire.params import Nothing, PersistParams, StopParams
from duetty.wire.results import (
    Done,
    Health,
    Limit,
    Link,
    Persistent,
    ServerLimits,
    ServerStatus,
)
from duetty.wire.users import LinkParams


async def _health(params: Nothing, services: Services, actor: Actor) -> Health:
    return Health(status="ok")


async def _status(params: Nothing, services: Services, actor: Actor) -> ServerStatus:
    node, registry = services.node, services.registry
    sessions = registry.sessions()
    exited = sum(session.is_exited for session in sessions)
    degraded = dict(registry.degraded)
    store = services.store
    if store.repaired is not None:
        degraded["store"] = (
            f"{store.repaired.reason}; what could not be read is in {store.repaired.moved_to}"
        )
    elif store.lost is not None:
        degraded["store"] = store.lost
    if store.degraded:
        degraded["store"] = store.degraded
    damaged = [each for each in sessions if each.journal.damage is not None]
    if damaged:
        degraded["journal"] = "; ".join(
            f"{each.name}: {each.journal.damage}" for each in damaged[:5]
        )
    if aside := node.put_aside():
        degraded["files"] = f"found damaged and put aside: {', '.join(aside)} (`duetty repair`)"
    if services.trail.degraded:
        degraded["audit"] = services.trail.degraded
    return ServerStatus(
        hostname=node.hostname,
        version=node.version,
        server_id=node.server_id,
        instance=node.instance,
        pid=os.getpid(),
        keeper_pid=registry.keeper_pid,
        address=node.address(),
        sessions=len(sessions) - exited,
        exited_sessions=exited,
        uptime_s=round(services.clock.monotonic_s() - node.started_s, 3),
        guardrail=services.deciding.profile.value,
        boundary=await anyio.to_thread.run_sync(boundary_of, services.settings),
        confined_sessions=sum(
            session.profile.sandbox != "none" and not session.is_exited for session in sessions
        ),
        standing_approvals=len(services.approvals.standing.in_force()),
        mcp_host=host_entry(node.instance),
        degraded=degraded,
    )


async def _limits(params: Nothing, services: Services, actor: Actor) -> ServerLimits:
    bounds = services.access.bounds
    return ServerLimits(
        open_files=descriptors.limit(),
        limits=[
            Limit(
                name=bound.name,
                what=bound.what,
                most=shares.most,
                each=shares.each,
                each_source=shares.each_source,
                for_people=shares.for_people,
                held=bounds.held(bound.name),
            )
            for bound, shares in bounds
        ],
    )


async def _stop(params: StopParams, services: Services, actor: Actor) -> Done:
    services.node.stop(params.keep_sessions)
    return Done()


async def _link(params: LinkParams, services: Services, actor: Actor) -> Link:
    if params.user is not None:
        services.users.find(params.user)
    for scope in Scope:
        permit(actor, scope)  # a browser that is signed in may do everything
    if actor.kind != "person":
        # A signed-in browser is a person's, and persons answer questions about agents.
        raise NotAPerson(
            "an agent cannot sign a browser in", hint="`duetty token link`, by a person"
        )
    return Link(link=services.node.new_link(params.user))


async def _is_persistent(params: Nothing, services: Services, actor: Actor) -> Persistent:
    return Persistent(persistent=services.node.is_persistent())


async def _persist(params: PersistParams, services: Services, actor: Actor) -> Persistent:
    services.node.persist(params.persistent)
    return Persistent(persistent=services.node.is_persistent())


HEALTH = Operation(
    name="server.health",
    summary="Whether the server answers.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=Health,
    run=_health,
    route=Route(method="GET", path="/health"),
    shared=True,
)
STATUS = Operation(
    name="server.status",
    summary="The server: address, processes, sessions, and what does not work as promised.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=ServerStatus,
    run=_status,
    route=Route(method="GET", path="/server/info"),
    shared=True,
)
LIMITS = Operation(
    name="server.limits",
    summary="What callers share: so many in all, for one credential, for one other machine, kept for people, held now.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=ServerLimits,
    run=_limits,
    route=Route(method="GET", path="/server/limits"),
    shared=True,
)
STOP = Operation(
    name="server.stop",
    summary="End the server; with its sessions, or leaving them to the keeper.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=StopParams,
    result=Done,
    run=_stop,
    route=Route(method="POST", path="/server/stop", status=204),
    admin=True,
    errors=(NotAPerson,),
)
LINK = Operation(
    name="server.link",
    summary="A link that signs one browser in, once; on a hub, as one of its users.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=LinkParams,
    result=Link,
    run=_link,
    route=Route(method="POST", path="/server/link"),
    admin=True,
    errors=(NotAPerson, UserNotFound),
)
IS_PERSISTENT = Operation(
    name="server.persistent",
    summary="Whether the server stays when no session and no client is left.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=Persistent,
    run=_is_persistent,
    route=Route(method="GET", path="/server/persist"),
    shared=True,
)
PERSIST = Operation(
    name="server.persist",
    summary="Make the server stay, or end when no session and no client is left.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=PersistParams,
    result=Persistent,
    run=_persist,
    route=Route(method="PUT", path="/server/persist"),
    admin=True,
    errors=(NotAPerson,),
)
