"""Code that uses a running server."""

from duetty.client.client import Client, RemoteError, session_path

__all__ = ["Client", "RemoteError", "session_path"]
