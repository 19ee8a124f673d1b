"""Other nodes that this one speaks for: where they are, whether they are well, and calls to them."""

from duetty.hub.addresses import Address, IpRules, parse_address
from duetty.hub.exchange import Answer, exchange
from duetty.hub.hub import Hub
from duetty.hub.link import dialled
from duetty.hub.network import Network
from duetty.hub.nodes import RemoteNode

__all__ = [
    "Address",
    "Answer",
    "Hub",
    "IpRules",
    "Network",
    "RemoteNode",
    "dialled",
    "exchange",
    "parse_address",
]
