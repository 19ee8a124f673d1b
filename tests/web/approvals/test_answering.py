"""Agents ask, people answer: yes, no, another line, for later too; by hand, by key, from elsewhere."""

import re
import tempfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.homes import settle_home
from tests.server_process import running_server
from tests.web.agent import Mcp
from tests.web.approvals.asking import RULES, answered, ask, card, decline, inbox, waiting
from tests.web.browsing import Tab, browsing

pytestmark = [pytest.mark.browser, pytest.mark.pty]


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
    tab.page.get_by_label("Note to the agent").fill("ask me tomorrow")
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


def test_an_edit_that_does_more_than_was_asked_says_so_before_it_runs(
    tab: Tab, agent: Mcp, session: str
) -> None:
    (tab.server.home / "heap" / ".git").mkdir(parents=True)
    tab.open(session)

    call = ask(agent, "touch heap/one")
    answered(tab, "Edit")
    tab.page.get_by_label("Run this instead, once").fill("rm -rf heap/.git")
    answered(tab, "Approve the edited line")

    expect(card(tab).get_by_role("alert")).to_contain_text("what the question did not say")
    assert (tab.server.home / "heap" / ".git").exists()
    tab.page.get_by_label("Run this instead, once").fill("rm -rf ./heap/.git")
    expect(card(tab).get_by_role("button", name="Approve the edited line")).to_be_visible()
    tab.page.get_by_label("Run this instead, once").fill("rm -rf heap/.git")
    answered(tab, "Run it all the same")
    expect(card(tab)).to_contain_text("Approved with edits by you")
    agent.answer(call)
    assert not (tab.server.home / "heap" / ".git").exists()


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

            expect(card(tab)).to_contain_text("No answer in time: declined")
            assert "no person answered in time" in agent.text(call)
            assert not (home / "late").exists()


def test_a_standing_rule_is_shown_before_it_is_saved_and_can_be_taken_back(
    tab: Tab, agent: Mcp, session: str
) -> None:
    tab.open(session)

    call = ask(agent, "touch always")
    answered(tab, "Allow")
    tab.page.get_by_label("Always").check()
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
    expect(card(tab)).to_contain_text("until this session ends")
    answered(tab, "Approve in this session")
    expect(card(tab)).to_contain_text("Approved for this session by you")
    agent.answer(call)

    agent.call("wsh_run_command", {"session": session, "input": "touch here"})
    [standing] = tab.server.client.get("/approvals/standing")
    assert (standing["covers"], standing["session"], standing["uses"]) == ("session", "s", 1)


def test_what_runs_unasked_for_a_time_is_in_sight_everywhere_until_it_is_taken_back(
    tab: Tab, agent: Mcp, session: str
) -> None:
    tab.open(session)

    call = ask(agent, "git push --force nowhere one")
    answered(tab, "Allow")
    tab.page.get_by_label("For 1 hour").check()
    expect(card(tab)).to_contain_text("asked about as git_rewrite")
    tab.page.get_by_label("Ends after").select_option("2 hours")
    answered(tab, "Approve for 2 hours")
    expect(card(tab)).to_contain_text("Approved for a time by you")
    agent.answer(call)
    unasked = agent.text(ask(agent, "git push --force nowhere two"))

    assert "fatal" in unasked  # by git: it ran
    tab.goto("history")
    expect(tab.page.locator("#unasked")).to_contain_text("Unasked until ")
    expect(tab.page.locator("#unasked")).to_contain_text("git_rewrite")
    tab.goto("approvals")
    expect(tab.page.locator("#standing")).to_contain_text("used once")
    tab.page.locator("#unasked").get_by_role("button", name="Take back").click()
    tab.page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    expect(tab.page.locator("#unasked")).to_have_count(0)
    expect(tab.page.locator("#standing")).to_have_count(0)
    again = ask(agent, "git push --force nowhere two")
    answered(tab, "Decline")
    agent.answer(again)


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
    expect(decline(tab)).to_be_enabled()
    tab.page.locator(".xterm-helper-textarea").focus()
    tab.type("# a d a d\n")
    tab.wait_text(session, "# a d a d")
    tab.page.get_by_role("button", name="Fit", exact=True).focus()
    tab.type("dd")  # beside the card, in nothing that takes text
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
          window.hastened = button.getAttribute('aria-disabled');
          for (const key of ['a', 'd']) button.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
          for (const each of document.querySelectorAll('[data-approval] footer button')) each.click();
        }).observe(document.body, {childList: true, subtree: true})"""
    )

    call = ask(agent, "touch hasty")
    expect(card(tab)).to_be_visible()
    expect(card(tab).get_by_role("button", name="Decline")).to_be_focused()

    assert tab.page.evaluate("window.hastened") == "true"
    assert [each["state"] for each in waiting(tab.server)] == ["pending"]
    expect(decline(tab)).to_be_enabled()
    tab.press("d")
    expect(card(tab)).to_contain_text("Declined by you")
    agent.answer(call)


def test_a_click_made_before_the_card_settled_does_not_count_however_late_it_is_heard(
    tab: Tab, agent: Mcp, session: str
) -> None:
    inbox(tab)
    call = ask(agent, "touch late-heard")
    expect(decline(tab)).to_be_enabled()

    card(tab).get_by_role("button", name="Approve once").evaluate(
        """(button) => {
          const click = new MouseEvent('click', {bubbles: true});
          Object.defineProperty(click, 'timeStamp', {value: performance.now() - 60_000});
          button.dispatchEvent(click);
        }"""
    )
    answered(tab, "Decline")

    expect(card(tab)).to_contain_text("Declined by you")
    agent.answer(call)


def test_a_rule_is_edited_tried_and_saved_in_place_of_the_question(
    tab: Tab, agent: Mcp, session: str
) -> None:
    (tab.server.home / ".git").mkdir(exist_ok=True)
    inbox(tab)

    call = ask(agent, "rm -rf .git")
    answered(tab, "Allow")
    tab.page.get_by_label("Always").check()
    tab.page.get_by_label("a rule of your policy that you can edit").check()
    text = tab.page.get_by_label("This rule is added to your policy")
    expect(text).to_have_value(re.compile('command = \\["rm -rf .git"\\]'))
    save = card(tab).get_by_role("button", name="Save rule and approve")
    text.fill('[[policy.rules]]\nname = "broken"\ndecide = "perhaps"\n')
    expect(card(tab).get_by_role("alert").first).to_be_visible()
    expect(save).to_be_disabled()
    text.fill(
        '[[policy.rules]]\nname = "sweeping"\ndecide = "allow"\ncommand = ["rm -rf .git", "rm -rf .git/*"]\n'
        'even_destructive = ["workspace_delete"]\n'
    )
    expect(card(tab)).to_contain_text("✓ This line runs unasked from then on")
    answered(tab, "Save rule and approve")

    expect(card(tab)).to_contain_text("Approved once by you")
    agent.answer(call)
    assert not (tab.server.home / ".git").exists()
    assert "sweeping" in (tab.server.home / "config.toml").read_text()
    agent.call("wsh_run_command", {"session": session, "input": "rm -rf .git/x"})
