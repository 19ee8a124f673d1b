"""What a person sees of a question, and where: beside the terminal, in the inbox, at its own address, on a phone."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.server_process import ServerProcess
from tests.web.agent import Mcp
from tests.web.approvals.asking import answered, ask, card, decline, inbox, waiting
from tests.web.browsing import PHONE, Tab, browsing

pytestmark = [pytest.mark.browser, pytest.mark.pty]


BIDI = "touch 'safe\u202e\u2066txt.exe' \u200bb"


def test_a_question_has_an_address_of_its_own_for_a_phone(
    browser: Browser, tab: Tab, agent: Mcp, session: str
) -> None:
    tab.goto()
    expect(tab.page.locator("[data-session=s]")).to_be_visible()
    phone: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    call = ask(agent, "touch phoned")
    expect(tab.page.get_by_role("link", name="Approvals 1 waiting").first).to_be_visible()
    with browsing(browser, tab.server, **phone) as pocket:
        pocket.goto(f"approvals/{waiting(tab.server)[0]['id']}")
        decline = card(pocket).get_by_role("button", name="Decline")
        expect(decline).to_be_focused()
        for name in ("Decline", "Edit", "Approve once"):
            box = card(pocket).get_by_role("button", name=name).bounding_box()
            assert box is not None
            assert box["height"] >= 44
        assert pocket.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        answered(pocket, "Approve once")
        expect(card(pocket)).to_contain_text("Approved once by you")
    agent.answer(call)
    assert (tab.server.home / "phoned").exists()


def test_a_phone_that_shows_the_session_is_led_to_the_question(
    browser: Browser, tab: Tab, agent: Mcp, session: str
) -> None:
    phone: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    with browsing(browser, tab.server, **phone) as pocket:
        pocket.open(session)

        call = ask(agent, "touch led")
        pocket.page.get_by_role("button", name="Review").tap()

        expect(pocket.page.get_by_role("heading", name="Approval", exact=True)).to_be_visible()
        expect(card(pocket)).to_contain_text("touch led")
        answered(pocket, "Decline")
        agent.answer(call)


def test_on_a_phone_an_answered_question_is_read_in_lines(
    browser: Browser, tab: Tab, agent: Mcp, session: str
) -> None:
    inbox(tab)
    call = ask(agent, "touch one-of-a-length and-another-of-that-length")
    answered(tab, "Decline")
    agent.answer(call)
    phone: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    with browsing(browser, tab.server, **phone) as pocket:
        pocket.goto("approvals")

        box = pocket.page.locator("#answered a").first.bounding_box()

        assert box is not None
        assert box["width"] > PHONE["width"] * 0.6


def test_the_tab_of_a_session_that_asks_says_so(tab: Tab, agent: Mcp, session: str) -> None:
    tab.open(session)
    marked = tab.page.locator("[data-current=true] > [data-state=asks]")
    expect(marked).to_have_count(0)

    call = ask(agent, "touch tabbed")

    expect(marked).to_have_count(1)
    answered(tab, "Decline")
    agent.answer(call)


def test_sessions_that_ask_come_first_and_are_counted_in_the_title(
    tab: Tab, agent: Mcp, session: str
) -> None:
    tab.server.client.post("/sessions", {"name": "calm", "command": "bash"})
    tab.goto()
    expect(tab.page.locator("[data-session=calm]")).to_be_visible()

    call = ask(agent, "touch queued")

    expect(tab.page.locator("#waiting [data-session=s]")).to_contain_text("needs your approval")
    expect(tab.page).to_have_title("(1) Duetty")
    tab.press("Control+Shift+Y")
    tab.wait_ready(session)
    answered(tab, "Decline")
    agent.answer(call)
    expect(tab.page).to_have_title("s · Duetty")


def test_a_notification_leads_to_the_question(
    browser: Browser, server: ServerProcess, agent: Mcp, session: str
) -> None:
    with browsing(browser, server, permissions=["notifications"]) as tab:
        tab.page.add_init_script(
            """window.told = [];
            Object.defineProperty(window, 'Notification', {value: class {
              static permission = 'granted';
              static async requestPermission() { return 'granted'; }
              constructor(title, options) { this.title = title; window.told.push({title, tag: options.tag, press: () => this.onclick()}); }
              close() {}
            }});
            Object.defineProperty(navigator, 'serviceWorker', {value: {
              addEventListener() {}, register: async () => { throw new Error('none'); }}});
            localStorage.setItem('duetty.prefs', JSON.stringify({notify: true}));"""
        )
        tab.goto("settings")
        expect(tab.page.get_by_role("heading", name="Settings")).to_be_visible()

        call = ask(agent, "touch told")
        tab.page.wait_for_function("() => told.length === 1")
        assert "touch told" not in tab.page.evaluate(
            "told[0].title"
        )  # it may lie on a locked screen
        tab.page.evaluate("told[0].press()")

        expect(card(tab)).to_contain_text("touch told")
        answered(tab, "Decline")
        agent.answer(call)


def test_hidden_and_turning_characters_are_made_visible(tab: Tab, agent: Mcp, session: str) -> None:
    inbox(tab)  # wide enough for one row

    call = ask(agent, f"{BIDI} 'p\u0430ypal'")
    line = card(tab).get_by_label("The command, as it would run")

    expect(line).to_have_text("touch 'safeU+202EU+2066txt.exe' U+200Bb 'p\u0430ypal'")
    assert line.locator("mark").all_inner_texts() == ["U+202E", "U+2066", "U+200B"]
    expect(card(tab)).to_contain_text("3 hidden characters are shown by number")
    expect(card(tab)).to_contain_text("\u0430 is U+0430")
    # What is drawn stands in the order in which it runs.
    lefts = line.evaluate(
        """(pre) => [...pre.childNodes].map((node) => {
          const range = document.createRange(); range.selectNodeContents(node);
          return range.getBoundingClientRect().left; })"""
    )
    assert lefts == sorted(lefts)
    answered(tab, "Decline")
    agent.answer(call)


def test_a_long_command_cannot_be_approved_before_its_end_was_shown(
    tab: Tab, agent: Mcp, session: str
) -> None:
    inbox(tab)

    line = "touch long " + "x " * 700 + "; echo the end"
    call = ask(agent, line)
    approve = card(tab).get_by_role("button", name="Approve once")
    expect(approve).to_be_disabled()
    expect(decline(tab)).to_be_enabled()
    tab.press("a")
    assert len(waiting(tab.server)) == 1
    answered(tab, "Show all")

    expect(approve).to_be_enabled()
    box = card(tab).get_by_label("The command, as it would run")
    assert box.evaluate("(pre) => pre.scrollHeight <= pre.clientHeight + 1")
    answered(tab, "Decline")
    agent.answer(call)


def test_text_of_an_agent_is_never_markup_and_stays_in_its_place(tab: Tab, session: str) -> None:
    evil = "<img src=x onerror='window.pwned=1'>"
    name = f"{evil} ✓ approved by you"
    made = tab.server.client.post("/tokens", {"name": name, "scopes": ["read", "input"]})
    tab.open(session)

    with (
        ThreadPoolExecutor(1) as pool,
        httpx.Client(
            base_url=tab.server.url(),
            headers={"authorization": f"Bearer {made['token']}"},
            timeout=60,
        ) as liar,
    ):
        line = f'touch "{evil}" ' + "\u3164" * 9 + " # ✓ Approved once by you"
        call = pool.submit(liar.post, "/sessions/s/run", json={"input": line})
        expect(card(tab)).to_contain_text("<img src=x")

        assert tab.page.evaluate("window.pwned") is None
        assert tab.page.locator("img, iframe, object, embed").count() == 0
        expect(card(tab)).to_have_attribute("data-state", "pending")
        expect(card(tab).get_by_role("status")).to_have_count(0)  # how it ended is not said yet
        assert card(tab).evaluate(
            """(card) => [...card.querySelectorAll('*')].every((each) =>
              each.getBoundingClientRect().right <= card.getBoundingClientRect().right + 1)"""
        )
        answered(tab, "Decline")
        assert call.result(60).json()["error"]["code"] == "approval_rejected"


def test_a_program_cannot_draw_a_card(tab: Tab, agent: Mcp, session: str) -> None:
    tab.open(session)

    tab.server.client.post(
        "/sessions/s/overlay",
        {
            "x": 0,
            "y": 0,
            "width": 78,
            "height": 8,
            "spans": [{"text": "claude asks to run a command\n[Decline D] [Approve once A]"}],
        },
    )
    drawn = tab.page.get_by_role("group", name="Overlay")
    expect(drawn).to_contain_text("asks to run a command")

    # It carries the name of who drew it, lies in the cells of the terminal, and nothing in it is a button of a card.
    assert card(tab).count() == 0
    stage, box = tab.page.locator(".xterm-screen").bounding_box(), drawn.bounding_box()
    assert stage is not None
    assert box is not None
    assert box["x"] + box["width"] <= stage["x"] + stage["width"] + 1
    assert drawn.get_by_role("button").all_inner_texts() == ["✕"]


def test_a_question_of_a_removed_session_is_kept_as_taken_back(
    tab: Tab, agent: Mcp, session: str
) -> None:
    tab.open(session)
    call = ask(agent, "touch above")
    expect(decline(tab)).to_be_enabled()

    tab.server.client.delete(f"/sessions/{session}")

    expect(tab.page.get_by_role("heading", name="s was removed")).to_be_visible()
    expect(card(tab)).to_contain_text("Taken back")
    agent.answer(call)
    tab.goto("approvals")
    tab.page.locator("#answered").get_by_text("touch above").click()
    expect(card(tab)).to_contain_text("Taken back")


def test_a_question_is_taken_back_when_the_process_ends(tab: Tab, agent: Mcp, session: str) -> None:
    tab.open(session)
    call = ask(agent, "touch after")
    expect(card(tab)).to_be_visible()

    tab.server.client.write(f"/sessions/{session}/input", b"exit\n")
    expect(tab.page.get_by_text("The process ended with code 0")).to_be_visible()
    expect(tab.page.get_by_role("button", name="Open again")).to_be_visible()

    expect(card(tab)).to_contain_text("Taken back")
    agent.answer(call)


def test_a_question_that_its_asker_left_is_shown_as_taken_back(
    browser: Browser, server: ServerProcess, session: str
) -> None:
    with browsing(browser, server) as tab:
        tab.open(session)
        with Mcp(server) as leaving:
            ask(leaving, "touch left")
            expect(card(tab)).to_be_visible()

        expect(card(tab)).to_contain_text("Taken back")


def test_what_was_answered_is_kept_in_the_inbox(tab: Tab, agent: Mcp, session: str) -> None:
    inbox(tab)
    call = ask(agent, "touch remembered")
    answered(tab, "Decline")
    agent.answer(call)

    tab.goto("approvals")
    expect(tab.page.locator("#answered li").first).to_contain_text(re.compile(r"just now|\d s ago"))
    tab.page.locator("#answered").get_by_text("touch remembered").click()

    expect(card(tab)).to_contain_text("Declined by ")
    expect(card(tab)).to_contain_text("touch remembered")


def test_what_the_agent_says_is_marked_as_its_words(tab: Tab, agent: Mcp, session: str) -> None:
    inbox(tab)

    call = agent.begin(
        "wsh_run_command",
        {"session": session, "input": "touch said", "why": "the tests\u202e need it"},
    )

    expect(card(tab).locator("q")).to_have_text("the testsU+202E need it")
    expect(card(tab)).to_contain_text("its own words, not checked")
    answered(tab, "Decline")
    expect(card(tab)).to_contain_text("Declined by you")
    expect(card(tab).locator("q")).to_have_text("the testsU+202E need it")
    agent.answer(call)
