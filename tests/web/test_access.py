"""axe-core finds nothing serious, on any screen, in any theme."""

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.server_process import ServerProcess
from tests.web.agent import Mcp
from tests.web.axe import WINDOW, findings
from tests.web.browsing import Tab, browsing

pytestmark = [pytest.mark.browser, pytest.mark.pty]


@pytest.fixture(scope="module")
def window_options() -> dict[str, Any]:
    return WINDOW


MAIN = ("", "s/s", "history", "approvals")
OTHERS = (
    *("s/gone", "recordings", "recordings/s", "share", "settings"),
    *("approvals/none", "audit", "audit?session=s&decision=deny"),
)


@pytest.mark.parametrize("paths", [MAIN, pytest.param(OTHERS, marks=pytest.mark.slow)])
def test_no_screen_has_a_serious_finding(tab: Tab, paths: tuple[str, ...]) -> None:
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
    for path in paths:
        tab.goto(path)
        expect(tab.page.locator("#connection")).to_have_attribute("data-is", "live")
        tab.wait_still()
        problems += [f"{path}: {each}" for each in findings(tab)]

    assert problems == []


def test_the_way_in_has_no_serious_finding(browser: Browser, server: ServerProcess) -> None:
    with browsing(browser, server, sign_in=False, **WINDOW) as tab:
        tab.goto()
        expect(tab.page.get_by_role("heading", name="Sign in to Duetty")).to_be_visible()

        assert findings(tab) == []


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
        decline = card.get_by_role("button", name="Decline")
        expect(decline).to_have_attribute("aria-disabled", "false")
        expect(decline).to_have_css("opacity", "1")
        problems = findings(tab)
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


def test_nothing_moves_for_who_asks_for_reduced_motion(
    browser: Browser, server: ServerProcess
) -> None:
    server.client.post("/sessions", {"name": "busy", "command": "sleep 1000"})
    with browsing(browser, server, reduced_motion="reduce") as tab:
        tab.goto()
        expect(tab.page.locator('[data-state="running"]').first).to_be_visible()
        tab.wait_still()

        moving = (
            "() => document.getAnimations().filter((each) => each.playState === 'running').length"
        )
        assert tab.page.evaluate(moving) == 0
