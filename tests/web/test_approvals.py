"""Agents ask, people answer: on a card beside the terminal, in the inbox, at the question's own address."""

import re
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.homes import settle_home
from tests.server_process import ServerProcess, running_server
from tests.web.agent import Mcp
from tests.web.browsing import PHONE, Tab, browsing, written_home

pytestmark = [pytest.mark.browser, pytest.mark.pty]

RULES = """
[[policy.rules]]
name = "touching"
decide = "ask"
command = ["touch **"]

[[policy.rules]]
name = "never"
decide = "deny"
command = ["mkfifo **"]
"""

BIDI = "touch 'safe\u202e\u2066txt.exe' \u200bb"


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        written_home(home)
        (home / "config.toml").write_text(RULES)
        with running_server(home) as started:
            yield started


@pytest.fixture(scope="module")
def agent(server: ServerProcess) -> Iterator[Mcp]:
    with Mcp(server) as connected:
        yield connected


@pytest.fixture(autouse=True)
def nothing_left_to_answer(server: ServerProcess) -> Iterator[None]:
    """Whatever a test left open does not show up in the next."""
    yield
    for each in waiting(server):
        server.client.post(f"/approvals/{each['id']}/decline", {})
    for each in server.client.get("/approvals/standing"):
        server.client.delete(f"/approvals/standing/{each['id']}")


@pytest.fixture
def session(server: ServerProcess) -> str:
    server.client.post("/sessions", {"name": "s", "command": "bash", "cwd": str(server.home)})
    return "s"


def ask(agent: Mcp, line: str, session: str = "s") -> int:
    return agent.begin("wsh_run_command", {"session": session, "input": line})


def card(tab: Tab) -> Locator:
    return tab.page.locator("[data-approval]")


def inbox(tab: Tab) -> None:
    """The empty inbox: once it says so, this page can be asked."""
    tab.goto("approvals")
    expect(tab.page.get_by_text("Nothing waits for you")).to_be_visible()


def waiting(server: ServerProcess) -> list[dict[str, Any]]:
    return server.client.get("/approvals")["approvals"]


def answered(tab: Tab, button: str, within: Locator | None = None) -> None:
    """Press a button of a card, as somebody who has read it does."""
    within = within or card(tab)
    tab.page.wait_for_timeout(450)  # a card does not take an answer before 400 ms
    within.get_by_role("button", name=button).click()


def test_a_person_approves_beside_the_terminal_and_the_command_runs(
    tab: Tab, agent: Mcp, session: str
) -> None:
    tab.open(session)

    call = ask(agent, "touch made; echo it was made")
    asked = card(tab)
    expect(asked).to_contain_text("local asks to run a command")
    expect(asked.get_by_label("The command, as it would run")).to_have_text(
        "touch made; echo it was made"
    )
    expect(asked).to_contain_text(str(tab.server.home))
    expect(asked).to_contain_text("rule:touching")
    expect(asked.locator("time")).to_contain_text("declines in ")
    answered(tab, "Approve once")

    expect(asked).to_contain_text("Approved once by you")
    assert "it was made" in agent.text(call)
    tab.wait_text(session, "it was made")
    assert (tab.server.home / "made").exists()


def test_a_person_declines_and_the_agent_is_told_why(tab: Tab, agent: Mcp, session: str) -> None:
    tab.open(session)

    call = ask(agent, "touch declined")
    expect(card(tab)).to_be_visible()
    answered(tab, "Add a note")
    tab.page.get_by_label("Told to the agent").fill("ask me tomorrow")
    answered(tab, "Decline")

    expect(card(tab)).to_contain_text("Declined by you")
    assert "ask me tomorrow" in agent.text(call)
    assert not (tab.server.home / "declined").exists()


def test_a_person_changes_the_command_and_that_one_runs(tab: Tab, agent: Mcp, session: str) -> None:
    tab.open(session)

    call = ask(agent, "touch first")
    expect(card(tab)).to_be_visible()
    answered(tab, "Edit")
    tab.page.get_by_label("Run this instead, once").fill("touch second")
    difference = tab.page.get_by_label("What you changed")
    expect(difference.locator("del")).to_have_text("first")
    expect(difference.locator("ins")).to_have_text("second")
    answered(tab, "Approve the edited line")

    expect(card(tab)).to_contain_text("Approved with edits by you")
    agent.answer(call)
    assert (tab.server.home / "second").exists()
    assert not (tab.server.home / "first").exists()


def test_an_edit_that_a_rule_denies_is_refused_and_the_question_stays(
    tab: Tab, agent: Mcp, session: str
) -> None:
    tab.open(session)

    call = ask(agent, "touch third")
    answered(tab, "Edit")
    tab.page.get_by_label("Run this instead, once").fill("mkfifo pipe")
    answered(tab, "Approve the edited line")

    expect(card(tab).get_by_role("alert")).to_contain_text("may not run")
    assert [each["state"] for each in waiting(tab.server)] == ["pending"]
    answered(tab, "Decline")
    agent.answer(call)
    assert not (tab.server.home / "pipe").exists()


def test_nobody_answers_and_the_question_is_declined_in_sight(browser: Browser) -> None:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        (home / "config.toml").write_text(f"[approval]\nwait_s = 5\n{RULES}")
        with (
            running_server(home) as server,
            Mcp(server) as agent,
            browsing(browser, server) as tab,
        ):
            server.client.post("/sessions", {"name": "s", "command": "bash"})
            tab.open("s")

            call = ask(agent, "touch late")
            expect(card(tab).locator("time")).to_have_attribute("data-soon", "true")

            expect(card(tab)).to_contain_text("Nobody answered in time: declined")
            assert "nobody answered in time" in agent.text(call)
            assert not (home / "late").exists()


def test_a_standing_rule_is_shown_before_it_is_saved_and_can_be_taken_back(
    tab: Tab, agent: Mcp, session: str
) -> None:
    tab.open(session)

    call = ask(agent, "touch always")
    answered(tab, "Allow")
    tab.page.get_by_label("in every session").check()
    rule = tab.page.locator("[id^=rule-]").inner_text()
    assert "'touch always'" in rule
    assert str(tab.server.home) in rule
    answered(tab, "Save rule and approve")
    expect(card(tab)).to_contain_text("Approved from now on by you")
    agent.answer(call)
    agent.call("wsh_run_command", {"session": session, "input": "touch always"})
    assert [each["rule"] for each in tab.server.client.get("/approvals/standing")] == [rule]

    tab.goto("approvals")
    expect(tab.page.locator("#standing")).to_contain_text("touch always")
    tab.page.locator("#standing").get_by_role("button", name="Take back").click()
    tab.page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    expect(tab.page.locator("#standing")).to_have_count(0)
    again = ask(agent, "touch always")
    expect(card(tab)).to_be_visible()
    answered(tab, "Decline")
    agent.answer(again)


def test_an_approval_for_the_session_covers_the_same_line_there(
    tab: Tab, agent: Mcp, session: str
) -> None:
    tab.open(session)

    call = ask(agent, "touch here")
    answered(tab, "Allow")
    expect(tab.page.locator("[id^=rule-]")).to_contain_text("in session 's' only")
    answered(tab, "Save rule and approve")
    expect(card(tab)).to_contain_text("Approved for this session by you")
    agent.answer(call)

    agent.call("wsh_run_command", {"session": session, "input": "touch here"})


def test_an_answer_from_elsewhere_is_shown_with_who_and_where(
    browser: Browser, tab: Tab, agent: Mcp, session: str
) -> None:
    tab.open(session)
    with browsing(browser, tab.server) as other:
        inbox(other)

        call = ask(agent, "touch elsewhere")
        expect(card(tab)).to_be_visible()
        expect(card(other)).to_be_visible()
        answered(other, "Decline")

        expect(card(other)).to_contain_text("Declined by you")
        expect(card(tab)).to_contain_text("Declined by ")
        expect(card(tab)).to_contain_text("on a page")
        expect(card(tab).get_by_role("button", name="Approve once")).to_have_count(0)
        agent.answer(call)


def test_an_answer_on_the_command_line_reaches_the_card(tab: Tab, agent: Mcp, session: str) -> None:
    tab.open(session)

    call = ask(agent, "touch by-hand")
    expect(card(tab)).to_be_visible()
    done = tab.server.command("approve", waiting(tab.server)[0]["id"])

    assert done.returncode == 0, done.stderr
    expect(card(tab)).to_contain_text("on the command line")
    agent.answer(call)
    assert (tab.server.home / "by-hand").exists()


def test_keys_answer_only_with_focus_and_never_from_the_terminal(
    tab: Tab, agent: Mcp, session: str
) -> None:
    tab.open(session)

    call = ask(agent, "touch keyed")
    expect(card(tab)).to_be_visible()
    tab.page.wait_for_timeout(450)
    tab.page.locator(".xterm-helper-textarea").focus()
    tab.type("# a d a d\n")
    tab.wait_text(session, "# a d a d")
    assert len(waiting(tab.server)) == 1

    tab.press("Control+Shift+Space")
    expect(card(tab).get_by_role("button", name="Decline")).to_be_focused()
    tab.press("a")

    expect(card(tab)).to_contain_text("Approved once by you")
    agent.answer(call)


def test_neither_key_nor_click_answers_what_has_only_just_appeared(
    tab: Tab, agent: Mcp, session: str
) -> None:
    inbox(tab)
    # As fast as a script can: in the same moment in which the card is drawn.
    tab.page.evaluate(
        """() => new MutationObserver((_, observer) => {
          const button = document.querySelector('[data-approval] [data-first]');
          if (!button) return;
          observer.disconnect();
          window.hastened = true;
          for (const key of ['a', 'd']) button.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
          for (const each of document.querySelectorAll('[data-approval] footer button')) each.click();
        }).observe(document.body, {childList: true, subtree: true})"""
    )

    call = ask(agent, "touch hasty")
    expect(card(tab)).to_be_visible()
    expect(card(tab).get_by_role("button", name="Decline")).to_be_focused()

    assert tab.page.evaluate("window.hastened")
    assert [each["state"] for each in waiting(tab.server)] == ["pending"]
    tab.page.wait_for_timeout(450)
    tab.press("d")
    expect(card(tab)).to_contain_text("Declined by you")
    agent.answer(call)


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

        expect(card(pocket)).to_contain_text("touch led")
        answered(pocket, "Decline")
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
    tab.page.wait_for_timeout(450)
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


def test_a_card_lies_above_what_covers_the_terminal(tab: Tab, agent: Mcp, session: str) -> None:
    tab.open(session)
    call = ask(agent, "touch above")
    expect(card(tab)).to_be_visible()

    tab.page.evaluate("duettyViews.get('s').ended.value = {reason: 'detached'}")
    expect(tab.page.get_by_text("You were detached")).to_be_visible()
    answered(tab, "Decline")

    expect(card(tab)).to_contain_text("Declined by you")
    agent.answer(call)


def test_a_question_can_be_answered_while_the_pane_says_that_the_process_ended(
    tab: Tab, agent: Mcp, session: str
) -> None:
    tab.open(session)
    call = ask(agent, "touch after")
    expect(card(tab)).to_be_visible()

    tab.server.client.write(f"/sessions/{session}/input", b"exit\n")
    expect(tab.page.get_by_text("The process ended with code 0")).to_be_visible()
    expect(tab.page.get_by_role("button", name="Open again")).to_be_visible()
    answered(tab, "Decline")

    expect(card(tab)).to_contain_text("Declined by you")
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
    tab.page.locator("#answered").get_by_text("touch remembered").click()

    expect(card(tab)).to_contain_text("Declined by ")
    expect(card(tab)).to_contain_text("touch remembered")


def test_a_rule_is_edited_tried_and_saved_in_place_of_the_question(
    tab: Tab, agent: Mcp, session: str
) -> None:
    (tab.server.home / "old").mkdir(exist_ok=True)
    inbox(tab)

    call = ask(agent, "rm -rf old")
    answered(tab, "Allow")
    tab.page.get_by_label("by a rule that you can edit").check()
    text = tab.page.get_by_label("This rule is added to your policy")
    expect(text).to_have_value(re.compile('command = \\["rm -rf old"\\]'))
    save = card(tab).get_by_role("button", name="Save rule and approve")
    text.fill('[[policy.rules]]\nname = "broken"\ndecide = "perhaps"\n')
    expect(card(tab).get_by_role("alert").first).to_be_visible()
    expect(save).to_be_disabled()
    text.fill(
        '[[policy.rules]]\nname = "sweeping"\ndecide = "allow"\ncommand = ["rm -rf old", "rm -rf old/*"]\n'
        'even_destructive = ["recursive_delete"]\n'
    )
    expect(card(tab)).to_contain_text("✓ This line runs unasked from then on")
    answered(tab, "Save rule and approve")

    expect(card(tab)).to_contain_text("Approved once by you")
    agent.answer(call)
    assert not (tab.server.home / "old").exists()
    assert "sweeping" in (tab.server.home / "config.toml").read_text()
    agent.call("wsh_run_command", {"session": session, "input": "rm -rf old/x"})


def test_what_the_agent_says_is_marked_as_its_words(tab: Tab, agent: Mcp, session: str) -> None:
    inbox(tab)

    call = agent.begin(
        "wsh_run_command",
        {"session": session, "input": "touch said", "why": "the tests\u202e need it"},
    )

    expect(card(tab).locator("q")).to_have_text("the testsU+202E need it")
    expect(card(tab)).to_contain_text("its own words, not checked")
    answered(tab, "Decline")
    agent.answer(call)
