"""The HTTP edge."""

from duetty.edges.http.app import make_app
from duetty.edges.http.auth import Guard, digest
from duetty.edges.http.errors import error_response
from duetty.edges.http.peer import PeerCheckedProtocol, is_own_user

__all__ = ["Guard", "PeerCheckedProtocol", "digest", "error_response", "is_own_user", "make_app"]
