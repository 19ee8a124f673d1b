"""Links that let others look, type or answer: for as much and as long as was said, and no longer."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.homes import settle_home
from tests.server_process import ServerProcess, running_server
from tests.web.agent import Mcp
from tests.web.browsing import Tab, browsing, written_home

pytestmark = [pytest.mark.browser, pytest.mark.pty]

RULES = '[[policy.rules]]\nname = "touching"\ndecide = "ask"\ncommand = ["touch **"]\n'


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        written_home(home)
        (home / "config.toml").write_text(RULES)
        with running_server(home) as started:
            started.client.post("/sessions", {"name": "s", "command": "bash", "cwd": str(home)})
            yield started


@pytest.fixture(autouse=True)
def session(server: ServerProcess) -> None:
    if not server.client.get("/sessions"):
        body = {"name": "s", "command": "bash", "cwd": str(server.home)}
        server.client.post("/sessions", body)


def shared(tab: Tab, name: str, kind: str, session: str = "s") -> str:
    """A link as the owner makes it."""
    tab.goto(f"share?session={session}" if session else "share")
    expect(tab.page.locator("#connection")).to_have_attribute("data-is", "live")
    tab.page.get_by_label("For whom").fill(name)
    tab.page.get_by_label("May").select_option(kind)
    tab.page.get_by_role("button", name="Create").click()
    return tab.page.get_by_label("Link", exact=True).inner_text()


def test_a_link_to_type_takes_keys(browser: Browser, tab: Tab) -> None:
    link = shared(tab, "typist", "type")

    with browsing(browser, tab.server, sign_in=False) as guest:
        guest.page.goto(link)
        guest.wait_ready("s")
        guest.type("echo typed by a guest\n")
        guest.wait_text("s", "\ntyped by a guest")


def test_a_link_to_approve_answers_and_does_nothing_else(browser: Browser, tab: Tab) -> None:
    link = shared(tab, "grace", "approve", session="")

    with (
        Mcp(tab.server) as agent,
        browsing(browser, tab.server, sign_in=False) as guest,
    ):
        guest.page.goto(link)
        expect(guest.page.get_by_text("Nothing waits for you")).to_be_visible()
        assert guest.page.url.endswith("/ui/approvals")
        call = agent.begin("wsh_run_command", {"session": "s", "input": "touch by-grace"})
        card = guest.page.locator("[data-approval]")
        expect(card).to_contain_text("touch by-grace")
        expect(card.get_by_role("button", name="Edit")).to_have_count(0)
        card.get_by_role("button", name="Approve once").click()

        expect(card).to_contain_text("Approved once by you")
        agent.answer(call)
        assert (tab.server.home / "by-grace").exists()
        guest.goto("s/s")
        guest.wait_ready("s")
        expect(guest.page.get_by_text("view only")).to_be_visible()
        expect(guest.page.get_by_role("link", name="Audit")).to_have_count(0)


def test_a_link_to_look_shows_a_question_and_no_answers(browser: Browser, tab: Tab) -> None:
    link = shared(tab, "looker", "view")
    tab.goto()
    expect(tab.page.locator("[data-session=s]")).to_be_visible()

    with Mcp(tab.server) as agent, browsing(browser, tab.server, sign_in=False) as guest:
        guest.page.goto(link)
        guest.wait_ready("s")
        agent.begin("wsh_run_command", {"session": "s", "input": "touch unseen"})
        card = guest.page.locator("[data-approval]")
        expect(card).to_contain_text("touch unseen")

        expect(card).to_contain_text("Who may approve answers")
        expect(card.get_by_role("button")).to_have_count(0)


def test_a_link_ends_when_its_time_is_up(browser: Browser, server: ServerProcess) -> None:
    made = server.client.post(
        "/tokens", {"name": "brief", "scopes": ["read"], "session": "s", "expires_in_s": 8}
    )

    with browsing(browser, server, sign_in=False) as guest:
        guest.page.goto(f"{server.url()}/ui/s/s#token={made['token']}")
        guest.wait_ready("s")

        expect(guest.page.get_by_role("heading", name="This link has ended")).to_be_visible()
        guest.page.reload()
        expect(guest.page.get_by_role("heading", name="Sign in to Duetty")).to_be_visible()
        guest.page.goto("about:blank")
        guest.page.goto(f"{server.url()}/ui/s/s#token={made['token']}")
        expect(guest.page.get_by_role("heading", name="This link has ended")).to_be_visible()


def test_a_link_that_is_taken_back_ends_at_once(browser: Browser, tab: Tab) -> None:
    link = shared(tab, "hasty", "view")

    with browsing(browser, tab.server, sign_in=False) as guest:
        guest.page.goto(link)
        guest.wait_ready("s")
        row = tab.page.locator("tr").filter(has_text="hasty")
        row.get_by_role("button", name="Take back").click()
        tab.page.get_by_role("dialog").get_by_role("button", name="Take back").click()

        expect(row).to_contain_text("taken back")
        expect(guest.page.get_by_role("heading", name="This link has ended")).to_be_visible()
