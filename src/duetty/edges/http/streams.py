"""What is followed rather than asked: WebSockets and server-sent events, as the API's description
tells them. `STREAMS` is the list that the routes are held against.
"""

from dataclasses import dataclass
from typing import Any, Literal

from duetty.edges.http.websocket.feed import EVENT_WORDS, MAX_IDLE_MS, MAX_INTERVAL_MS
from duetty.edges.http.websocket.methods import METHODS

Json = dict[str, Any]

_ID: Json = {"description": "given back as it was; left out when there was none"}
_OBJECT: Json = {"type": "object"}

SCHEMAS: Json = {
    "SocketRequest": {
        "type": "object",
        "required": ["method"],
        "properties": {
            "id": _ID,
            "method": {
                "type": "string",
                "description": "an operation's own name, or one of the published ones",
                "examples": ["subscribe", *METHODS],
            },
            "params": _OBJECT,
            "session": {"type": "string", "description": "on /ws/json: the session that is meant"},
        },
    },
    "SocketAnswer": {
        "type": "object",
        "required": ["method"],
        "properties": {
            "id": _ID,
            "method": {"type": "string"},
            "session": {"type": "string"},
            "result": {},
            "error": {"type": "object", "required": ["code", "message"]},
        },
        "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
    },
    "SessionEvent": {
        "type": "object",
        "description": "docs/events.md and docs/websocket.md tell the fields of each",
        "required": ["event"],
        "properties": {
            "event": {"type": "string", "examples": ["sync", "line", "state", "block", "exit"]},
            "seq": {"type": "integer", "minimum": 0},
            "at_ms": {"type": "integer", "description": "wall clock"},
            "session": {"type": "string", "description": "on /ws/json"},
        },
    },
    "ServerEvent": {
        "type": "object",
        "required": ["event", "params"],
        "properties": {
            "event": {
                "type": "string",
                "examples": ["session_created", "session_destroyed", "sessions", "approval"],
            },
            "params": _OBJECT,
        },
    },
    "Lagged": {
        "type": "object",
        "description": "events were dropped for one that was too slow; a whole state follows",
        "required": ["type", "skipped"],
        "properties": {
            "type": {"enum": ["lagged", "input_lagged"]},
            "skipped": {"type": "integer", "minimum": 1},
            "session": {"type": "string"},
        },
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRoute:
    name: str
    path: str
    kind: Literal["websocket", "events"]
    summary: str
    messages: tuple[str, ...]
    """Schemas of what comes from the server; none where it is bytes."""

    asked: tuple[str, ...] = ()
    """Schemas of what a client says."""

    query: tuple[tuple[str, Json], ...] = ()
    needs: str = "Needs the scope `read`; what is sent needs the scope of its operation."
    is_relayed: bool = True
    """Whether `server` may name another server."""


def _whole_number(most: int) -> Json:
    return {"type": "integer", "minimum": 0, "maximum": most}


_SUBSCRIPTION: tuple[tuple[str, Json], ...] = (
    (
        "events",
        {"type": "string", "description": f"comma list of {', '.join(EVENT_WORDS)}"},
    ),
    ("format", {"enum": ["styled", "plain"], "default": "styled"}),
    ("interval_ms", _whole_number(MAX_INTERVAL_MS)),
    ("idle_timeout_ms", _whole_number(MAX_IDLE_MS)),
)

STREAMS = (
    StreamRoute(
        name="stream.events",
        path="/events",
        kind="events",
        summary="Every change of the list of sessions, and questions to a person, as they happen.",
        messages=("ServerEvent",),
    ),
    StreamRoute(
        name="stream.session_events",
        path="/sessions/{session}/events",
        kind="events",
        summary="What happens in a session, as it happens.",
        messages=("SessionEvent", "Lagged"),
        query=_SUBSCRIPTION,
    ),
    StreamRoute(
        name="stream.view",
        path="/ws/view",
        kind="websocket",
        summary="Sessions as a page or an attached terminal shows them (docs/viewing.md).",
        messages=(),
    ),
    StreamRoute(
        name="stream.json",
        path="/ws/json",
        kind="websocket",
        summary="Every operation as a method, events of any session, changes of their list.",
        messages=("SocketAnswer", "SessionEvent", "ServerEvent", "Lagged"),
        asked=("SocketRequest",),
    ),
    StreamRoute(
        name="stream.session_json",
        path="/sessions/{session}/ws/json",
        kind="websocket",
        summary="Methods and events of one session.",
        messages=("SocketAnswer", "SessionEvent", "Lagged"),
        asked=("SocketRequest",),
    ),
    StreamRoute(
        name="stream.session_raw",
        path="/sessions/{session}/ws/raw",
        kind="websocket",
        summary="A session's screen and then its bytes; what is sent is typed.",
        messages=(),
        query=(("flow", {"enum": ["none", "ack"], "default": "none"}),),
    ),
    StreamRoute(
        name="stream.node",
        path="/ws/node",
        kind="websocket",
        summary="A machine that joins this hub, and serves its requests.",
        messages=(),
        needs="Needs the scope `join`.",
        is_relayed=False,
    ),
    StreamRoute(
        name="stream.room",
        path="/ws/room",
        kind="websocket",
        summary="A program that announces tools, and is called (docs/rooms.md).",
        messages=(),
        needs="Needs the scope `join`.",
        is_relayed=False,
    ),
)
