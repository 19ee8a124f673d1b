"""One command as the terminal saw it, and what a session is doing.

Pure: marks and facts in, blocks and states out. Knows nothing of files, processes or time.
"""

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
