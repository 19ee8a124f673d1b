"""The browser page."""

from duetty.edges.web.page import page

__all__ = ["page"]
