"""Nodes that dialled this hub: who may bring one, and what each connection is served with."""

import json
import logging
from contextlib import suppress

import anyio

from duetty.calls import Actor, Scope
from duetty.errors import DuettyError
from duetty.hub import (
    MAX_SESSIONS,
    NOT_OURS,
    REPLACED,
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
from duetty.wire.json_values import has_few_values

log = logging.getLogger("duetty.hub")

RELEASE_S = 2.0
"""For the engine to hear that a machine left; later its lease says so."""


MAX_TOLD_VALUES = 8 * MAX_SESSIONS
"""Of what a machine tells of itself: its sessions, and room for what newer ones tell beside them."""


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
        is_away = _is_away(node, services)
        away = replicas.away.note(node) if replicas is not None and is_away else None
        hub.leave(node, "it left the hub")
        with anyio.move_on_after(RELEASE_S, shield=True):
            if replicas is not None and away is not None:
                await replicas.away.keep(away)
            if claim is not None and not hub.is_draining:  # it is claimed again at another replica
                await claim.claim.release()
    if node.scope.cancelled_caught:
        raise LinkClosed(*node.closing)


def _is_away(node: RemoteNode, services: Services) -> bool:
    """Whether it is to be remembered: not one that left on purpose, that is connected elsewhere
    already or was sent there, or whose user was removed.
    """
    replicas = services.replicas
    has_others = replicas is not None and len(replicas.directory.replicas) > 1
    is_sent = services.hub.is_draining and has_others
    is_replaced = node.scope.cancel_called and node.closing is REPLACED
    is_known = node.owner is None or services.users.has(node.owner)
    return is_known and not (node.is_leaving or is_replaced or is_sent)


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
    if not has_few_values(message, MAX_TOLD_VALUES):
        raise LinkBroken(f"a message has more than {MAX_TOLD_VALUES} values")
    with suppress(ValueError, RecursionError):
        fields = json.loads(message)
        if isinstance(fields, dict) and "leaving" in fields:
            node.is_leaving = True
        if isinstance(fields, dict) and "sessions" in fields:
            before = node.sessions
            node.lists(dict(listed(fields["sessions"])))  # pyright: ignore[reportUnknownArgumentType] - JSON
            return node.sessions != before
    return False
