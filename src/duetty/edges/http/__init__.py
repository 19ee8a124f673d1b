"""The HTTP edge: routes made from the operation table, WebSockets, sign-in, limits.

Knows requests and answers; what an operation does is none of its business.
"""

from duetty.edges.http.app import make_app
from duetty.edges.http.auth import Guard, check_origin
from duetty.edges.http.errors import error_response
from duetty.edges.http.limits import is_loopback
from duetty.edges.http.listeners import bound_sockets, tls_context, unix_socket, url_of
from duetty.edges.http.origins import Origins, origins
from duetty.edges.http.peer import PeerCheckedProtocol, is_own_user

__all__ = [
    "Guard",
    "Origins",
    "PeerCheckedProtocol",
    "bound_sockets",
    "check_origin",
    "error_response",
    "is_loopback",
    "is_own_user",
    "make_app",
    "origins",
    "tls_context",
    "unix_socket",
    "url_of",
]
