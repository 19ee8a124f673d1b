"""What the product can do, each thing said once, and the one path to it."""

from duetty.ops.dispatch import Dispatcher
from duetty.ops.operation import Operation, Route
from duetty.ops.services import Node, Services
from duetty.ops.table import OPERATIONS

__all__ = ["OPERATIONS", "Dispatcher", "Node", "Operation", "Route", "Services"]
