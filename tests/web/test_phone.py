"""On a phone: keys that its keyboard lacks, a line to write in, everything in reach of a thumb."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.browsing import PHONE, Tab
from tests.web.test_drawing import as_agent

pytestmark = [pytest.mark.browser, pytest.mark.pty]


@pytest.fixture(scope="module")
def window_options() -> dict[str, Any]:
    return {"viewport": PHONE, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


def test_a_line_is_written_and_sent(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    tab.page.get_by_label("Write here, then send").fill("echo from a phone")
    tab.page.get_by_role("button", name="Send").tap()

    tab.wait_text("s", "\nfrom a phone")


def test_keys_that_a_phone_lacks_are_there(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "cat -v"})
    tab.open("s")
    keys = tab.page.get_by_role("toolbar", name="Keys")

    keys.get_by_role("button", name="Escape").tap()
    keys.get_by_role("button", name="Up").tap()
    keys.get_by_role("button", name="Ctrl", exact=True).tap()
    keys.get_by_role("button", name="Left").tap()
    tab.page.get_by_role("button", name="Send").tap()

    tab.wait_text("s", "^[^[[A^[[1;5D")


def test_of_several_panes_the_one_with_the_attention_fills_the_screen(tab: Tab) -> None:
    for name in ("one", "two"):
        tab.server.client.post("/sessions", {"name": name, "command": "bash"})
    tab.open("one")
    tab.press("Control+Shift+|")
    tab.page.get_by_role("option", name="two").tap()
    tab.wait_ready("two")

    expect(tab.page.locator("[data-pane=one]")).to_be_hidden()
    box = tab.page.locator("[data-pane=two]").bounding_box()
    assert box is not None
    assert box["width"] == PHONE["width"]
    tab.page.get_by_role("button", name="one", exact=True).tap()

    expect(tab.page.locator("[data-pane=one]")).to_be_visible()
    expect(tab.page.locator("[data-pane=two]")).to_be_hidden()


def test_a_session_is_made_readable_by_one_tap(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash", "cols": 120, "rows": 40})
    tab.open("s")
    assert tab.view("s", "view.term.options.fontSize") < 8

    tab.page.get_by_role("button", name="Fit", exact=True).tap()

    tab.page.wait_for_function("() => duettyViews.get('s').term.options.fontSize === 14")


def test_how_a_session_ended_is_told_in_lines_not_in_a_column_of_words(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    tab.server.client.write("/sessions/s/input", b"exit 3\n")
    told = tab.page.get_by_text("The process ended with code 3")
    expect(told).to_be_visible()

    box = told.bounding_box()

    assert box is not None
    assert box["width"] > PHONE["width"] / 2


def test_who_has_the_keys_is_told_whole(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    with as_agent(tab.server, "claude") as agent:
        agent.post("/sessions/s/input/capture", json={}).raise_for_status()
    told = tab.page.get_by_role("alert").locator("span", has_text="Esc twice takes them back")
    expect(told).to_be_visible()

    assert told.evaluate("(each) => each.scrollWidth <= each.clientWidth")


def test_nothing_is_wider_than_the_screen(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash", "cols": 120, "rows": 40})
    for path in ("", "s/s", "history", "recordings", "recordings/s", "share", "settings"):
        tab.goto(path)
        tab.wait_still()

        assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_what_is_tapped_is_large_enough_for_a_finger(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    small = tab.page.evaluate(
        """() => [...document.querySelectorAll('button, a[href], input')]
          .filter((each) => each.offsetParent && !each.closest('.xterm') && !each.closest('[class]')?.matches('[aria-label="Commands in sight"] *'))
          .map((each) => [each.getBoundingClientRect(), each.ariaLabel ?? each.textContent])
          .filter(([box]) => box.width && box.height < 40)
          .map(([box, name]) => `${name} ${Math.round(box.height)}`)"""
    )

    assert small == []


def test_screens_are_reached_from_the_bottom(tab: Tab) -> None:
    tab.goto()
    expect(tab.page.get_by_role("heading", name="No session yet")).to_be_visible()

    screens = tab.page.get_by_role("navigation", name="Screens")
    screens.get_by_role("link", name="History").tap()
    expect(tab.page.get_by_role("heading", name="History")).to_be_visible()
    screens.get_by_role("button", name="More screens").tap()
    tab.page.get_by_role("menuitem", name="Settings").tap()

    expect(tab.page.get_by_role("heading", name="Settings")).to_be_visible()
