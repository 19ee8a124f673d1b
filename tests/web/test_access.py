"""axe-core finds nothing serious, on any screen, in any theme."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.server_process import ServerProcess
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


def findings(tab: Tab) -> list[str]:
    tab.page.add_script_tag(path=AXE)
    result: dict[str, Any] = tab.page.evaluate(
        "() => axe.run(document, {resultTypes: ['violations']})"
    )
    return [
        f"{each['id']} ({each['impact']}): {node['html'][:160]} {[check.get('message') for check in node['any'][:1]]}"
        for each in result["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]


@pytest.mark.parametrize("theme", ["dark", "light", "contrast"])
def test_no_screen_has_a_serious_finding(tab: Tab, theme: str) -> None:
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
    tab.goto("settings")
    tab.page.locator("#theme").select_option(theme)
    problems: list[str] = []
    for path in ("", "s/s", "s/gone", "history", "recordings", "recordings/s", "share", "settings"):
        tab.goto(path)
        expect(tab.page.locator("#connection")).to_have_attribute("data-is", "live")
        tab.page.wait_for_timeout(700)
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
        tab.page.wait_for_timeout(300)
        problems += [f"{keys}: {each}" for each in findings(tab)]
        tab.press("Escape")
        tab.page.wait_for_selector(what, state="detached")

    assert problems == []
