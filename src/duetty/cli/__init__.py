"""The command line: commands, the attached terminal, and the bridge for MCP hosts.

Speaks to a server over its unix socket. Knows nothing of sessions or operations themselves.
"""
