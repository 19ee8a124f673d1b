"""Operations, each defined once, and the one path of a call to them.

Knows everything below, and nothing of the edges: a call is the same, however it came.
"""

from duetty.approvals import UNUSABLE, Answer, HostAsk, choices
from duetty.events import Entry, Lagged
from duetty.hub import (
    PART_BYTES,
    JoinedSocket,
    JwtTokens,
    Kind,
    NodeSocket,
    Opening,
    RemoteNode,
    Room,
    logged,
    packed,
    plain_tool_name,
    unpacked,
)
from duetty.ops.access import BROWSER_S, Access, Live
from duetty.ops.agent_hands import AgentHands
from duetty.ops.approval_feed import ApprovalFeed, approval_shape
from duetty.ops.bounds import Bounds
from duetty.ops.contract import cut_off_failure
from duetty.ops.dispatch import Dispatcher, UnknownOperation
from duetty.ops.documents import Stream
from duetty.ops.event_shapes import entry_shape, lifecycle_shape
from duetty.ops.fairness import (
    GREEDY_S,
    LOOP_AT_ONCE_S,
    LOOP_SHARE,
    MAX_OWED_S,
    Allowance,
    Bucket,
    Fairness,
    is_free,
    timed,
)
from duetty.ops.follow import Captures, ShownSize, View, Watch
from duetty.ops.guardrail.decision_path import Deciding
from duetty.ops.hub_callers import HubCall, hub_actor
from duetty.ops.hub_routing import Reachable
from duetty.ops.joined_nodes import LinkClosed
from duetty.ops.operation import Operation, Route
from duetty.ops.oversight import Oversight, open_oversight
from duetty.ops.page_opening import PageOpening
from duetty.ops.permits import permit
from duetty.ops.rooms import room_candidates
from duetty.ops.selection import SESSION_HEADER
from duetty.ops.services import Node, Services
from duetty.ops.sessions import selected
from duetty.ops.shares import Shares
from duetty.ops.table import OPERATIONS
from duetty.store import ApprovalRecord
from duetty.upstreams import Progress

__all__ = [
    "BROWSER_S",
    "GREEDY_S",
    "LOOP_AT_ONCE_S",
    "LOOP_SHARE",
    "MAX_OWED_S",
    "OPERATIONS",
    "PART_BYTES",
    "SESSION_HEADER",
    "UNUSABLE",
    "Access",
    "AgentHands",
    "Allowance",
    "Answer",
    "ApprovalFeed",
    "ApprovalRecord",
    "Bounds",
    "Bucket",
    "Captures",
    "Deciding",
    "Dispatcher",
    "Entry",
    "Fairness",
    "HostAsk",
    "HubCall",
    "JoinedSocket",
    "JwtTokens",
    "Kind",
    "Lagged",
    "LinkClosed",
    "Live",
    "Node",
    "NodeSocket",
    "Opening",
    "Operation",
    "Oversight",
    "PageOpening",
    "Progress",
    "Reachable",
    "RemoteNode",
    "Room",
    "Route",
    "Services",
    "Shares",
    "ShownSize",
    "Stream",
    "UnknownOperation",
    "View",
    "Watch",
    "approval_shape",
    "choices",
    "cut_off_failure",
    "entry_shape",
    "hub_actor",
    "is_free",
    "lifecycle_shape",
    "logged",
    "open_oversight",
    "packed",
    "permit",
    "plain_tool_name",
    "room_candidates",
    "selected",
    "timed",
    "unpacked",
]
