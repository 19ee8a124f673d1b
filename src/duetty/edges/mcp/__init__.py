"""The MCP edge: operations as tools and resources, over HTTP and over a unix socket."""

from duetty.edges.mcp.edge import McpEdge
from duetty.edges.mcp.protected import PATHS as PROTECTED_PATHS
from duetty.edges.mcp.protected import ProtectedResource

__all__ = ["PROTECTED_PATHS", "McpEdge", "ProtectedResource"]
