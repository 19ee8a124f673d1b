"""The sandbox: what a session's shell is started in, so that it can do less.

The boundary, where policy is the guardrail: it wraps the whole shell, never a
single command in a bare one. Says which level there is; asking for what cannot
be had is an error. `platform/sandbox_launch.py` is a program of its own (standard library only)
for machines without user namespaces.

Knows nothing of sessions, calls or rules.
"""

from duetty.sandbox.detect import Support, inner_pid, support
from duetty.sandbox.repository_checks import Disorder, disorders
from duetty.sandbox.request import (
    REQUESTED_LEVELS,
    Level,
    Limits,
    Places,
    RequestedLevel,
    SandboxRequest,
    Wrapped,
)
from duetty.sandbox.wrap import wrap

__all__ = [
    "REQUESTED_LEVELS",
    "Disorder",
    "Level",
    "Limits",
    "Places",
    "RequestedLevel",
    "SandboxRequest",
    "Support",
    "Wrapped",
    "disorders",
    "inner_pid",
    "support",
    "wrap",
]
