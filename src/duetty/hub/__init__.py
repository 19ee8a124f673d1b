"""Other nodes that this one speaks for: those it dials, and those that dialled it."""

from duetty.hub.addresses import Address, IpRules, parse_address
from duetty.hub.hub import Hub
from duetty.hub.hub_membership import Joining, Membership, Opening
from duetty.hub.identity import NodeKey, load_key
from duetty.hub.joined_node import (
    DRAINING,
    NOT_OURS,
    REPLACED,
    Channel,
    JoinedLink,
    JoinedSocket,
    JoinRefused,
    greet,
    listed,
    packed,
)
from duetty.hub.links import Answer, Asking, NodeSocket, SocketRefused, Told
from duetty.hub.network import Network
from duetty.hub.nodes import RemoteNode
from duetty.hub.streams import PART_BYTES, Kind, LinkBroken

__all__ = [
    "DRAINING",
    "NOT_OURS",
    "PART_BYTES",
    "REPLACED",
    "Address",
    "Answer",
    "Asking",
    "Channel",
    "Hub",
    "IpRules",
    "JoinRefused",
    "JoinedLink",
    "JoinedSocket",
    "Joining",
    "Kind",
    "LinkBroken",
    "Membership",
    "Network",
    "NodeKey",
    "NodeSocket",
    "Opening",
    "RemoteNode",
    "SocketRefused",
    "Told",
    "greet",
    "listed",
    "load_key",
    "packed",
    "parse_address",
]
