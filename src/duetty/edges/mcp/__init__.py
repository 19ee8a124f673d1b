"""The MCP edge: operations as tools and resources, over HTTP and over a unix socket.

Knows names, shapes and eras of the protocol; what an operation does is none of its business.
"""

from duetty.edges.mcp.edge import LOCAL, McpEdge
from duetty.edges.mcp.resource_metadata import PATHS as PROTECTED_PATHS
from duetty.edges.mcp.resource_metadata import ProtectedResource

MCP_HOST = LOCAL.actor
"""Who comes by the bridge."""

__all__ = ["MCP_HOST", "PROTECTED_PATHS", "McpEdge", "ProtectedResource"]
