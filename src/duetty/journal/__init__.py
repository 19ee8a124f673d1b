"""The journal: the bytes a session printed, on disk, numbered by absolute offset.

A directory holds one journal:

    <base>.segment    a header page, then bytes from offset `base` on
    <base>.snapshot   the terminal as it was at `base`; the first segment has none
    index             when which offset was read, and every change of size

What is promised: a server killed with SIGKILL at any instant loses no byte it
took from the PTY. The kernel copies from the PTY straight into a shared mapping
of the segment, so there is no moment at which a byte is only in our memory.
What is not: nothing is synced, so a power cut may cost the last seconds.

Nothing here knows what the bytes mean, who reads them, or when a snapshot is due
for any reason but size.
"""

from duetty.journal.asciicast import asciicast
from duetty.journal.extents import Span
from duetty.journal.index import Moment, Size
from duetty.journal.intake import AHEAD_BYTES, Intake, ReadEnd
from duetty.journal.journal import Filled, Journal, Repairs, Tail
from duetty.journal.snapshot import MAX_SNAPSHOT_BYTES, Snapshot

__all__ = [
    "AHEAD_BYTES",
    "MAX_SNAPSHOT_BYTES",
    "Filled",
    "Intake",
    "Journal",
    "Moment",
    "ReadEnd",
    "Repairs",
    "Size",
    "Snapshot",
    "Span",
    "Tail",
    "asciicast",
]
