"""Code that uses a running server.

Knows addresses, requests and errors; nothing of how the server does its work.
"""

from duetty.client.client import Client, HubClient, RemoteError, session_path

__all__ = ["Client", "HubClient", "RemoteError", "session_path"]
