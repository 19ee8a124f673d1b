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
from duetty.hub.rooms import Room, Rooms, parse_announcement
from duetty.hub.streams import PART_BYTES, Kind, LinkBroken
from duetty.hub.users import SCOPES_OF, USER_SCOPES, Share, Users

__all__ = [
    "DRAINING",
    "NOT_OURS",
    "PART_BYTES",
    "REPLACED",
    "SCOPES_OF",
    "USER_SCOPES",
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
    "Room",
    "Rooms",
    "Share",
    "SocketRefused",
    "Told",
    "Users",
    "greet",
    "listed",
    "load_key",
    "packed",
    "parse_address",
    "parse_announcement",
]
