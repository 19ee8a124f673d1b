"""The browser page: files that were built from `web/`, or one that says how to build them.

Knows files and their headers; nothing of sessions, which the page asks for itself.
"""

from duetty.edges.web.page import POLICY, PageApp

__all__ = ["POLICY", "PageApp"]
