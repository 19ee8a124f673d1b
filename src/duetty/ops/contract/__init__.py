"""The terminal contract: one request shape, four actions, ten failures, over our operations.

`compat` puts older words into canonical ones and is the only place that knows them;
`request` checks, `gate` keeps headless strict, `routing` chooses the path. What is done
is done by calls of other operations, so policy, approvals and the trail see each of them.

Knows no session's parts but to wait for them, and nothing of edges.
"""

from duetty.ops.contract.act import ACT, cut_off_failure
from duetty.ops.contract.failures import FAILURES, TerminalFailure

__all__ = ["ACT", "FAILURES", "TerminalFailure", "cut_off_failure"]
