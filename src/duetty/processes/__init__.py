"""Commands without a terminal: a process of their own with pipes, and its output on disk.

Knows nothing of sessions, callers or rules.
"""

from duetty.processes.output import Output
from duetty.processes.process import PROVEN_PATH, Limits, Order, Process
from duetty.processes.processes import Processes

__all__ = ["PROVEN_PATH", "Limits", "Order", "Output", "Process", "Processes"]
