"""On the screen of upstreams: trust levels, what projects offer, what servers ask; and their resources in the palette."""

import json
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from duetty.upstreams.upstream_settings import as_toml
from tests.homes import settle_home
from tests.server_process import ServerProcess, running_server
from tests.upstreams.oauth_server import sign_in_server
from tests.upstreams.running import named, official, plain
from tests.upstreams.test_gateway import trust
from tests.web.browsing import DESKTOP, PHONE, TABLET, Tab, browsing

pytestmark = [pytest.mark.browser, pytest.mark.pty]

FORM = {
    "method": "elicitation/create",
    "params": {
        "message": "which colour?",
        "requestedSchema": {
            "type": "object",
            "properties": {"colour": {"type": "string", "title": "Colour"}},
            "required": ["colour"],
        },
    },
}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        project = home / "project"
        project.mkdir()
        (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"offered": plain()}}))
        tables = {
            "asker": plain(tools=named("ask")) | {"elicitation": True},
            "notes": official(INSTRUCTIONS="Read before you write."),
        }
        text = "\n".join(as_toml(name, table) for name, table in tables.items())
        (home / "config.toml").write_text(text, encoding="utf-8")
        with running_server(home) as server:
            for name in tables:
                trust(server, name)
            server.client.post("/sessions", {"name": "s", "cwd": str(project)})
            yield server


def test_trust_and_a_servers_own_words_are_shown_and_a_projects_offer_is_accepted(
    browser: Browser, server: ServerProcess
) -> None:
    with browsing(browser, server) as tab:
        tab.goto("tools")
        notes = tab.page.locator("[data-upstream=notes]")
        expect(notes.locator("[data-trust=trusted]")).to_contain_text("run unasked")
        notes.get_by_text("How it wants to be used").click()
        expect(notes).to_contain_text("Read before you write.")

        offer = tab.page.locator("[data-offer=offered]")
        expect(offer).to_contain_text("Nothing of them runs before you accept the file")
        # A command is read in lines of the card's width, not in a column of words.
        for size in (DESKTOP, TABLET, PHONE):
            tab.page.set_viewport_size(size)
            wide, line = offer.bounding_box(), offer.get_by_role("listitem").bounding_box()
            assert wide is not None
            assert line is not None
            assert line["width"] > 0.9 * wide["width"] - 32
            inside = offer.locator("li code").bounding_box()
            assert inside is not None
            # A line breaks at a word, and how long the words are depends on where this clone lies.
            assert inside["width"] > min(0.6 * line["width"], 250)
        tab.page.set_viewport_size(DESKTOP)
        offer.get_by_role("button", name="Accept…").click()
        dialog = tab.page.get_by_role("dialog")
        expect(dialog).to_contain_text("plain_server.py")
        dialog.get_by_role("button", name="Accept and start").click()

        expect(tab.page.locator("[data-upstream=offered] [data-trust]")).to_have_attribute(
            "data-trust", "untrusted"
        )
        expect(tab.page.locator("[data-offer=accepted]")).to_be_visible()


def test_a_person_signs_in_to_a_server_that_asks_for_it(browser: Browser) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path,
        sign_in_server() as elsewhere,
    ):
        home = settle_home(Path(path))
        (home / "config.toml").write_text(as_toml("locked", elsewhere.table()), encoding="utf-8")
        with running_server(home) as server, browsing(browser, server) as tab:
            tab.goto("tools")
            locked = tab.page.locator("[data-upstream=locked]")
            expect(locked.get_by_role("status")).to_have_text("needs you to sign in")
            locked.get_by_role("button", name="Sign in…").click()
            with tab.page.context.expect_page() as opened:
                locked.get_by_role("link", name="Open its sign-in page").click()
            expect(opened.value.get_by_text("You can close this window")).to_be_visible()
            opened.value.close()
            expect(locked.get_by_role("status")).to_have_text("waits for you")
            expect(locked).to_contain_text("2 tools are new")


def test_a_servers_form_is_answered_on_the_page(browser: Browser, server: ServerProcess) -> None:
    answers: list[Any] = []

    def call() -> None:
        body = {"tool": "ask", "arguments": FORM}
        answers.append(server.client.post("/upstreams/asker/call", body))

    with browsing(browser, server) as tab:
        tab.goto("tools")
        expect(tab.page.locator("[data-upstream=asker]")).to_be_visible()
        calling = threading.Thread(target=call)
        calling.start()
        question = tab.page.locator("[data-question=form]")
        expect(question).to_contain_text("asker asks you")
        expect(question).to_contain_text("which colour?")
        question.get_by_label("Colour").fill("green")
        question.get_by_role("button", name="Answer").click()
        calling.join(30)
        expect(question).to_have_count(0)

    said = json.loads(answers[0]["content"][0]["text"])
    assert said["result"] == {"action": "accept", "content": {"colour": "green"}}


def read_in_palette(tab: Tab) -> None:
    tab.press("Control+Shift+K")
    tab.page.get_by_role("combobox").fill("@mcp:notes")
    tab.page.get_by_role("option", name="@mcp:notes/one").click()


def test_a_resource_is_read_from_the_palette_and_its_reference_taken_along(
    browser: Browser, server: ServerProcess
) -> None:
    with browsing(browser, server) as tab:
        tab.goto("tools")
        read_in_palette(tab)
        dialog = tab.page.get_by_role("dialog")
        expect(dialog).to_contain_text("first")
        dialog.get_by_role("button", name="Copy its reference").click()

        expect(tab.page.get_by_text("Copied")).to_be_visible()


def test_a_tool_is_tried_from_the_palette_with_what_it_takes(
    browser: Browser, server: ServerProcess
) -> None:
    with browsing(browser, server) as tab:
        tab.goto("tools")
        tab.press("Control+Shift+K")
        tab.page.get_by_role("combobox").fill("mcp__notes__echo")
        tab.page.get_by_role("option", name="mcp__notes__echo tool").click()
        dialog = tab.page.get_by_role("dialog")
        expect(dialog).to_contain_text("as JSON: text (string)")
        expect(dialog.get_by_role("textbox")).to_have_value('{\n  "text": ""\n}')
        dialog.get_by_role("textbox").fill("[]")
        dialog.get_by_role("button", name="Call").click()
        expect(dialog.get_by_role("alert")).to_contain_text("it takes an object")
        dialog.get_by_role("textbox").fill('{"text": "tried"}')
        dialog.get_by_role("button", name="Call").click()

        expect(tab.page.get_by_role("dialog")).to_contain_text("tried")
