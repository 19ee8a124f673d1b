"""The screen of policy: every rule, and what would become of a command."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.server_process import ServerProcess
from tests.web.agent import Mcp
from tests.web.axe import WINDOW, findings
from tests.web.browsing import Tab, browsing
from tests.web.policy.ruling import RULES, answer, command, open_text, put_rules, row, write

pytestmark = [pytest.mark.browser, pytest.mark.pty]


def test_every_rule_is_shown_with_its_source_its_reason_and_its_examples(tab: Tab) -> None:
    tab.goto("policy")

    yours = tab.page.get_by_role("table", name="Yours")
    expect(yours.get_by_role("row")).to_have_count(4)
    decided = yours.locator("tbody tr td:first-child").all_inner_texts()
    assert [re.sub(r"\W", "", each) for each in decided] == ["deny", "ask", "allow"]
    expect(row(tab, "no-publishing")).to_contain_text("npm publish **")
    expect(row(tab, "no-publishing")).to_contain_text("a person <b>publishes</b>")
    expect(row(tab, "no-publishing")).to_contain_text("config.toml, line 5")
    row(tab, "no-publishing").get_by_text("2 examples").click()
    expect(row(tab, "no-publishing").get_by_role("button")).to_contain_text(
        ["cd pkg && npm publish --tag next", "npm pack"]
    )
    expect(tab.page.get_by_role("table", name="Shipped")).to_contain_text("answers-are-for-people")
    expect(tab.page.get_by_text("Profile guarded")).to_be_visible()
    tab.page.get_by_text("What is asked about as destructive").click()
    expect(tab.page.locator("[data-class=recursive_delete]")).to_contain_text("deletes directories")


def test_rules_are_filtered_by_words_and_by_what_they_decide(tab: Tab) -> None:
    tab.goto("policy")
    expect(row(tab, "tests-run")).to_be_visible()

    tab.press("/")
    expect(tab.page.locator("#filter")).to_be_focused()
    tab.type("publish")
    expect(row(tab, "tests-run")).to_have_count(0)
    expect(row(tab, "no-publishing")).to_be_visible()
    tab.page.locator("#filter").fill("")
    tab.page.get_by_role("button", name="allow", exact=False).click()

    expect(row(tab, "tests-run")).to_be_visible()
    expect(row(tab, "no-publishing")).to_have_count(0)
    tab.page.reload()
    expect(row(tab, "tests-run")).to_be_visible()
    expect(row(tab, "no-publishing")).to_have_count(0)


def test_a_command_is_judged_as_it_is_typed_and_a_link_shows_the_same(tab: Tab) -> None:
    tab.goto("policy")

    command(tab).press_sequentially("rm -rf ../old")
    expect(answer(tab)).to_have_attribute("data-is", "ask")
    expect(answer(tab)).to_contain_text("recursive_delete")
    expect(answer(tab)).to_contain_text("catalogue:recursive_delete")
    expect(answer(tab)).to_contain_text("list what would go first")
    tab.page.get_by_label("Mode").select_option("headless")
    expect(answer(tab)).to_have_attribute("data-is", "deny")
    tab.page.get_by_label("Directory").fill("/srv/work")
    expect(tab.page).to_have_url(re.compile("cwd="))
    address = tab.page.url

    tab.goto("settings")
    expect(tab.page.get_by_role("heading", name="Settings")).to_be_visible()
    tab.page.goto(address)

    expect(command(tab)).to_have_value("rm -rf ../old")
    expect(tab.page.get_by_label("Mode")).to_have_value("headless")
    expect(tab.page.get_by_label("Directory")).to_have_value("/srv/work")
    expect(answer(tab)).to_have_attribute("data-is", "deny")


def test_an_answer_names_the_rule_that_decided_and_its_reason(tab: Tab) -> None:
    tab.goto("policy?command=npm+publish")

    expect(answer(tab)).to_have_attribute("data-is", "deny")
    expect(answer(tab)).to_contain_text("rule:no-publishing")
    expect(answer(tab)).to_contain_text("a person <b>publishes</b>")
    command(tab).fill("make test")
    expect(answer(tab)).to_have_attribute("data-is", "allow")
    command(tab).fill("mcp__github__delete_repository")

    expect(answer(tab)).to_have_attribute("data-is", "ask")
    expect(answer(tab)).to_contain_text("rule:deleting-tools")


def test_what_would_be_safer_is_one_sentence_with_its_code_in_it(tab: Tab) -> None:
    tab.goto("policy?command=git+push+--force+origin+main")
    safer = answer(tab).locator("dt", has_text="Safer").locator("xpath=following-sibling::dd")
    expect(safer.locator("code")).to_have_text("git revert")

    assert safer.locator("code").evaluate("(each) => getComputedStyle(each).display") == "inline"
    assert "\n" not in safer.inner_text()


def test_another_profile_can_be_tried(tab: Tab) -> None:
    tab.goto("policy?command=./build.sh")
    expect(answer(tab)).to_have_attribute("data-is", "allow")

    tab.page.get_by_label("Profile").select_option("strict")

    expect(answer(tab)).to_have_attribute("data-is", "ask")
    assert tab.server.client.get("/policy")["profile"] == "guarded"


def test_an_example_of_a_rule_is_tried_with_one_click(tab: Tab) -> None:
    tab.goto("policy")
    row(tab, "no-publishing").get_by_text("2 examples").click()

    row(tab, "no-publishing").get_by_role("button", name="npm pack").click()

    expect(command(tab)).to_have_value("npm pack")
    expect(answer(tab)).to_have_attribute("data-is", "allow")


def test_trying_a_command_runs_nothing(tab: Tab) -> None:
    made = tab.server.home / "made-by-trying"
    tab.goto("policy")

    command(tab).press_sequentially(f"touch {made}")
    command(tab).press("Enter")
    expect(answer(tab)).to_have_attribute("data-is", "allow")

    assert not made.exists()
    assert tab.server.client.get("/sessions") == []
    assert tab.server.client.get("/audit", operation="command.run") == []


def test_characters_that_hide_in_a_command_are_shown(tab: Tab) -> None:
    tab.goto("policy")

    command(tab).fill("echo \u202egnp.exe")

    expect(answer(tab)).to_contain_text("U+202E")


def test_a_standing_approval_is_among_the_rules_and_can_be_taken_back(tab: Tab) -> None:
    client = tab.server.client
    put_rules(
        tab.server,
        RULES + '\n[[policy.rules]]\nname = "touching"\ndecide = "ask"\ncommand = ["touch **"]\n',
    )
    client.post("/sessions", {"name": "s", "command": "bash", "cwd": str(tab.server.home)})
    tab.open("s")  # somebody who can be asked
    with Mcp(tab.server) as agent:
        call = agent.begin("wsh_run_command", {"session": "s", "input": "touch always"})
        expect(tab.page.get_by_text("touch always").first).to_be_visible()
        asked: list[dict[str, Any]] = client.get("/approvals")["approvals"]
        client.post(
            f"/approvals/{asked[0]['id']}/approve",
            {"covers": "always", "rule": asked[0]["choices"][-1]["rule"]},
        )
        agent.answer(call)

    tab.goto("policy")
    standing = tab.page.get_by_role("table", name="Standing approvals")
    expect(standing).to_contain_text("touch always")
    standing.get_by_role("button", name="Take back").click()
    dialog = tab.page.get_by_role("dialog")
    expect(dialog).to_contain_text("touch always")
    dialog.get_by_role("button", name="Take back").click()

    expect(standing).to_have_count(0)
    assert client.get("/approvals/standing") == []


def test_nothing_serious_is_found_on_the_screen(browser: Browser, server: ServerProcess) -> None:
    with browsing(browser, server, **WINDOW) as tab:
        tab.goto("policy?command=rm+-rf+../old")
        expect(answer(tab)).to_have_attribute("data-is", "ask")
        tab.page.get_by_text("What is asked about as destructive").click()
        problems = findings(tab)
        open_text(tab)
        write(tab, RULES.replace("deny", "deni"))
        expect(tab.page.locator("#problems li")).to_have_count(1)
        problems += findings(tab)
        write(tab, RULES.replace("deny", "ask"))
        tab.page.get_by_role("button", name="Review changes").click()
        expect(tab.page.locator("#review")).not_to_contain_text("Trying them")
        problems += findings(tab)

        assert problems == []
