"""The trail: what was called, decided, asked, answered, and how it ended.

Append-only files of JSON lines, each line with the hash of the one before it, so
that a changed, missing or moved record is found and named. Knows nothing of
policy or approvals: callers hand in facts, and it keeps them in order.
"""

from duetty.audit.queries import Filters, Problem, Verified, export, records, verify
from duetty.audit.record import MAX_TEXT, Record
from duetty.audit.trail import Limits, Trail

__all__ = [
    "MAX_TEXT",
    "Filters",
    "Limits",
    "Problem",
    "Record",
    "Trail",
    "Verified",
    "export",
    "records",
    "verify",
]
