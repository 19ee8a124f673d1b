"""The terminal contract: one request shape, four actions, ten failures, over our operations.

`compat` puts older words into canonical ones and is the only place that knows them;
`request` checks, `headless_rules` keeps headless strict, `routes` chooses the path. Each effect
is a call of another operation, so policy, approvals and the trail see it.

Knows no session's parts but to wait for them, and nothing of edges.
"""

from duetty.ops.contract.act import ACT, cut_off_failure
from duetty.ops.contract.failures import FAILURES, TerminalFailure

__all__ = ["ACT", "FAILURES", "TerminalFailure", "cut_off_failure"]
