"""What tests do on the screen of policy."""

from playwright.sync_api import Locator, expect

from tests.server_process import ServerProcess
from tests.web.browsing import Tab

RULES = """\
# what goes out is a person's
[[policy.rules]]
name = "no-publishing"
decide = "deny"
command = ["npm publish **"]
matches = ["cd pkg && npm publish --tag next"]
not_matches = ["npm pack"]
why = "a person <b>publishes</b>"

[[policy.rules]]
name = "tests-run"
decide = "allow"
command = ["make test"]

[[policy.rules]]
name = "deleting-tools"
decide = "ask"
tool = "mcp__*__delete_*"
"""

OTHER = '[policy]\nprofile = "guarded"\n\n'
"""A setting that stays as it is."""


def put_rules(server: ServerProcess, text: str) -> None:
    """As somebody else would, meanwhile."""
    base = server.client.get("/policy/rules/text")["hash"]
    server.client.put("/policy/rules/text", {"text": text, "base": base})


def row(tab: Tab, name: str) -> Locator:
    return tab.page.locator(f"[data-rule={name}]")


def answer(tab: Tab) -> Locator:
    return tab.page.locator("#answer")


def command(tab: Tab) -> Locator:
    return tab.page.get_by_label("A command line, or a tool")


def write(tab: Tab, text: str) -> None:
    """Change the text, and wait until it was judged."""
    tab.page.locator("#rules").fill(text)
    expect(tab.page.locator("#checked")).not_to_have_text("Checking…")


def open_text(tab: Tab) -> None:
    tab.goto("policy?view=text")
    expect(tab.page.locator("#rules")).to_have_value(RULES)
    expect(tab.page.locator("#checked")).to_have_text("As in the file")
