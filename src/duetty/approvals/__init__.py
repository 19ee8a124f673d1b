"""Approvals: a question put to a person, and its answer.

Knows nothing of policy or operations: callers hand in questions; it asks
the people who are connected, and ends each question exactly once.
"""

from duetty.approvals.desk import MAX_PENDING, ApprovalEntry, Approvals, Granted
from duetty.approvals.question import UNUSABLE, Answer, Edited, HostAsk, Question, may_see
from duetty.approvals.scopes import Choice, choices

__all__ = [
    "MAX_PENDING",
    "UNUSABLE",
    "Answer",
    "ApprovalEntry",
    "Approvals",
    "Choice",
    "Edited",
    "Granted",
    "HostAsk",
    "Question",
    "choices",
    "may_see",
]
