"""The trail on the page: found by filters that the address holds, followed to one call, verified, taken away."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import get_args
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, expect

from duetty.calls import RecordKind
from tests.homes import settle_home
from tests.server_process import ServerProcess, running_server
from tests.web.agent import Mcp
from tests.web.browsing import TABLET, Tab, browsing, written_home

pytestmark = [pytest.mark.browser, pytest.mark.pty]

DENY = '[[policy.rules]]\nname = "never"\ndecide = "deny"\ncommand = ["mkfifo **"]\n'
EVIL = "<img src=x onerror='window.pwned=1'>"


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        written_home(home)
        (home / "config.toml").write_text(DENY)
        with running_server(home) as started, Mcp(started) as agent:
            for name in ("left", "right"):
                started.client.post("/sessions", {"name": name, "command": "bash"})
            agent.call("wsh_run_command", {"session": "left", "input": "echo over here"})
            agent.call("wsh_run_command", {"session": "right", "input": f'echo "{EVIL}"'})
            agent.answer(agent.begin("wsh_run_command", {"session": "left", "input": "mkfifo p"}))
            for name in ("left", "right"):
                started.client.delete(f"/sessions/{name}")
            yield started


def rows(tab: Tab) -> Locator:
    return tab.page.locator("#trail [data-seq]")


def query(tab: Tab) -> dict[str, list[str]]:
    return parse_qs(urlsplit(tab.page.url).query)


def test_every_filter_is_in_the_address_and_comes_back_from_it(tab: Tab) -> None:
    tab.goto("audit")
    expect(rows(tab).first).to_be_visible()

    tab.page.get_by_label("Decision").select_option("denied")
    expect(rows(tab)).to_have_count(1)
    expect(rows(tab)).to_contain_text("mkfifo p")
    tab.page.get_by_label("Session", exact=True).fill("left")
    tab.page.get_by_label("Operation").fill("command.run")
    tab.page.get_by_label("Who").fill("agent:local")
    tab.page.get_by_label("Anywhere").fill("mkfifo")
    tab.page.get_by_label("Time").select_option("last hour")
    expect(tab.page.get_by_role("button", name="Clear filters")).to_be_visible()
    wanted = {
        "decision": ["deny"],
        "session": ["left"],
        "operation": ["command.run"],
        "actor": ["agent:local"],
        "text": ["mkfifo"],
        "since": ["3600"],
    }
    assert query(tab) == wanted
    tab.page.reload()

    expect(tab.page.get_by_label("Decision")).to_have_value("deny")
    expect(tab.page.get_by_label("Who")).to_have_value("agent:local")
    expect(rows(tab)).to_have_count(1)
    tab.page.get_by_label("Session", exact=True).fill("right")
    expect(tab.page.get_by_text("No record fits")).to_be_visible()
    tab.page.get_by_role("button", name="Show all").click()
    expect(rows(tab).first).to_be_visible()
    assert query(tab) == {}


def test_what_did_not_run_is_found_whoever_said_no(tab: Tab) -> None:
    tab.goto("audit")
    expect(rows(tab).first).to_be_visible()

    tab.page.get_by_label("Decision").select_option("did not run")

    expect(rows(tab)).to_have_count(1)
    expect(rows(tab)).to_contain_text("mkfifo p")
    tab.page.reload()
    expect(tab.page.get_by_label("Decision")).to_have_value("refused")


def test_on_a_tablet_what_belongs_to_a_record_is_on_one_line(
    browser: Browser, server: ServerProcess
) -> None:
    with browsing(browser, server, viewport=TABLET, has_touch=True) as tab:
        tab.goto("audit")
        expect(rows(tab).first).to_be_visible()

        tops = rows(tab).first.evaluate(
            """(row) => [...row.querySelectorAll('td')].slice(0, 3).map((cell) => {
              const range = document.createRange();
              range.selectNodeContents(cell.querySelector('button, bdi, b') ?? cell);
              const box = range.getBoundingClientRect();
              return box.top + box.height / 2;
            })"""
        )

        assert max(tops) - min(tops) < 4


def test_a_span_of_time_is_a_filter(tab: Tab) -> None:
    tab.goto("audit")
    expect(rows(tab).first).to_be_visible()

    tab.page.get_by_label("Time").select_option("between…")
    tab.page.get_by_label("From").fill("2020-01-01T00:00")
    tab.page.get_by_label("To", exact=True).fill("2020-02-01T00:00")

    expect(tab.page.get_by_text("No record fits")).to_be_visible()
    assert query(tab) == {"from": ["2020-01-01T00:00"], "to": ["2020-02-01T00:00"]}


def test_records_of_every_kind_can_be_chosen(tab: Tab) -> None:
    tab.goto("audit")
    expect(rows(tab).first).to_be_visible()

    offered = tab.page.get_by_label("Kind").locator("option").all_text_contents()

    assert set(offered) == {"any", *get_args(RecordKind)}


def test_a_record_opens_and_leads_to_everything_about_its_call(tab: Tab) -> None:
    tab.goto("audit?text=over+here&kind=call")
    expect(rows(tab)).to_have_count(1)

    rows(tab).get_by_role("button").click()
    detail = tab.page.locator("dl").filter(has_text="hash")
    expect(detail).to_contain_text("over here")
    expect(detail).to_contain_text("✓ fits the chain")
    tab.page.get_by_role("link", name="Everything about this call").click()

    expect(rows(tab)).to_have_count(2)  # the call, and its outcome
    assert set(query(tab)) == {"call"}


def test_text_in_the_trail_is_text(tab: Tab) -> None:
    tab.goto("audit?session=right")

    expect(rows(tab).filter(has_text="<img src=x").first).to_be_visible()
    for row in rows(tab).all()[:3]:
        row.get_by_role("button").click()

    assert tab.page.evaluate("window.pwned") is None
    assert tab.page.locator("img").count() == 0


def test_the_trail_is_paged_and_each_page_has_its_address(tab: Tab) -> None:
    for number in range(60):
        tab.server.client.post("/sessions", {"name": f"p{number}", "command": "true"})
        tab.server.client.delete(f"/sessions/p{number}")
    tab.goto("audit?operation=session.open")
    expect(rows(tab)).to_have_count(50)  # of a hundred records: calls with their ends
    first = rows(tab).first.get_attribute("data-seq")
    last = int(str(rows(tab).last.get_attribute("data-seq")))

    tab.page.get_by_role("button", name="Older").click()

    expect(rows(tab)).not_to_have_count(50)
    assert query(tab)["before"] == [str(last)]
    assert int(str(rows(tab).first.get_attribute("data-seq"))) < last
    tab.page.go_back()
    expect(rows(tab).first).to_have_attribute("data-seq", str(first))


def test_the_trail_is_exported_as_it_stands(tab: Tab) -> None:
    tab.goto("audit")
    expect(tab.page.locator("#chain")).to_contain_text("Chain intact")

    with tab.page.expect_download() as started:
        tab.page.get_by_role("button", name="Export JSONL").click()

    assert started.value.suggested_filename == "audit.jsonl"
    lines = Path(started.value.path()).read_text().splitlines()
    assert any(json.loads(line).get("operation") == "command.run" for line in lines)


def test_a_chain_that_was_broken_is_said_to_be(browser: Browser) -> None:
    with tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as path:
        home = settle_home(Path(path))
        with running_server(home) as server, browsing(browser, server) as tab:
            for name in ("a", "b", "c"):
                server.client.post("/sessions", {"name": name, "command": "true"})
            trail = next(iter(sorted(home.rglob("trail-*.jsonl"))))
            lines = trail.read_bytes().split(b"\n")
            at = next(place for place, each in enumerate(lines) if b'"session.open"' in each)
            lines[at] = lines[at].replace(b'"session.open"', b'"session.list"')
            trail.write_bytes(b"\n".join(lines))

            tab.goto("audit")

            expect(tab.page.locator("#chain")).to_have_attribute("data-intact", "false")
            expect(tab.page.locator("#chain")).to_contain_text("Chain broken")
