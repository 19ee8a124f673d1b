"""The MCP edge: operations as tools and resources, over HTTP and over a unix socket."""

from duetty.edges.mcp.edge import McpEdge

__all__ = ["McpEdge"]
