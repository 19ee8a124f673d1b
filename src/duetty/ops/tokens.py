"""Operations on who may call: tokens, browsers, tickets."""

from duetty.calls import Actor, Effect, Scope
from duetty.errors import (
    BadArguments,
    Exhausted,
    InvalidSessionName,
    NotAPerson,
    SessionNotFound,
    TokenNotFound,
)
from duetty.ids import checked_session_name
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import Operation, Route
from duetty.ops.permits import answering, permit
from duetty.ops.services import Services
from duetty.ops.shapes import time_text
from duetty.store import TokenRecord
from duetty.wire.params import Nothing, TokenCreateParams, TokenParams
from duetty.wire.results import Done, NewToken, Ticket, TokenInfo, WhoAmI


async def _create(params: TokenCreateParams, services: Services, actor: Actor) -> NewToken:
    scopes = frozenset(Scope(scope) for scope in params.scopes)
    if Scope.APPROVE in scopes:
        scopes = answering(scopes, actor)
    for scope in sorted(scopes):
        permit(actor, scope)  # an actor hands out only scopes of its own
    token, record = services.access.issue(
        params.name,
        scopes=scopes,
        session=None if params.session is None else _session_id(params.session, services),
        expires_in_s=params.expires_in_s,
    )
    return NewToken(token=token, info=_info(record, services))


def _session_id(name: str, services: Services) -> str:
    """A token is for this session and stays so, whatever it or another is called later."""
    return services.registry.find(checked_session_name(name)).profile.id


def _session_name(session: str | None, services: Services) -> str | None:
    """What it is called now; what is gone is known by its id."""
    if session is None:
        return None
    try:
        return services.registry.find(session).name
    except SessionNotFound:
        return session


async def _list(params: Nothing, services: Services, actor: Actor) -> list[TokenInfo]:
    return [_info(record, services) for record in services.access.tokens()]


async def _revoke(params: TokenParams, services: Services, actor: Actor) -> Done:
    if actor.kind != "person":
        for record in services.access.tokens():
            if record.id == params.token and is_persons(record):
                raise NotAPerson(
                    "an agent cannot take a person's credential away",
                    hint="ask the person to do it",
                )
    services.access.revoke(params.token)
    return Done()


async def _ticket(params: Nothing, services: Services, actor: Actor) -> Ticket:
    return Ticket(ticket=services.access.new_ticket(actor))


async def _whoami(params: Nothing, services: Services, actor: Actor) -> WhoAmI:
    return WhoAmI(
        kind=actor.kind,
        name=actor.name,
        user=actor.user,
        scopes=sorted(actor.scopes),
        session=actor.session,
    )


async def _sign_out(params: Nothing, services: Services, actor: Actor) -> Done:
    if actor.kind != "person" or actor.token is None:
        raise BadArguments("no browser is signed in here", hint="revoke a token by its id instead")
    services.access.revoke(actor.token)
    return Done()


def is_persons(record: TokenRecord) -> bool:
    """A browser that is signed in, or a token that answers questions."""
    return record.kind == "browser" or Scope.APPROVE in record.scopes


def _info(record: TokenRecord, services: Services) -> TokenInfo:
    return TokenInfo(
        id=record.id,
        kind=record.kind,
        user=record.user,
        name=record.name,
        scopes=list(record.scopes),
        session=_session_name(record.session, services),
        valid=record.is_valid(services.clock.wall_ns()),
        created_at=time_text(record.created_at_ns),
        expires_at=_time(record.expires_at_ns),
        last_used_at=_time(record.last_used_at_ns),
        revoked_at=_time(record.revoked_at_ns),
    )


def _time(at_ns: int | None) -> str | None:
    return None if at_ns is None else time_text(at_ns)


CREATE = Operation(
    name="token.create",
    summary="A token for some scopes, perhaps one session and a time; it is shown this once.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=TokenCreateParams,
    result=NewToken,
    run=_create,
    route=Route(method="POST", path="/tokens", status=201),
    admin=True,
    errors=(InvalidSessionName, Exhausted, NotAPerson),
)
LIST = Operation(
    name="token.list",
    summary="Tokens and signed-in browsers: what each may do, and when it was last used.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=list[TokenInfo],
    run=_list,
    route=Route(method="GET", path="/tokens"),
    admin=True,
)
REVOKE = Operation(
    name="token.revoke",
    summary="Refuse a token from now on and close the connections it holds.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=TokenParams,
    result=Done,
    run=_revoke,
    route=Route(method="DELETE", path="/tokens/{token}", status=204),
    admin=True,
    errors=(TokenNotFound, NotAPerson),
)
TICKET = Operation(
    name="auth.ticket",
    summary="A ticket that opens one WebSocket within 30 seconds: `?ticket=`.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=Ticket,
    run=_ticket,
    route=Route(method="POST", path="/auth/ws-ticket"),
    any_scope=True,
    shared=True,
    errors=(Exhausted,),
)
WHOAMI = Operation(
    name="auth.whoami",
    summary="Who this credential is, and what it allows.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=WhoAmI,
    run=_whoami,
    route=Route(method="GET", path="/auth/whoami"),
    any_scope=True,
    shared=True,
)
SIGN_OUT = Operation(
    name="auth.signout",
    summary="Sign this browser out.",
    effect=Effect.READ,
    judged=PLAIN,
    params=Nothing,
    result=Done,
    run=_sign_out,
    route=Route(method="POST", path="/auth/sign-out", status=204),
    shared=True,
)
