"""The list: what is there, what each does, and what a person can do with it."""

import json
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from duetty.client import Client
from tests.web.browsing import Tab

pytestmark = [pytest.mark.browser, pytest.mark.pty]


def card(tab: Tab, name: str) -> Locator:
    return tab.page.locator(f"[data-session='{name}']")


def test_an_empty_server_teaches_how_to_begin(tab: Tab) -> None:
    tab.goto()

    expect(tab.page.get_by_role("heading", name="No session yet")).to_be_visible()
    expect(tab.page.get_by_label("MCP configuration")).to_contain_text("DUETTY_HOME")
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.page.get_by_role("button", name="Copy").first.click()
    tab.wait_copied(tab.page.get_by_label("MCP configuration").inner_text())
    assert json.loads(tab.copied())["mcpServers"]["duetty"] == {
        "command": str(Path(sys.executable).with_name("duetty")),
        "args": ["mcp"],
        "env": {"DUETTY_HOME": str(tab.server.home)},
    }


def test_cards_show_the_last_rows_of_each_session(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.goto()

    tab.server.client.post("/sessions/s/run", {"input": "seq 101 120; echo seen in the list"})

    expect(card(tab, "s").locator("pre")).to_contain_text("120\nseen in the list")
    expect(card(tab, "s").locator("pre")).not_to_contain_text("101")
    expect(card(tab, "s")).to_contain_text("at the prompt")


def test_the_filter_finds_by_name_and_by_tag(tab: Tab) -> None:
    client = tab.server.client
    client.post("/sessions", {"name": "api", "command": "bash", "tags": ["ci"]})
    client.post("/sessions", {"name": "docs", "command": "bash"})
    tab.goto()
    expect(card(tab, "docs")).to_be_visible()

    tab.page.get_by_label("Filter sessions").fill("ap")
    expect(card(tab, "docs")).to_have_count(0)
    expect(card(tab, "api")).to_be_visible()
    tab.page.get_by_label("Filter sessions").fill("")
    tab.page.get_by_role("button", name="#ci").click()

    expect(card(tab, "docs")).to_have_count(0)
    expect(card(tab, "api")).to_be_visible()


def test_sessions_are_grouped_by_tag(tab: Tab) -> None:
    client = tab.server.client
    client.post("/sessions", {"name": "api", "command": "bash", "tags": ["ci"]})
    client.post("/sessions", {"name": "docs", "command": "bash"})
    tab.goto()

    tab.page.get_by_label("Group sessions by").select_option("tag")

    expect(tab.page.get_by_role("heading", name="#ci")).to_be_visible()
    expect(tab.page.get_by_role("heading", name="no tag")).to_be_visible()
    tab.page.get_by_label("Group sessions by").select_option("state")
    expect(tab.page.get_by_role("heading", name="at the prompt")).to_be_visible()


def test_sessions_that_wait_for_a_person_come_first_and_are_counted(tab: Tab) -> None:
    client = tab.server.client
    client.post("/sessions", {"name": "calm", "command": "bash"})
    client.post("/sessions", {"name": "asks", "command": "bash"})
    client.post("/sessions/asks/wait", {"state": ["prompt"]})
    tab.open("calm")
    client.write("/sessions/asks/input", b"read -p 'Really? ' answer\n")

    expect(tab.page.get_by_role("button", name="1 waiting")).to_be_visible()
    expect(tab.page).to_have_title("(1) calm · Duetty")
    tab.press("Control+Shift+Y")

    tab.wait_ready("asks")
    expect(tab.page).to_have_url(f"{tab.server.url()}/ui/s/asks")
    tab.goto()
    expect(tab.page.locator("#waiting [data-session]")).to_have_attribute("data-session", "asks")


def test_a_session_is_opened_renamed_and_tagged(tab: Tab) -> None:
    tab.goto()
    tab.page.get_by_role("button", name="New session").first.click()
    tab.page.get_by_label("Name").fill("first")
    tab.page.get_by_label("Tags").fill("one, two")
    tab.page.get_by_role("button", name="Open", exact=True).click()
    tab.wait_ready("first")

    tab.page.get_by_role("button", name="More for first").click()
    tab.page.get_by_role("menuitem", name="Rename…").click()
    tab.page.get_by_label("New name").fill("second")
    tab.page.get_by_role("button", name="Rename").click()
    expect(tab.page).to_have_url(f"{tab.server.url()}/ui/s/second")
    tab.page.get_by_role("button", name="More for second").click()
    tab.page.get_by_role("menuitem", name="Tags…").click()
    tab.page.get_by_label("Tags, with spaces between").fill("two three")
    tab.page.get_by_role("button", name="Save").click()
    expect(tab.page.get_by_role("dialog")).to_have_count(0)

    assert tab.server.client.get("/sessions/second")["tags"] == ["three", "two"]


def test_what_the_server_refuses_is_said_where_it_was_asked(tab: Tab) -> None:
    tab.goto()
    tab.page.get_by_role("button", name="New session").first.click()

    tab.page.get_by_label("Name").fill("not/a name")
    tab.page.get_by_role("button", name="Open", exact=True).click()

    expect(tab.page.get_by_role("alert")).to_contain_text("not/a name")
    expect(tab.page.get_by_role("dialog")).to_be_visible()


def test_ending_a_session_keeps_it_and_shows_its_code(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    tab.type("exit 3\n")

    expect(tab.page.get_by_text("ended with code 3")).to_be_visible()
    tab.goto()
    expect(card(tab, "s")).to_contain_text("exited, code 3")


def test_a_session_is_ended_only_after_a_question_and_stays(tab: Tab) -> None:
    client: Client = tab.server.client
    client.post("/sessions", {"name": "s", "command": "bash"})
    client.post("/sessions/s/run", {"input": "echo kept"})
    tab.goto()
    tab.page.get_by_role("button", name="Actions for s").click()
    tab.page.get_by_role("menuitem", name="End…").click()
    dialog = tab.page.get_by_role("dialog", name="End s?")
    expect(dialog).to_contain_text("Its screen, history and recording stay")
    assert client.get("/sessions/s")["state"] != "exited"

    dialog.get_by_role("button", name="End", exact=True).click()

    expect(card(tab, "s")).to_contain_text("exited")
    tab.open("s")
    tab.wait_text("s", "\nkept")


def test_removing_is_possible_only_by_typing_the_name(tab: Tab) -> None:
    client: Client = tab.server.client
    client.post("/sessions", {"name": "s", "command": "bash"})
    tab.goto()
    tab.page.get_by_role("button", name="Actions for s").click()
    tab.page.get_by_role("menuitem", name="End…").click()
    tab.page.get_by_label("Remove its screen and recording too").check()

    tab.page.get_by_role("button", name="End and remove").click()
    expect(tab.page.get_by_role("alert")).to_contain_text("type s to confirm")
    assert [each["name"] for each in client.get("/sessions")] == ["s"]
    tab.page.get_by_label("Type “s” to confirm").fill("s")
    tab.page.get_by_role("button", name="End and remove").click()

    expect(tab.page.get_by_role("heading", name="No session yet")).to_be_visible()
    assert client.get("/sessions") == []


def test_an_ended_session_can_be_opened_again(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "true"})
    tab.open("s")

    tab.page.get_by_role("button", name="Open again").click()

    expect(tab.page).not_to_have_url(f"{tab.server.url()}/ui/s/s")


def test_a_session_that_does_not_exist_says_so(tab: Tab) -> None:
    tab.goto("s/nowhere")

    expect(tab.page.get_by_role("alert")).to_contain_text("nowhere")
    tab.page.get_by_role("button", name="All sessions").click()
    expect(tab.page).to_have_url(f"{tab.server.url()}/ui/")


def test_a_session_made_under_a_removed_ones_name_is_shown_in_its_place(tab: Tab) -> None:
    client = tab.server.client
    client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    client.delete("/sessions/s?signal=KILL")
    expect(tab.page.get_by_role("alert")).to_contain_text("s was removed")

    client.post("/sessions", {"name": "s", "command": "bash"})
    client.post("/sessions/s/run", {"input": "echo the second of that name"})

    expect(tab.page.get_by_role("alert")).to_have_count(0)
    tab.wait_text("s", "the second of that name")


def test_a_hundred_sessions_are_a_small_document_and_only_those_in_sight_are_followed(
    tab: Tab,
) -> None:
    tab.server.client.post("/sessions", {"name": "a", "command": "bash"})
    for number in range(100):
        tab.server.client.post(
            "/sessions", {"name": f"s{number:03}", "command": "sh -c 'echo here; exec sleep 1000'"}
        )
    tab.goto()
    expect(tab.page.locator("[data-session]")).to_have_count(101)
    expect(card(tab, "a").locator("pre")).not_to_have_text("")
    # Asked for later than all the others would have been.
    tab.server.client.post("/sessions/a/run", {"input": "echo drawn anew"})
    expect(card(tab, "a").locator("pre")).to_contain_text("drawn anew")

    assert tab.page.evaluate("document.querySelectorAll('*').length") < 2600
    expect(card(tab, "s099").locator("pre")).to_have_text("")
    card(tab, "s099").scroll_into_view_if_needed()
    expect(card(tab, "s099").locator("pre")).not_to_have_text("")
