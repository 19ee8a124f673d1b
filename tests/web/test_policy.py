"""The screen of policy: every rule, what would become of a command, and a text that is looked at before it is saved."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.homes import settle_home
from tests.server_process import ServerProcess, running_server
from tests.web.agent import Mcp
from tests.web.browsing import PHONE, Tab, browsing, written_home
from tests.web.test_access import AXE, findings

pytestmark = [pytest.mark.browser, pytest.mark.pty]

RULES = """\
# what goes out is a person's
[[policy.rules]]
name = "no-publishing"
decide = "deny"
command = ["npm publish **"]
matches = ["cd pkg && npm publish --tag next"]
not_matches = ["npm pack"]
why = "a person <b>publishes</b>"

[[policy.rules]]
name = "tests-run"
decide = "allow"
command = ["make test"]

[[policy.rules]]
name = "deleting-tools"
decide = "ask"
tool = "mcp__*__delete_*"
"""

OTHER = '[policy]\nprofile = "guarded"\n\n'
"""A setting that stays as it is."""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        written_home(home)
        (home / "config.toml").write_text(OTHER + RULES)
        with running_server(home) as started:
            yield started


@pytest.fixture(autouse=True)
def rules_as_they_were(server: ServerProcess) -> None:
    """Each test begins with the same rules, in the file and in force."""
    put_rules(server, RULES)


def put_rules(server: ServerProcess, text: str) -> None:
    """As somebody else would, meanwhile."""
    base = server.client.get("/policy/rules/text")["hash"]
    server.client.put("/policy/rules/text", {"text": text, "base": base})


def row(tab: Tab, name: str) -> Locator:
    return tab.page.locator(f"[data-rule={name}]")


def answer(tab: Tab) -> Locator:
    return tab.page.locator("#answer")


def command(tab: Tab) -> Locator:
    return tab.page.get_by_label("A command line, or a tool")


def write(tab: Tab, text: str) -> None:
    """Change the text, and wait until it was judged."""
    tab.page.locator("#rules").fill(text)
    expect(tab.page.locator("#checked")).not_to_have_text("Checking…")


def open_text(tab: Tab) -> None:
    tab.goto("policy?view=text")
    expect(tab.page.locator("#rules")).to_have_value(RULES)
    expect(tab.page.locator("#checked")).to_have_text("As in the file")


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
    expect(tab.page.locator("[data-class=recursive_delete]")).to_contain_text("whole directories")


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

    command(tab).press_sequentially("rm -rf ./old")
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

    expect(command(tab)).to_have_value("rm -rf ./old")
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
    expect(conflict).to_contain_text("Somebody else changed the rules meanwhile")
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
            {"covers": "standing", "rule": asked[0]["standing_rule"]},
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


def test_nothing_serious_is_found_on_the_screen(browser: Browser, server: ServerProcess) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: cd web && npm ci")
    with browsing(browser, server, bypass_csp=True) as tab:
        tab.goto("policy?command=rm+-rf+old")
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


def test_on_a_phone_everything_is_within_reach(browser: Browser, server: ServerProcess) -> None:
    options: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    with browsing(browser, server, **options) as tab:
        tab.goto("policy?command=rm+-rf+old")
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
