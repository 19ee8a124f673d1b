"""One command as the terminal saw it, and what a session is doing."""

from duetty.blocks.state import KnownBy, Probe, State, derive_state
from duetty.blocks.tracker import BlockTracker, Closed, Opened, Phase, Progress

__all__ = [
    "BlockTracker",
    "Closed",
    "KnownBy",
    "Opened",
    "Phase",
    "Probe",
    "Progress",
    "State",
    "derive_state",
]
