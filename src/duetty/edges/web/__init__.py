"""The browser page: files that were built from `web/`, or one that says how to build them."""

from duetty.edges.web.page import POLICY, PageApp

__all__ = ["POLICY", "PageApp"]
