"""A browser that is given the file signs in."""

import pytest
from playwright.sync_api import Browser, expect

from duetty.ops.page_opening import _written  # pyright: ignore[reportPrivateUsage] - the file itself
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.browser, pytest.mark.pty]


def test_the_file_that_leads_to_the_link_signs_a_browser_in(
    browser: Browser, server: ServerProcess
) -> None:
    page = _written(server.home, server.client.post("/server/link")["link"])
    context = browser.new_context()
    try:
        tab = context.new_page()
        tab.goto(page.as_uri())

        expect(tab.locator("#connection")).to_have_attribute("data-is", "live")
    finally:
        context.close()
        page.unlink()
