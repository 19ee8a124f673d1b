"""What the product can do, each thing said once, and the one path to it."""

from duetty.approvals import Answer, HostAsk
from duetty.events import Entry, Lagged
from duetty.ops.access import BROWSER_S, Access, Live
from duetty.ops.deciding import Deciding
from duetty.ops.dispatch import Dispatcher, UnknownOperation
from duetty.ops.event_shapes import entry_shape, lifecycle_shape
from duetty.ops.follow import Captures, ShownSize, View, Watch
from duetty.ops.operation import Operation, Route
from duetty.ops.page_opening import PageOpening
from duetty.ops.permits import permit
from duetty.ops.policing import Policing, policing
from duetty.ops.services import Node, Services
from duetty.ops.stream import Stream
from duetty.ops.table import OPERATIONS
from duetty.store import ApprovalRecord

__all__ = [
    "BROWSER_S",
    "OPERATIONS",
    "Access",
    "Answer",
    "ApprovalRecord",
    "Captures",
    "Deciding",
    "Dispatcher",
    "Entry",
    "HostAsk",
    "Lagged",
    "Live",
    "Node",
    "Operation",
    "PageOpening",
    "Policing",
    "Route",
    "Services",
    "ShownSize",
    "Stream",
    "UnknownOperation",
    "View",
    "Watch",
    "entry_shape",
    "lifecycle_shape",
    "permit",
    "policing",
]
