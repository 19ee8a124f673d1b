"""Streams of another node, passed on: its WebSockets and its server-sent events.

Only who may read here gets them. What changes something is not passed on but called
(`remote_calls`), except raw keys, which cannot wait for a call each.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio

from duetty.calls import Actor, Call, Scope
from duetty.errors import ScopeMissing, ServerUnavailable
from duetty.hub import Answer, Asking, NodeSocket, RemoteNode, SocketRefused
from duetty.ops.permits import permit
from duetty.ops.remote_calls import ANSWER_S, caller_of, error_of_reply, recorded, refuse_denied
from duetty.ops.resolved_call import ResolvedCall
from duetty.ops.services import Services
from duetty.ops.table import OPERATIONS
from duetty.wire.params import WriteParams

SILENCE_S = 60.0
"""A stream of events that says nothing for so long, not even a comment, is dead."""


def may_follow(actor: Actor) -> None:
    """Raises:
    ScopeMissing: if the actor may not look at what another node has.
    """
    permit(actor, Scope.READ)
    if actor.session is not None:
        raise ScopeMissing(
            "this token is for one session of this server", details={"session": actor.session}
        )


@asynccontextmanager
async def relayed_socket(
    services: Services, actor: Actor, node: RemoteNode, target: str
) -> AsyncGenerator[NodeSocket]:
    """Raises:
    ServerUnavailable: if the node does not answer.
    DuettyError: what it refused with.
    """
    may_follow(actor)
    if node.health != "healthy":
        raise node.unavailable(node.reason or "it has not answered yet", executed=False)
    try:
        asking = Asking(caller=caller_of(actor))
        async with node.link.socket(target, asking=asking) as socket:
            with services.users.held(actor.user, actor.session_id, socket.drop):
                yield socket
    except SocketRefused as error:
        raise error_of_reply(node, error.status, error.body) from error
    except ServerUnavailable as error:
        raise node.unavailable(error.message) from error


def begin_typing(services: Services, actor: Actor, node: RemoteNode, session: str) -> None:
    """Before the first raw keys for a session of another node.

    Raises:
        ScopeMissing, PolicyDenied, AuditUnavailable: none may be sent.
    """
    operation = OPERATIONS["input.write"]
    permit(actor, operation.scope)
    params = WriteParams.model_validate({"session": session, "data": ""})
    call = ResolvedCall(
        call=Call(actor=actor, operation=operation.name), operation=operation, params=params
    )
    refuse_denied(call, services.deciding)
    with recorded(node, call, services):
        pass


@asynccontextmanager
async def relayed_events(
    services: Services, actor: Actor, node: RemoteNode, target: str, headers: dict[str, str]
) -> AsyncGenerator[AsyncIterator[bytes]]:
    """Raises:
    ServerUnavailable: if the node does not answer.
    DuettyError: what it refused with.
    """
    may_follow(actor)
    if node.health != "healthy":
        raise node.unavailable(node.reason or "it has not answered yet", executed=False)
    try:
        asked = node.link.request(
            "GET", target, headers=headers, body=None, asking=Asking(caller=caller_of(actor))
        )
        async with asked as answer:
            if answer.status != 200:
                with anyio.move_on_after(ANSWER_S):
                    raise error_of_reply(node, answer.status, await answer.body())
                raise node.unavailable("it did not answer in time")
            yield _bounded(answer)
    except ServerUnavailable as error:
        raise node.unavailable(error.message) from error


async def _bounded(answer: Answer) -> AsyncIterator[bytes]:
    chunks = answer.chunks()
    while True:
        chunk: bytes | None = None
        with anyio.move_on_after(SILENCE_S):
            chunk = await anext(chunks, None)
        if chunk is None:
            return
        yield chunk
