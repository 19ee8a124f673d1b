"""Other nodes that this one speaks for: those it dials, and those that dialled it.

Knows machines, rooms, users and links between them; nothing of operations, rules or terminals.
"""

from duetty.hub.addresses import Address, IpRules, parse_address
from duetty.hub.bus import Bus, BusError, joined
from duetty.hub.call_log import logged
from duetty.hub.dedupe import Dedupe
from duetty.hub.directory import Claim
from duetty.hub.hub import Hub
from duetty.hub.hub_membership import Joining, Membership, Opening
from duetty.hub.identity import NodeKey, load_key
from duetty.hub.joined_node import (
    MAX_SESSIONS,
    NOT_OURS,
    Channel,
    JoinedLink,
    JoinedSocket,
    JoinRefused,
    greet,
    listed,
    packed,
    unpacked,
)
from duetty.hub.jwt_tokens import JwtTokens, Provider
from duetty.hub.links import Answer, Aside, Asking, NodeSocket, SocketRefused
from duetty.hub.metrics import HubMetrics
from duetty.hub.network import Network
from duetty.hub.nodes import REPLACED, RemoteNode
from duetty.hub.remote_bridge import Bridge
from duetty.hub.remote_rooms import (
    RemoteRoom,
    announce_again,
    claim_room,
    error_of,
    find_remote,
    may_return,
    remote_rooms,
)
from duetty.hub.replicas import NodeClaim, Replicas, open_replicas
from duetty.hub.rooms import Announced, Room, Rooms, parse_aside, plain_tool_name
from duetty.hub.shared_records import Kind as RecordKind
from duetty.hub.shared_records import SharedRecords
from duetty.hub.streams import PART_BYTES, Kind, LinkBroken
from duetty.hub.users import SCOPES_OF, USER_SCOPES, Share, Users

__all__ = [
    "MAX_SESSIONS",
    "NOT_OURS",
    "PART_BYTES",
    "REPLACED",
    "SCOPES_OF",
    "USER_SCOPES",
    "Address",
    "Announced",
    "Answer",
    "Aside",
    "Asking",
    "Bridge",
    "Bus",
    "BusError",
    "Channel",
    "Claim",
    "Dedupe",
    "Hub",
    "HubMetrics",
    "IpRules",
    "JoinRefused",
    "JoinedLink",
    "JoinedSocket",
    "Joining",
    "JwtTokens",
    "Kind",
    "LinkBroken",
    "Membership",
    "Network",
    "NodeClaim",
    "NodeKey",
    "NodeSocket",
    "Opening",
    "Provider",
    "RecordKind",
    "RemoteNode",
    "RemoteRoom",
    "Replicas",
    "Room",
    "Rooms",
    "Share",
    "SharedRecords",
    "SocketRefused",
    "Users",
    "announce_again",
    "claim_room",
    "error_of",
    "find_remote",
    "greet",
    "joined",
    "listed",
    "load_key",
    "logged",
    "may_return",
    "open_replicas",
    "packed",
    "parse_address",
    "parse_aside",
    "plain_tool_name",
    "remote_rooms",
    "unpacked",
]
