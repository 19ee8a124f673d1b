"""Sessions of machines that are away: their names, and since when nothing else is known of them."""

from duetty.calls import Actor
from duetty.ops.hub_routing import reachable
from duetty.ops.services import Services
from duetty.ops.shapes import time_text
from duetty.wire.results import SessionInfo


def away_sessions(actor: Actor, services: Services) -> list[SessionInfo]:
    """As they were last announced: the caller's own, and those that were shared with them."""
    now_ns = services.clock.wall_ns()
    return [
        SessionInfo(
            name=name,
            id=id_,
            server=each.node.name,
            pid=None,
            command="",
            rows=0,
            cols=0,
            clients=0,
            tags=[],
            last_activity_ms=max(0, now_ns - each.node.away_at_ns) // 1_000_000,
            state="unknown",
            state_known_by="nothing",
            integration="none",
            integration_reason=None,
            cwd="",
            title="",
            created_at="",
            exit_code=None,
            exit_signal=None,
            sandbox="none",
            workspace=None,
            foreground=None,
            terminal=None,
            background=None,
            degraded=each.node.reason,
            away_since=time_text(each.node.away_at_ns),
        )
        for each in reachable(actor, services)
        if each.node.away_at_ns is not None
        for id_, name in each.node.sessions.items()
        if each.actor.session_id in (None, id_)
    ]
