"""WebSockets of the HTTP edge: viewing, raw bytes, JSON per session and for the whole server.

Knows frames and flow; nothing of terminals: a view gives it bytes and takes keys.
"""

from duetty.edges.http.websocket.protocol import QuietWebSocket
from duetty.edges.http.websocket.routes import websocket_routes

__all__ = ["QuietWebSocket", "websocket_routes"]
