"""Upstreams: MCP servers that this node is client of, supervised, pinned and kept apart.

Their words are never trusted: not what a tool is called, not what it says of itself,
not what it answers. A person accepts a tool as it is; one that changes waits again.

Knows nothing of sessions or operations; who may call a tool was decided before.
"""

from duetty.tool_schemas import problem_of
from duetty.upstreams.link import LEVELS, Progress, Surroundings, Timing
from duetty.upstreams.projects import Accepted, Offer, OfferNotFound, offers_for
from duetty.upstreams.questions import Question
from duetty.upstreams.search import Index, lead_of
from duetty.upstreams.tools import Tool, shown
from duetty.upstreams.upstream import Asking, Upstream
from duetty.upstreams.upstream_settings import Address, Program, UpstreamOrder, load_upstreams
from duetty.upstreams.upstreams import LogMessage, Upstreams, no_upstreams, open_upstreams

__all__ = [
    "LEVELS",
    "Accepted",
    "Address",
    "Asking",
    "Index",
    "LogMessage",
    "Offer",
    "OfferNotFound",
    "Program",
    "Progress",
    "Question",
    "Surroundings",
    "Timing",
    "Tool",
    "Upstream",
    "UpstreamOrder",
    "Upstreams",
    "lead_of",
    "load_upstreams",
    "no_upstreams",
    "offers_for",
    "open_upstreams",
    "problem_of",
    "shown",
]
