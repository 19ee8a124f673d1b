"""Nodes that dialled this hub: who may bring one, and what each connection is served with."""

import json
import logging
from contextlib import suppress

import anyio

from duetty.calls import Actor, Scope
from duetty.errors import DuettyError
from duetty.hub import (
    NOT_OURS,
    Channel,
    JoinedLink,
    JoinRefused,
    LinkBroken,
    NodeClaim,
    RemoteNode,
    greet,
    listed,
)
from duetty.ops.permits import permit
from duetty.ops.services import Services
from duetty.wire.json_values import MAX_VALUES, has_few_values

log = logging.getLogger("duetty.hub")

RELEASE_S = 2.0
"""For the engine to hear that a machine left; later its lease says so."""


class LinkClosed(Exception):
    """The connection is to be closed, with this code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def may_join(actor: Actor) -> None:
    """Raises:
    ScopeMissing: if the credential brings no machine into the hub.
    """
    permit(actor, Scope.JOIN)


async def serve_node(services: Services, actor: Actor, channel: Channel) -> None:
    """Have it prove who it is; then it can be called, until either side ends it.

    Raises:
        LinkClosed: if it is not to come back in the same way.
    """
    hub, replicas = services.hub, services.replicas
    claim: NodeClaim | None = None
    try:
        hello = await greet(
            channel, hub={"name": services.node.hostname, "version": services.node.version}
        )
        link = JoinedLink(channel, services.clock)
        if replicas is not None:
            claim = await replicas.claim(hello, actor.user)
        epoch = hello.epoch + 1 if claim is None else claim.claim.epoch
        node = hub.join(hello, link, actor.user, epoch=epoch)
    except (JoinRefused, DuettyError) as refused:
        if claim is not None:
            await claim.claim.release()
        services.metrics.refused(refused.code)
        refusal = {"code": refused.code, "message": refused.message}
        await channel.send(json.dumps({"refused": refusal}))
        raise LinkClosed(4403, refused.message[:100]) from refused
    try:
        welcome = {"protocol": hello.protocol, "user": actor.user, "epoch": node.epoch}
        await channel.send(json.dumps({"welcome": welcome}))
        if claim is not None:
            claim.node = node
        with node.scope:
            await _converse(node, link, channel, claim)
    finally:
        hub.leave(node, "it left the hub")
        if claim is not None and not hub.is_draining:  # it is claimed again at another replica
            with anyio.move_on_after(RELEASE_S, shield=True):
                await claim.claim.release()
    if node.scope.cancelled_caught:
        raise LinkClosed(*node.closing)


async def _converse(
    node: RemoteNode, link: JoinedLink, channel: Channel, claim: NodeClaim | None
) -> None:
    while (message := await channel.receive()) is not None:
        try:
            if isinstance(message, bytes):
                link.streams.take(message)
            elif _take_sessions(node, message) and claim is not None:
                await claim.describe(node.sessions.items())
        except LinkBroken as error:
            log.warning("node_broke_protocol", extra={"node": node.id, "reason": str(error)})
            raise LinkClosed(*NOT_OURS) from error


def _take_sessions(node: RemoteNode, message: str) -> bool:
    """Whether its sessions changed."""
    if not has_few_values(message):
        raise LinkBroken(f"a message has more than {MAX_VALUES} values")
    with suppress(ValueError, RecursionError):
        fields = json.loads(message)
        if isinstance(fields, dict) and "sessions" in fields:
            node.lists(dict(listed(fields["sessions"])))  # pyright: ignore[reportUnknownArgumentType] - JSON
            return True
    return False
