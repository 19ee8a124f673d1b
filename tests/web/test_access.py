"""axe-core finds nothing serious, on any screen, in any theme."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.server_process import ServerProcess
from tests.web.agent import Mcp
from tests.web.browsing import Tab, browsing

pytestmark = [pytest.mark.browser, pytest.mark.pty]

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"


@pytest.fixture
def tab(browser: Browser, server: ServerProcess) -> Iterator[Tab]:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: cd web && npm ci")
    # axe is put into the page from outside, which its policy forbids to everybody else.
    with browsing(browser, server, bypass_csp=True) as opened:
        yield opened


COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules whose answer a theme can change: themes are nothing but colours."""


def findings(tab: Tab) -> list[str]:
    """On the screen as it stands: everything in the dark theme, and colours in each of the others."""
    problems = _findings(tab, "dark", {})
    for theme in ("light", "contrast"):
        _put_theme(tab, theme)
        problems += _findings(tab, theme, {"runOnly": COLOURS})
    _put_theme(tab, "dark")
    return problems


def _put_theme(tab: Tab, theme: str) -> None:
    """As when it is chosen in another window, so that the screen stays as it is."""
    tab.page.evaluate(
        """(theme) => {
          localStorage.setItem("duetty.prefs", JSON.stringify({theme}));
          dispatchEvent(new StorageEvent("storage", {key: "duetty.prefs"}));
        }""",
        theme,
    )
    assert tab.page.evaluate("document.documentElement.dataset.theme") == theme
    tab.wait_still()


def _findings(tab: Tab, theme: str, options: dict[str, Any]) -> list[str]:
    if not tab.page.evaluate("'axe' in window"):
        tab.page.add_script_tag(path=AXE)
    result: dict[str, Any] = tab.page.evaluate(
        "(options) => axe.run(document, options)", {"resultTypes": ["violations"], **options}
    )
    return [
        f"{theme}: {each['id']} ({each['impact']}): {node['html'][:160]} {[check.get('message') for check in node['any'][:1]]}"
        for each in result["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]


def test_no_screen_has_a_serious_finding(tab: Tab) -> None:
    client = tab.server.client
    client.post("/sessions", {"name": "s", "command": "bash", "tags": ["ci"]})
    client.post("/sessions/s/run", {"input": "echo hello; false"})
    client.post("/sessions", {"name": "gone", "command": "false"})
    client.post(
        "/sessions/s/overlay",
        {"x": 20, "y": 5, "width": 20, "height": 2, "spans": [{"text": "drawn"}]},
    )
    client.post(
        "/sessions/s/panel", {"position": "bottom", "height": 1, "spans": [{"text": "panel"}]}
    )
    problems: list[str] = []
    for path in (
        *("", "s/s", "s/gone", "history", "recordings", "recordings/s", "share", "settings"),
        *("approvals", "approvals/none", "audit", "audit?session=s&decision=deny"),
    ):
        tab.goto(path)
        expect(tab.page.locator("#connection")).to_have_attribute("data-is", "live")
        tab.wait_still()
        problems += [f"{path}: {each}" for each in findings(tab)]

    assert problems == []


def test_dialogs_and_views_have_no_serious_finding(tab: Tab) -> None:
    client = tab.server.client
    client.post("/sessions", {"name": "s", "command": "bash"})
    client.post("/sessions/s/run", {"input": "echo hello"})
    tab.open("s")
    problems: list[str] = []
    for keys, what in (
        ("Control+Shift+K", "dialog"),
        ("Control+Shift+E", "dialog"),
        ("Control+Shift+F", "search"),
        ("Control+Shift+X", "#text-view"),
    ):
        tab.press(keys)
        tab.page.wait_for_selector(what)
        tab.wait_still()
        problems += [f"{keys}: {each}" for each in findings(tab)]
        tab.press("Escape")
        tab.page.wait_for_selector(what, state="detached")

    assert problems == []


def test_a_question_to_a_person_has_no_serious_finding(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    card = tab.page.locator("[data-approval]")
    with Mcp(tab.server) as agent:
        call = agent.begin("wsh_run_command", {"session": "s", "input": "rm -rf b\u202eild \u0430"})
        expect(card).to_be_visible()
        problems = findings(tab)
        tab.page.wait_for_timeout(450)
        card.get_by_role("button", name="Edit").click()
        problems += findings(tab)
        card.get_by_role("button", name="Decline").click()
        expect(card).to_contain_text("Declined by you")
        problems += findings(tab)
        agent.answer(call)
        tab.goto("approvals")
        expect(tab.page.locator("#answered")).to_be_visible()
        problems += findings(tab)

    assert problems == []
