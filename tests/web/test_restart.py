"""A server that is killed and started again: the page goes on by itself, with every byte."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.homes import settle_home
from tests.server_process import running_server
from tests.web.browsing import browsing, written_home

pytestmark = [pytest.mark.browser, pytest.mark.pty]


def test_the_page_goes_on_when_a_killed_server_comes_back(browser: Browser, home: Path) -> None:
    written_home(settle_home(home))
    with running_server(home) as server, browsing(browser, server) as tab:
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        tab.open("s")
        tab.type("for i in 1 2 3 4 5 6 7 8; do sleep 0.5; echo line $i; done\n")
        tab.wait_text("s", "line 2")
        port = urlsplit(server.url()).port

        server.kill()
        expect(tab.page.locator("#connection")).not_to_have_attribute("data-is", "live")
        server.start("--bind", f"127.0.0.1:{port}")
        expect(tab.page.locator("#connection")).to_have_attribute("data-is", "live")
        tab.wait_text("s", "line 8")

        rows = [row for row in tab.text("s").splitlines() if row.startswith("line ")]
        assert rows == [f"line {number}" for number in range(1, 9)]
        tab.forgive_lost_connection()


def test_the_page_names_what_was_found_damaged(browser: Browser, home: Path) -> None:
    written_home(settle_home(home))
    with running_server(home) as server:
        server.client.post("/sessions", {"name": "s", "command": "bash"})
        server.command("stop", "--keep-sessions")
        server.wait_ended()
        server.paths.database.write_bytes(b"no database at all")
        server.start()

        with browsing(browser, server) as tab:
            tab.goto("")
            damage = tab.page.locator("#damage")
            expect(damage).to_contain_text("store")
            expect(damage).to_contain_text("duetty repair")
            damage.get_by_role("button").click()
            expect(damage).to_have_count(0)
