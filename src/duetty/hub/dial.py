"""A WebSocket to another machine, at an address that was checked."""

from collections.abc import Mapping
from typing import Any

from websockets.asyncio.client import connect

from duetty.hub.addresses import Address
from duetty.hub.exchange import CONNECT_S
from duetty.hub.network import Network

PING_S, PONG_S = 15.0, 10.0
MAX_MESSAGE_BYTES = 1024 * 1024


def dialled(
    address: Address,
    headers: Mapping[str, str],
    network: Network,
    ip: str,
    target: str,
    *,
    max_bytes: int = MAX_MESSAGE_BYTES,
) -> connect:
    scheme = "wss" if address.scheme == "https" else "ws"
    options: dict[str, Any] = (
        {"ssl": network.tls(address), "server_hostname": address.host}
        if address.scheme == "https"
        else {}
    )
    return _Direct(
        f"{scheme}://{address.authority}{address.prefix}{target}",
        host=ip,
        port=address.port,
        additional_headers=dict(headers),
        compression=None,
        proxy=None,
        open_timeout=CONNECT_S,
        ping_interval=PING_S,
        ping_timeout=PONG_S,
        close_timeout=1,
        max_size=max_bytes,
        **options,
    )


class _Direct(connect):
    """Follows no redirect: where it leads was not checked."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc
