"""Operations on a hub's users, and on what they share."""

from duetty.calls import Actor, Effect, Scope
from duetty.errors import (
    BadArguments,
    Conflict,
    Exhausted,
    NotAPerson,
    ServerNotFound,
    ShareNotFound,
    UserExists,
    UserNotFound,
)
from duetty.hub import USER_SCOPES, Share
from duetty.ops.hub_routing import node_of_session
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.servers import server_info
from duetty.ops.services import Services
from duetty.ops.shapes import time_text
from duetty.wire.params import Nothing
from duetty.wire.results import Done
from duetty.wire.servers import ServerParams
from duetty.wire.users import (
    MachineInfo,
    NewUserToken,
    ShareInfo,
    ShareParams,
    ShareSessionParams,
    UserInfo,
    UserParams,
    UserTokenParams,
)


async def _list(params: Nothing, services: Services, actor: Actor) -> list[UserInfo]:
    tokens = services.access.tokens()
    now_ns = services.clock.wall_ns()
    return [
        UserInfo(
            name=user.name,
            created_at=time_text(user.created_at_ns),
            tokens=sum(each.user == user.name and each.is_valid(now_ns) for each in tokens),
            machines=len(services.hub.nodes(user.name)),
            rooms=len(services.rooms.of(user.name)),
        )
        for user in services.users.all()
    ]


async def _machines(params: Nothing, services: Services, actor: Actor) -> list[MachineInfo]:
    owners = [None, *(user.name for user in services.users.all())]
    if services.replicas is not None:
        for owner in owners:
            await services.replicas.know(owner)
    return [
        MachineInfo(user=owner, machine=server_info(node))
        for owner in owners
        for node in (*services.hub.joined_of(owner), *services.hub.away_of(owner))
    ]


async def _forget_machine(params: ServerParams, services: Services, actor: Actor) -> Done:
    owners = [None, *(user.name for user in services.users.all())]
    name = params.hostname
    away = [node for owner in owners for node in services.hub.away_of(owner)]
    found = [node for node in away if node.is_called(name)]
    if not found:
        here = (node for owner in owners for node in services.hub.joined_of(owner))
        if any(node.is_called(name) for node in here):
            raise Conflict(
                f"{name[:100]!r} is connected now",
                hint="`duetty join --leave` there, or revoke the token that it joined with",
            )
        raise ServerNotFound(name[:100])
    if len(found) > 1:
        raise BadArguments(
            f"{len(found)} machines that are away are called {name[:100]!r}",
            hint=f"name one by its id: {', '.join(each.id for each in found[:10])}",
        )
    if services.replicas is not None:
        await services.replicas.away.forget(found[0].id)
    return Done()


async def _add(params: UserParams, services: Services, actor: Actor) -> UserInfo:
    user = services.users.add(params.name)
    return UserInfo(
        name=user.name, created_at=time_text(user.created_at_ns), tokens=0, machines=0, rooms=0
    )


async def _remove(params: UserParams, services: Services, actor: Actor) -> Done:
    services.users.remove(params.name)
    services.access.revoke_user(params.name)
    if services.replicas is not None:  # the next user of that name is another one
        for node in services.replicas.away.of(params.name):
            await services.replicas.away.forget(node.id)
    return Done()


async def _token(params: UserTokenParams, services: Services, actor: Actor) -> NewUserToken:
    services.users.find(params.name)
    scopes = frozenset(Scope(scope) for scope in params.scopes)
    if params.person and actor.kind != "person":
        raise NotAPerson(
            "an agent cannot make a person's credential", hint="ask the person to do it"
        )
    if Scope.APPROVE in scopes and not params.person:
        raise BadArguments("scopes: approve is for a person's own token", hint="give `person` too")
    if not scopes <= USER_SCOPES:
        raise BadArguments("scopes: a user's token cannot have admin")
    token, record = services.access.issue(
        params.label,
        scopes=scopes,
        expires_in_s=params.expires_in_s,
        user=params.name,
        kind="login" if params.person else "token",
    )
    return NewUserToken(token=token, id=record.id, user=params.name, scopes=sorted(scopes))


async def _share(params: ShareSessionParams, services: Services, actor: Actor) -> ShareInfo:
    if actor.kind != "person":
        raise NotAPerson("an agent cannot share a session", hint="ask the person to do it")
    node, session = node_of_session(params.session, actor, services)
    share = services.users.share(
        owner=actor.user,
        node=node.id,
        session=session,
        user=params.user,
        role=params.role,
        for_s=params.expires_in_s,
    )
    return _info(share, services)


async def _shares(params: Nothing, services: Services, actor: Actor) -> list[ShareInfo]:
    given = [*services.users.by(actor.user), *services.users.of(actor.user)]
    return [_info(each, services) for each in given]


async def _revoke(params: ShareParams, services: Services, actor: Actor) -> Done:
    services.users.revoke(params.share, actor.user)
    return Done()


def _info(share: Share, services: Services) -> ShareInfo:
    node = services.hub.joined_node(share.node, share.owner)
    return ShareInfo(
        id=share.id,
        session_id=share.session,
        session=None if node is None else node.sessions.get(share.session),
        machine=None if node is None else node.name,
        owner=share.owner,
        user=share.user,
        role=share.role,
        expires_at=None if share.expires_at_ns is None else time_text(share.expires_at_ns),
    )


LIST = Operation(
    name="user.list",
    summary="The users of this hub.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=list[UserInfo],
    run=_list,
    route=Route(method="GET", path="/users"),
    admin=True,
)
MACHINES = Operation(
    name="user.machines",
    summary="Every machine that joined this hub, and whose it is.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=list[MachineInfo],
    run=_machines,
    route=Route(method="GET", path="/users/machines"),
    admin=True,
)
FORGET_MACHINE = Operation(
    name="user.forget_machine",
    summary="List a machine no more that is away; it may join again.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=ServerParams,
    result=Done,
    run=_forget_machine,
    route=Route(method="DELETE", path="/users/machines/{hostname}", status=204),
    admin=True,
    errors=(ServerNotFound, Conflict, NotAPerson),
)
ADD = Operation(
    name="user.add",
    summary="Add a user to this hub; a token for them is made next.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=UserParams,
    result=UserInfo,
    run=_add,
    route=Route(method="POST", path="/users", status=201),
    admin=True,
    errors=(UserExists, Exhausted, NotAPerson),
)
REMOVE = Operation(
    name="user.remove",
    summary="Remove a user: their tokens end now, and with them their machines and connections.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=UserParams,
    result=Done,
    run=_remove,
    route=Route(method="DELETE", path="/users/{name}", status=204),
    admin=True,
    errors=(UserNotFound, NotAPerson),
)
TOKEN = Operation(
    name="user.token",
    summary="Make a token for a user: for an agent, for a machine that joins, or the person's own.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=UserTokenParams,
    result=NewUserToken,
    run=_token,
    route=Route(method="POST", path="/users/{name}/tokens", status=201),
    admin=True,
    errors=(UserNotFound, NotAPerson, Exhausted),
)
SHARE = Operation(
    name="share.add",
    summary="Share a session with another user of the hub: watch, drive or moderate, for a time.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=ShareSessionParams,
    result=ShareInfo,
    run=_share,
    route=Route(method="POST", path="/shares", status=201),
    errors=(UserNotFound, NotAPerson, Exhausted),
)
SHARES = Operation(
    name="share.list",
    summary="What this user shares, and what was shared with them.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=list[ShareInfo],
    run=_shares,
    route=Route(method="GET", path="/shares"),
)
REVOKE = Operation(
    name="share.revoke",
    summary="End a share: what it holds open is closed now.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=ShareParams,
    result=Done,
    run=_revoke,
    route=Route(method="DELETE", path="/shares/{share}", status=204),
    errors=(ShareNotFound,),
)
