"""The chat beside the terminal: a person says what they want, watches, answers, stops."""

import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.agent.model_server import ModelServer, call, say
from tests.homes import settle_home
from tests.server_process import ServerProcess
from tests.web.axe import WINDOW, findings
from tests.web.browsing import PHONE, TABLET, Tab, browsing, written_home

pytestmark = [pytest.mark.browser, pytest.mark.pty]


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as started:
        yield started


@pytest.fixture(scope="module")
def server(model: ModelServer) -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        written_home(home)
        (home / "work").mkdir()
        subprocess.run(["git", "init", "-q"], cwd=home / "work", check=True)
        started = ServerProcess(home, **model.settings)
        started.start()
        try:
            yield started
        finally:
            started.end()


def begin(tab: Tab, server: ServerProcess, text: str) -> str:
    """Say it on the page, in a session of the project; the session's name."""
    opened = server.client.post("/sessions", {"cwd": str(server.home / "work")})
    tab.goto("agent")
    tab.page.get_by_label("Works in").select_option(opened["name"])
    box = tab.page.get_by_label("Message to the agent")
    box.fill(text)
    box.press("Enter")
    return str(opened["name"])


def test_a_person_sees_text_calls_diffs_and_cost_beside_the_terminal(
    tab: Tab, server: ServerProcess, model: ModelServer
) -> None:
    (server.home / "work" / "cart.py").write_text("def total(prices):\n    return max(prices)\n")
    model.script = [
        call("run", {"input": "echo looking"}, "I look first."),
        call("edit_file", {"path": "cart.py", "old": "max", "new": "sum"}),
        say("It sums now."),
    ]

    session = begin(tab, server, "fix the cart")

    expect(tab.page.get_by_text("It sums now.")).to_be_visible()
    expect(tab.page.get_by_text("I look first.")).to_be_visible()
    expect(tab.page.get_by_label("What changed")).to_contain_text("return sum(prices)")
    expect(tab.page.locator("#agent-state")).to_contain_text("ready")
    expect(tab.page.locator("#agent-state")).to_contain_text("360 tokens · $0.0009")
    tab.wait_text(session, "looking")
    tab.page.get_by_text("echo looking").first.click()
    expect(tab.page.get_by_text("exit code 0").first).to_be_visible()


def test_an_answer_comes_piece_by_piece_and_stays_when_it_is_stopped(
    tab: Tab, server: ServerProcess, model: ModelServer
) -> None:
    rest = threading.Event()

    text = "👍 **First** the `code`:\n\n```sh\nmake\n```\nand 👍 then more."
    model.script = [say(text, pieces=60, second_half=rest)]
    begin(tab, server, "say it slowly")

    chat = tab.page.get_by_label("Messages and calls")
    expect(chat.locator("b", has_text="First")).to_be_visible()
    expect(tab.page.locator("#agent-state")).to_contain_text("thinking")
    tab.page.get_by_role("button", name="Stop", exact=True).click()

    expect(chat).to_contain_text("stopped in the middle of this answer")
    expect(chat).to_contain_text("👍 **First**")
    rest.set()


def test_code_in_an_answer_is_drawn_as_code(
    tab: Tab, server: ServerProcess, model: ModelServer
) -> None:
    model.script = [say("Run `make`, **then**:\n\n```sh\nls <b>x</b>\n```\nand read.")]

    begin(tab, server, "how?")

    answer = tab.page.locator("li[data-is=answer]")
    expect(answer.locator("pre")).to_have_text("ls <b>x</b>")
    expect(answer.locator("code")).to_have_text("make")
    expect(answer.locator("b")).to_have_text("then")
    expect(answer).to_contain_text("and read.")


def test_its_recording_shows_the_messages_beside_the_terminal_as_they_were_said(
    browser: Browser, server: ServerProcess, model: ModelServer
) -> None:
    model.script = [call("run", {"input": "echo played"}, "I look."), say("It was played.")]
    with browsing(browser, server, **WINDOW) as tab:
        session = begin(tab, server, "print it")
        expect(tab.page.get_by_text("It was played.")).to_be_visible()

        tab.goto(f"recordings/{session}")
        said = tab.page.get_by_label("Messages and calls").get_by_role("listitem")
        expect(said).to_have_count(4)
        place = tab.page.get_by_label("Place in the recording")
        place.press("End")
        expect(said.nth(3)).to_have_attribute("aria-current", "step")
        place.press("Home")
        expect(said.nth(3)).to_have_attribute("data-is", "ahead")
        said.nth(2).get_by_role("button").click()

        expect(said.nth(2)).to_have_attribute("aria-current", "step")
        expect(said.nth(2)).to_contain_text("agent ● run echo played")
        expect(said.nth(3)).to_have_attribute("data-is", "ahead")
        assert findings(tab) == []


def test_an_at_is_completed(tab: Tab, server: ServerProcess) -> None:
    (server.home / "work" / "notes.txt").write_text("hello\n")
    server.client.post("/sessions", {"cwd": str(server.home / "work"), "name": "noted"})

    tab.goto("agent")
    tab.page.get_by_label("Works in").select_option("noted")
    box = tab.page.get_by_label("Message to the agent")
    box.fill("read @no")
    tab.page.get_by_role("button", name="@notes.txt").click()

    expect(box).to_have_value("read @notes.txt")


@pytest.mark.parametrize("size", [PHONE, TABLET], ids=["phone", "tablet"])
def test_on_a_small_screen_the_chat_is_whole_and_leads_to_the_terminal(
    browser: Browser, server: ServerProcess, model: ModelServer, size: object
) -> None:
    model.script = [call("run", {"input": "echo " + "long " * 40}), say("Done on the way. " * 10)]
    with browsing(browser, server, viewport=size, **WINDOW) as tab:
        session = begin(tab, server, "do it from here")
        expect(tab.page.get_by_text("Done on the way.").first).to_be_visible()
        wide = tab.page.evaluate("document.documentElement.scrollWidth > innerWidth")
        problems = findings(tab)
        tab.page.get_by_role("button", name="Terminal", exact=True).click()
        tab.wait_ready(session)

    assert not wide
    assert problems == []
