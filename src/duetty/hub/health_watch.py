"""The link to one node: a WebSocket that stays open, so that its end is noticed at once."""

import json
import logging
import random
import re
from collections.abc import Callable
from typing import Any, cast

import anyio
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from duetty.errors import BadArguments, ServerUnavailable
from duetty.hub.addresses import Address
from duetty.hub.dial import dialled
from duetty.hub.exchange import exchange
from duetty.hub.network import Network
from duetty.hub.nodes import Identity, RemoteNode

log = logging.getLogger("duetty.hub")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
IDENTITY_S = 10.0
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,253}")


class NotOurs(Exception):
    """It answered, and cannot be one of our nodes; asking again would not change that."""


Clash = Callable[[Identity], str | None]
"""Why a node of this identity cannot be one of ours; None if it can."""


async def keep_link(node: RemoteNode, network: Network, clash: Clash) -> None:
    """Until the node is removed: connect, watch, and after a pause again."""
    pause_s = FIRST_PAUSE_S
    with node.scope:
        while True:
            try:
                await _watch(node, network, clash)
                reason = "it closed the connection"
            except NotOurs as error:
                node.is_not_well("rejected", str(error))
                log.warning("server_rejected", extra={"reason": str(error)})
                return
            except ServerUnavailable as error:
                reason = error.message
            except BadArguments as error:
                node.is_not_well("rejected", error.message)
                return
            if node.health == "healthy":
                pause_s = FIRST_PAUSE_S
            node.is_not_well("unavailable", reason)
            # Many hubs of one node do not come back in the same moment.
            await anyio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


async def _watch(node: RemoteNode, network: Network, clash: Clash) -> None:
    address = node.address
    assert address is not None, "only nodes that we dial are watched so"
    ip = await network.resolved(address)
    identity = await _identity(node, address, network, ip)
    if (why := clash(identity)) is not None:
        raise NotOurs(why)
    try:
        async with dialled(address, node.headers, network, ip, "/ws/json") as socket:
            node.is_well(identity)
            log.info("server_healthy", extra={"server": identity.hostname})
            async for _ in socket:
                pass
    except InvalidStatus as error:
        raise ServerUnavailable(f"it refused the link ({error.response.status_code})") from error
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI, ConnectionClosed) as error:
        raise ServerUnavailable("the link to it broke") from error


async def _identity(node: RemoteNode, address: Address, network: Network, ip: str) -> Identity:
    with anyio.move_on_after(IDENTITY_S):
        async with exchange(
            address,
            ip,
            network.tls(address),
            method="GET",
            target="/server/info",
            headers=node.headers,
            body=None,
        ) as answer:
            body = await answer.body()
            if answer.status in (401, 403):
                raise ServerUnavailable("it does not take the token that was given for it")
            if answer.status != 200:
                raise ServerUnavailable(f"it answered with status {answer.status}")
            return _parsed(body)
    raise ServerUnavailable("it did not say in time who it is")


def _parsed(body: bytes) -> Identity:
    try:
        fields = cast("dict[str, Any]", json.loads(body))
        hostname, server_id = fields["hostname"], fields["server_id"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ServerUnavailable("it does not answer as a server of ours does") from error
    if not isinstance(hostname, str) or not _NAME.fullmatch(hostname):
        raise NotOurs("its hostname cannot be used as a name")
    if not isinstance(server_id, str) or not 0 < len(server_id) <= 100:
        raise NotOurs("it has no id")
    return Identity(
        hostname=hostname, server_id=server_id, version=str(fields.get("version", ""))[:100]
    )
