"""On a phone: keys that its keyboard lacks, a line to write in, everything in reach of a thumb."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.browsing import PHONE, Tab

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
