"""Where calls come in and entries go out: HTTP, MCP, the page.

An edge knows `ops` and nothing behind it, and no other edge.
"""
