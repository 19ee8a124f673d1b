"""Where the WebSockets are."""

from functools import partial

from starlette.routing import WebSocketRoute

from duetty.edges.http.auth import Guard
from duetty.edges.http.stopping import Stopping
from duetty.edges.http.websocket.json_server import json_server_endpoint
from duetty.edges.http.websocket.json_session import json_session_endpoint
from duetty.edges.http.websocket.node import node_endpoint
from duetty.edges.http.websocket.raw import raw_endpoint
from duetty.edges.http.websocket.relay import or_relayed
from duetty.edges.http.websocket.room import room_endpoint
from duetty.edges.http.websocket.socket import Doors
from duetty.edges.http.websocket.view import view_endpoint
from duetty.ops import Dispatcher


def websocket_routes(
    dispatcher: Dispatcher, guard: Guard, stopping: Stopping
) -> list[WebSocketRoute]:
    doors = Doors(dispatcher, guard, stopping)
    session = "/sessions/{session}/ws"
    every = {
        "/ws/view": or_relayed(view_endpoint, kind="view"),
        "/ws/json": or_relayed(json_server_endpoint, kind=None),
        f"{session}/json": or_relayed(json_session_endpoint, kind="json"),
        f"{session}/raw": or_relayed(raw_endpoint, kind="raw"),
    }
    every["/ws/node"] = node_endpoint
    every["/ws/room"] = room_endpoint
    return [WebSocketRoute(path, partial(endpoint, doors)) for path, endpoint in every.items()]
