"""Where the WebSockets are."""

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.routing import WebSocketRoute

from duetty.edges.http.auth import Guard
from duetty.edges.http.websocket.json_server import json_server_endpoint
from duetty.edges.http.websocket.json_session import json_session_endpoint
from duetty.edges.http.websocket.raw import raw_endpoint
from duetty.edges.http.websocket.socket import Doors
from duetty.edges.http.websocket.view import view_endpoint
from duetty.ops import Dispatcher


def websocket_routes(
    dispatcher: Dispatcher, guard: Guard, stopping: Callable[[], Awaitable[object]]
) -> list[WebSocketRoute]:
    doors = Doors(dispatcher, guard, stopping)
    return [
        WebSocketRoute("/ws/view", partial(view_endpoint, doors)),
        WebSocketRoute("/ws/json", partial(json_server_endpoint, doors)),
        WebSocketRoute("/sessions/{session}/ws/json", partial(json_session_endpoint, doors)),
        WebSocketRoute("/sessions/{session}/ws/raw", partial(raw_endpoint, doors)),
    ]
