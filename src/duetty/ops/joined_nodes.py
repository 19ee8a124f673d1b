"""Nodes that dialled this hub: who may bring one, and what each connection is served with."""

import json
import logging
from contextlib import suppress

from duetty.calls import Actor, Scope
from duetty.errors import DuettyError
from duetty.hub import (
    NOT_OURS,
    REPLACED,
    Channel,
    JoinedLink,
    JoinRefused,
    LinkBroken,
    RemoteNode,
    greet,
    listed,
)
from duetty.ops.permits import permit
from duetty.ops.services import Services

log = logging.getLogger("duetty.hub")


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
    hub = services.hub
    try:
        hello = await greet(
            channel, hub={"name": services.node.hostname, "version": services.node.version}
        )
        link = JoinedLink(channel, services.clock)
        node = hub.join(hello, link, actor.user)
    except (JoinRefused, DuettyError) as refused:
        told = {"code": refused.code, "message": refused.message}
        await channel.send(json.dumps({"refused": told}))
        raise LinkClosed(4403, refused.message[:100]) from refused
    try:
        welcome = {"protocol": hello.protocol, "user": actor.user, "epoch": node.epoch}
        await channel.send(json.dumps({"welcome": welcome}))
        with node.scope:
            await _converse(node, link, channel)
    finally:
        hub.leave(node, "it left the hub")
    if node.scope.cancelled_caught:
        raise LinkClosed(*REPLACED)


async def _converse(node: RemoteNode, link: JoinedLink, channel: Channel) -> None:
    while (message := await channel.receive()) is not None:
        try:
            if isinstance(message, bytes):
                link.streams.take(message)
            else:
                _told(node, message)
        except LinkBroken as error:
            log.warning("node_broke_protocol", extra={"node": node.id, "reason": str(error)})
            raise LinkClosed(*NOT_OURS) from error


def _told(node: RemoteNode, message: str) -> None:
    with suppress(ValueError, RecursionError):
        told = json.loads(message)
        if isinstance(told, dict) and "sessions" in told:
            node.sessions = dict(listed(told["sessions"]))  # pyright: ignore[reportUnknownArgumentType] - JSON
