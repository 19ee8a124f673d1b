"""The names that rules of policy can be about: those that judged calls have."""

from duetty.calls import DIALECTS
from duetty.ops.table import OPERATIONS
from duetty.policy import Names

RULE_NAMES = Names(
    # What is composed of others is never judged itself: its steps are, each by its own name.
    operations=frozenset(name for name, each in OPERATIONS.items() if not each.composed),
    dialects=frozenset(DIALECTS),
)
