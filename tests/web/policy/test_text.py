"""The rules as text: judged as it is typed, looked at before it is saved, never over somebody else's."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.server_process import ServerProcess
from tests.web.browsing import PHONE, Tab, browsing
from tests.web.policy.ruling import RULES, answer, command, open_text, put_rules, row, write

pytestmark = [pytest.mark.browser, pytest.mark.pty]


def test_what_is_wrong_with_a_text_is_told_with_its_line_as_it_is_typed(tab: Tab) -> None:
    open_text(tab)

    write(tab, RULES.replace('decide = "allow"', 'decide = "alow"'))

    problem = tab.page.locator("#problems li")
    expect(problem).to_have_count(1)
    expect(problem).to_contain_text("decide must be one of deny, ask, allow")
    expect(tab.page.locator("#rules")).to_have_attribute("aria-invalid", "true")
    expect(tab.page.get_by_role("button", name="Review changes")).to_be_disabled()
    problem.get_by_role("button", name="Line 12").click()
    expect(tab.page.locator("#rules")).to_be_focused()
    before = tab.page.locator("#rules").evaluate(
        "(area) => area.value.slice(0, area.selectionStart)"
    )
    assert str(before).count("\n") == 11
    write(tab, RULES.replace('"npm pack"', '"npm publish"'))
    expect(problem.get_by_role("button", name="Line 7")).to_be_visible()
    tab.page.locator("#rules").press("Control+A")
    tab.type("[[policy.rules")
    expect(problem.get_by_role("button", name="Line 1", exact=True)).to_be_visible()


def test_a_change_is_shown_line_by_line_with_what_would_be_decided_otherwise_and_then_saved(
    tab: Tab,
) -> None:
    whole = tab.server.paths.config_file.read_text()
    open_text(tab)
    write(tab, RULES.replace('decide = "deny"', 'decide = "ask"'))

    tab.page.get_by_role("button", name="Review changes").click()

    review = tab.page.locator("#review")
    expect(review.get_by_role("heading", name="What would change")).to_be_focused()
    expect(review.locator("[data-is=gone]")).to_contain_text('decide = "deny"')
    expect(review.locator("[data-is=new]")).to_contain_text('decide = "ask"')
    expect(review.locator("[data-is=changed]")).to_contain_text("no-publishing")
    expect(review).to_contain_text(re.compile(r"deny → \?ask\s*cd pkg && npm publish --tag next"))
    assert tab.server.paths.config_file.read_text() == whole
    review.get_by_role("button", name="Save, in force at once").click()
    expect(tab.page.locator("#checked")).to_have_text("As in the file")

    assert tab.server.paths.config_file.read_text() == whole.replace(
        'decide = "deny"', 'decide = "ask"'
    )
    judged = tab.server.client.post("/policy/check", {"command": "npm publish"})
    assert judged["rule"] == "rule:no-publishing"
    assert judged["decision"] != "allow"
    tab.page.get_by_role("tab", name="Rules").click()
    expect(row(tab, "no-publishing")).to_contain_text("ask")


def test_a_text_that_somebody_else_changed_meanwhile_is_not_overwritten(tab: Tab) -> None:
    open_text(tab)
    mine = RULES.replace('name = "tests-run"', 'name = "mine"')
    write(tab, mine)
    tab.page.get_by_role("button", name="Review changes").click()
    expect(tab.page.locator("#review")).to_be_visible()
    theirs = RULES.replace('why = "a person', 'why = "somebody')
    put_rules(tab.server, theirs)

    tab.page.get_by_role("button", name="Save, in force at once").click()

    conflict = tab.page.locator("#conflict")
    expect(conflict).to_contain_text("The rules were changed elsewhere meanwhile")
    expect(conflict.get_by_label("What they changed")).to_contain_text("somebody")
    assert tab.server.client.get("/policy/rules/text")["text"] == theirs
    conflict.get_by_role("button", name="Go on with mine").click()
    expect(tab.page.locator("#rules")).to_have_value(mine)
    expect(tab.page.locator("#checked")).to_contain_text("Good")
    tab.page.get_by_role("button", name="Review changes").click()
    expect(tab.page.locator("#review [data-is=gone]").first).to_contain_text("somebody")
    tab.page.get_by_role("button", name="Save, in force at once").click()
    expect(tab.page.locator("#checked")).to_have_text("As in the file")
    assert tab.server.client.get("/policy/rules/text")["text"] == mine


def test_their_text_can_be_taken_instead(tab: Tab) -> None:
    open_text(tab)
    write(tab, RULES + "\n# mine\n")
    theirs = RULES + "\n# theirs\n"
    put_rules(tab.server, theirs)

    tab.page.locator("#rules").press("End")
    tab.type(" ")
    tab.page.get_by_role("button", name="Take theirs, drop mine").click()

    expect(tab.page.locator("#rules")).to_have_value(re.compile("# theirs"))
    expect(tab.page.get_by_role("button", name="Drop my changes")).to_have_count(0)


def test_a_text_that_is_not_saved_is_kept_and_can_be_tried(tab: Tab) -> None:
    open_text(tab)
    write(tab, RULES.replace("make test", "make deploy"))

    tab.page.get_by_role("link", name="Sessions", exact=True).first.click()
    expect(tab.page.locator("#rules")).to_have_count(0)
    tab.page.evaluate("document.activeElement.blur()")
    tab.type("gp")
    tab.page.get_by_role("tab", name="Text").click()
    expect(tab.page.locator("#rules")).to_have_value(re.compile("make deploy"))
    tab.page.get_by_label("Profile").select_option("strict")
    command(tab).fill("make deploy")
    expect(answer(tab)).to_contain_text("rule:tests-run")
    tab.page.get_by_label("with my text that is not saved yet").uncheck()

    expect(answer(tab)).not_to_contain_text("rule:tests-run")
    tab.page.get_by_role("button", name="Drop my changes").click()
    expect(tab.page.locator("#rules")).to_have_value(RULES)


def test_the_text_is_changed_and_saved_by_keyboard_alone(tab: Tab) -> None:
    tab.goto("policy")
    expect(row(tab, "tests-run")).to_be_visible()

    tab.page.get_by_role("tab", name="Rules").focus()
    tab.press("ArrowRight")
    expect(tab.page.get_by_role("tab", name="Text")).to_be_focused()
    expect(tab.page.locator("#checked")).to_have_text("As in the file")
    tab.press("Tab")
    expect(tab.page.locator("#rules")).to_be_focused()
    tab.press("Control+End")
    tab.type("# by hand\n")
    expect(tab.page.locator("#checked")).to_contain_text("Good")
    tab.press("Control+S")
    expect(tab.page.get_by_role("heading", name="What would change")).to_be_focused()
    tab.press("Escape")
    expect(tab.page.locator("#rules")).to_be_visible()
    tab.page.locator("#rules").focus()
    tab.press("Control+S")
    expect(tab.page.get_by_role("heading", name="What would change")).to_be_focused()
    save = tab.page.get_by_role("button", name="Save, in force at once")
    save.focus()
    tab.press("Enter")

    expect(tab.page.locator("#checked")).to_have_text("As in the file")
    assert tab.server.client.get("/policy/rules/text")["text"] == RULES + "# by hand\n"


def test_who_may_only_look_cannot_change_the_text(browser: Browser, server: ServerProcess) -> None:
    token = server.client.post("/tokens", {"name": "guest", "scopes": ["read"]})["token"]
    with browsing(browser, server, sign_in=False) as tab:
        tab.page.goto(f"{server.url()}/ui/policy?view=text#token={token}")
        expect(tab.page.locator("#rules")).to_have_value(RULES)

        expect(tab.page.locator("#rules")).not_to_be_editable()
        expect(tab.page.get_by_role("button", name="Review changes")).to_have_count(0)


def test_a_first_rule_is_written_from_an_example(tab: Tab) -> None:
    put_rules(tab.server, "")
    tab.goto("policy")

    tab.page.get_by_role("button", name="Write one").click()
    tab.page.get_by_role("button", name="Start with an example").click()

    expect(tab.page.locator("#checked")).to_have_text("Good: one rule")


def test_on_a_phone_everything_is_within_reach(browser: Browser, server: ServerProcess) -> None:
    options: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    with browsing(browser, server, **options) as tab:
        tab.goto("policy?command=rm+-rf+../old")
        expect(answer(tab)).to_have_attribute("data-is", "ask")
        expect(row(tab, "no-publishing")).to_contain_text("npm publish **")
        assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

        tab.page.get_by_role("tab", name="Text").tap()
        write(tab, RULES.replace("deny", "ask"))
        tab.page.get_by_role("button", name="Review changes").tap()
        expect(tab.page.locator("#review [data-is=new]").first).to_be_visible()

        assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        small = tab.page.evaluate(
            "() => [...document.querySelectorAll('main button, main summary')].filter((each) => each.checkVisibility() && each.getBoundingClientRect().height < 40).map((each) => each.textContent)"
        )
        assert small == []
