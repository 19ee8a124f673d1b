"""Commands in the page: marks, header, exit codes, copying, links, search over all history."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.browsing import Tab

pytestmark = [pytest.mark.browser, pytest.mark.pty]


@pytest.fixture(scope="module")
def window_options() -> dict[str, Any]:
    return {"permissions": ["clipboard-read", "clipboard-write"]}


def test_each_command_has_a_mark_at_its_row_with_how_it_ended(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    for line in ("echo fine", "false", "echo again"):
        tab.server.client.post("/sessions/s/run", {"input": line})
    marks = tab.page.get_by_role("group", name="Commands in sight").get_by_role("button")
    expect(marks).to_have_count(3)

    assert [each.get_attribute("data-is") for each in marks.all()] == ["good", "bad", "good"]
    rows = tab.view(
        "s",
        "view.blocks.marks.value.map((each) => view.term.buffer.active.getLine(each.row).translateToString(true))",
    )
    assert rows == ["$ echo fine", "$ false", "$ echo again"]


def test_commands_of_before_are_marked_too(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    for line in ("echo one", "seq 1 3", "false"):
        tab.server.client.post("/sessions/s/run", {"input": line})

    tab.open("s")
    tab.page.wait_for_function("() => duettyViews.get('s').blocks.marks.value.length === 3")

    rows = tab.view(
        "s",
        "view.blocks.marks.value.map((each) => view.term.buffer.active.getLine(each.row).translateToString(true))",
    )
    assert rows == ["$ echo one", "$ seq 1 3", "$ false"]


def test_the_header_says_which_command_the_rows_belong_to(tab: Tab) -> None:
    client = tab.server.client
    client.post("/sessions", {"name": "s", "command": "bash"})
    client.post("/sessions/s/run", {"input": "seq 1 200"})
    client.post("/sessions/s/run", {"input": "seq 300 400; false"})
    tab.open("s")
    header = tab.page.locator("#sticky")
    expect(header).to_contain_text("seq 300 400; false")
    expect(header).to_contain_text("✗ 1")
    expect(header.locator("span")).to_have_text(re.compile(r"^[\d.]+ m?s$"))
    tab.page.wait_for_function("() => duettyViews.get('s').blocks.marks.value.length === 2")

    tab.press("Control+Shift+ArrowUp")
    tab.press("Control+Shift+ArrowUp")

    first_row = (
        "view.term.buffer.active.getLine(view.fitting.viewport.value.top).translateToString(true)"
    )
    expect(header).to_contain_text("seq 1 200")
    assert tab.view("s", first_row) == "$ seq 1 200"
    tab.press("Control+Shift+ArrowDown")
    expect(header).to_contain_text("seq 300 400")
    assert tab.view("s", first_row) == "$ seq 300 400; false"


def test_a_running_command_is_shown_as_running_until_it_ends(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    tab.type("cat\n")
    first = tab.page.locator("#blocks li").first
    expect(first).to_have_attribute("data-is", "running")
    tab.press("Control+D")

    expect(first).to_have_attribute("data-is", "good")
    expect(first).to_contain_text("✓ 0")


def test_command_output_and_markdown_are_copied(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash", "cwd": "/usr"})
    tab.server.client.post("/sessions/s/run", {"input": "printf 'a\\nb\\n'; false"})
    tab.open("s")
    expect(tab.page.locator("#blocks li")).to_have_count(1)

    def copy(what: str) -> None:
        tab.page.locator("#blocks").get_by_role("button", name="Actions for").click()
        tab.page.get_by_role("menuitem", name=what, exact=True).click()

    copy("Copy command")
    tab.wait_copied("printf 'a\\nb\\n'; false")
    copy("Copy output")
    tab.wait_copied("a\nb")
    copy("Copy link")
    tab.wait_copied(f"{tab.server.url()}/ui/s/s?block=1")
    copy("Copy as Markdown")
    tab.wait_copied(
        "```console\n/usr$ printf 'a\\nb\\n'; false\na\nb\n```\n\nexit code 1,", and_more=True
    )


def test_a_link_to_a_command_opens_it(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.server.client.post("/sessions/s/run", {"input": "seq 1 100"})
    tab.server.client.post("/sessions/s/run", {"input": "seq 200 300"})

    tab.goto("s/s?block=1")
    tab.wait_ready("s")

    tab.page.wait_for_function(
        "() => { const view = duettyViews.get('s'); return view.term.buffer.active.getLine(view.fitting.viewport.value.top).translateToString(true) === '$ seq 1 100'; }"
    )


def test_a_command_whose_rows_are_gone_opens_with_its_output(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.server.client.post("/sessions/s/run", {"input": "echo long ago"})
    tab.server.client.post("/sessions/s/run", {"input": "seq 1 3000"})

    tab.goto("s/s?block=1")

    expect(tab.page.locator("#block-output")).to_have_text("long ago")


def test_a_program_cannot_invent_a_command(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    tab.server.client.post(
        "/sessions/s/run",
        {
            "input": r"printf '\e]133;A\a$ \e]133;B\arm -rf /\n\e]133;C\agone\n\e]133;D;0\a'; echo real"
        },
    )
    tab.wait_text("s", "real")
    expect(tab.page.locator("#blocks li")).to_have_count(1)

    expect(tab.page.locator("#blocks")).not_to_contain_text("rm -rf / ✓")


def test_everything_ever_run_is_searched_from_one_place(tab: Tab) -> None:
    client = tab.server.client
    for name in ("one", "two"):
        client.post("/sessions", {"name": name, "command": "bash"})
    client.post("/sessions/one/run", {"input": "echo the zebra was here"})
    client.post("/sessions/two/run", {"input": "cat /etc/zebra-missing"})

    tab.goto("history")
    tab.page.get_by_label("Search all commands and their output").fill("zebra")
    hits = tab.page.locator("#hits > li")
    expect(hits.filter(has_text="the zebra was here").first).to_be_visible()
    expect(hits.filter(has_text="zebra-missing").first).to_be_visible()
    tab.page.get_by_label("only failed").check()
    expect(hits.filter(has_text="the zebra was here")).to_have_count(0)

    assert tab.page.url.endswith("/ui/history?q=zebra&failed=yes")
    hits.first.get_by_role("button").click()
    expect(tab.page.locator("#block-output")).to_contain_text("No such file")
