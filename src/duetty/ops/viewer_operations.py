"""Operations around viewers: send attached terminals away, wait for any session to be idle."""

import anyio

from duetty.calls import Actor, Effect
from duetty.errors import IdleTimeout, NotFound
from duetty.events import ViewersChanged
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import InSession, Operation, Route
from duetty.ops.services import Services
from duetty.session import Session, screen_shape, wait_any_idle
from duetty.wire.events import AnyIdle, AnyIdleParams
from duetty.wire.params import MAX_IDLE_MS, SessionParams
from duetty.wire.results import Done


class NoSessions(NotFound):
    """There is none that could be waited for."""

    code = "no_sessions"


async def _detach(
    params: SessionParams, session: Session, services: Services, actor: Actor
) -> Done:
    if session.viewers.detach():
        session.log.append(ViewersChanged(viewers=len(session.viewers)))  # and they see it
    return Done()


async def _any_idle(params: AnyIdleParams, services: Services, actor: Actor) -> AnyIdle:
    sessions = _candidates(params, services, actor)
    if not sessions:
        raise NoSessions(
            "there is no session to wait for" + (" with such a tag" if params.tag else ""),
            hint="open one first",
        )
    with anyio.move_on_after(min(params.max_wait_ms, MAX_IDLE_MS) / 1000):
        first = await wait_any_idle(
            sessions,
            quiet_s=min(params.timeout_ms, MAX_IDLE_MS) / 1000,
            last_session=params.last_session,
            last_generation=params.last_generation,
            fresh=params.fresh,
        )
        return AnyIdle(
            session=first.session.name,
            screen=await screen_shape(
                first.session, styled=params.format == "styled", owner=actor.identity
            ),
            scrollback_lines=first.session.total_rows,
            generation=first.generation,
        )
    raise IdleTimeout(f"no session was idle within {params.max_wait_ms} ms")


def _candidates(params: AnyIdleParams, services: Services, actor: Actor) -> list[Session]:
    wanted = {tag.strip() for given in params.tag for tag in given.split(",") if tag.strip()}
    return [
        session
        for session in services.registry.sessions()
        if not session.is_exited
        and actor.session in (None, session.name)
        and (not wanted or wanted & session.profile.tags)
    ]


DETACH = Operation(
    name="session.detach",
    summary="Send every attached terminal away; pages and programs that look stay.",
    effect=Effect.CONTROL,
    judged=PLAIN,
    params=SessionParams,
    result=Done,
    run=InSession(_detach),
    route=Route(method="POST", path="/sessions/{session}/detach", status=204),
)
ANY_IDLE = Operation(
    name="session.any_idle",
    summary="Wait until any session has been silent for a while, and say which.",
    effect=Effect.READ,
    judged=PLAIN,
    params=AnyIdleParams,
    result=AnyIdle,
    run=_any_idle,
    route=Route(method="GET", path="/idle"),
    waits=True,
    shared=True,
    errors=(NoSessions, IdleTimeout),
)
