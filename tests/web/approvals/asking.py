"""An agent that asks, and a person who answers on a card of the page."""

from typing import Any

from playwright.sync_api import Locator, expect

from tests.server_process import ServerProcess
from tests.web.agent import Mcp
from tests.web.browsing import Tab

RULES = """
[[policy.rules]]
name = "touching"
decide = "ask"
command = ["touch **"]

[[policy.rules]]
name = "never"
decide = "deny"
command = ["mkfifo **"]
"""


def ask(agent: Mcp, line: str, session: str = "s") -> int:
    return agent.begin("wsh_run_command", {"session": session, "input": line})


def card(tab: Tab) -> Locator:
    return tab.page.locator("[data-approval]")


def decline(tab: Tab) -> Locator:
    """Not enabled before the card takes an answer."""
    return card(tab).get_by_role("button", name="Decline")


def inbox(tab: Tab) -> None:
    """The empty inbox: once it says so, this page can be asked."""
    tab.goto("approvals")
    expect(tab.page.get_by_text("Nothing waits for you")).to_be_visible()


def waiting(server: ServerProcess) -> list[dict[str, Any]]:
    return server.client.get("/approvals")["approvals"]


def answered(tab: Tab, button: str, within: Locator | None = None) -> None:
    """Press a button of a card; the click waits until the card says that it takes an answer."""
    (within or card(tab)).get_by_role("button", name=button).click()
