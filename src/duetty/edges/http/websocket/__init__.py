"""WebSockets of the HTTP edge: viewing, raw bytes, JSON per session and for the whole server."""

from duetty.edges.http.websocket.protocol import QuietWebSocket
from duetty.edges.http.websocket.routes import websocket_routes

__all__ = ["QuietWebSocket", "websocket_routes"]
