"""The HTTP edge."""

from duetty.edges.http.app import make_app
from duetty.edges.http.auth import Guard, digest
from duetty.edges.http.peer import PeerCheckedProtocol

__all__ = ["Guard", "PeerCheckedProtocol", "digest", "make_app"]
