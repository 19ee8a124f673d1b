"""The vocabularies that this server speaks.

A dialect knows names and shapes of tools, and no logic: each tool is calls of operations.
"""

from collections.abc import Mapping

from duetty.edges.mcp.dialect import Dialect
from duetty.edges.mcp.dialects.command import COMMAND
from duetty.edges.mcp.dialects.elwood import ELWOOD
from duetty.edges.mcp.dialects.gateway import GATEWAY
from duetty.edges.mcp.dialects.rooms import FRONT, ROOMS
from duetty.edges.mcp.dialects.terminal import TERMINAL
from duetty.edges.mcp.dialects.wsh import WSH

DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect for dialect in (WSH, COMMAND, TERMINAL, ELWOOD, GATEWAY, ROOMS, FRONT)
}
"""By name, the default one first."""
