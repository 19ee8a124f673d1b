"""Everything around the terminal: palette, shortcuts, sign-in, settings, sharing, recordings, text view, alerts."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.server_process import ServerProcess, running_server
from tests.web.browsing import Tab, browsing

pytestmark = [pytest.mark.browser, pytest.mark.pty]


def test_the_palette_opens_sessions_and_runs_actions_by_keyboard(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "deploy", "command": "bash"})
    tab.goto()
    expect(tab.page.locator("[data-session=deploy]")).to_be_visible()

    tab.press("Control+K")
    expect(tab.page.get_by_role("combobox").last).to_be_focused()
    tab.type("dpl")
    tab.press("Enter")
    tab.wait_ready("deploy")
    tab.press("Control+Shift+K")
    expect(tab.page.get_by_role("combobox").last).to_be_focused()
    tab.type("settings")
    tab.press("Enter")

    expect(tab.page.get_by_role("heading", name="Settings")).to_be_visible()


def test_the_palette_searches_history_for_anything_else(tab: Tab) -> None:
    tab.goto()

    tab.press("Control+K")
    expect(tab.page.get_by_role("combobox").last).to_be_focused()
    tab.type("qqqzzz")
    tab.press("Enter")

    expect(tab.page).to_have_url(f"{tab.server.url()}/ui/history?q=qqqzzz")


def test_every_shortcut_is_on_the_sheet(tab: Tab) -> None:
    tab.goto("settings")
    expect(tab.page.get_by_role("heading", name="Settings")).to_be_visible()

    tab.press("?")

    sheet = tab.page.get_by_role("dialog", name="Keyboard shortcuts")
    for words in ("Ctrl+Shift+K", "Ctrl+Shift+.", "Ctrl+Shift+↑", "F6", "g s"):
        expect(sheet).to_contain_text(words)
    tab.press("Escape")
    expect(sheet).to_have_count(0)


def test_screens_are_reached_by_two_letters(tab: Tab) -> None:
    tab.goto("settings")
    expect(tab.page.get_by_role("heading", name="Settings")).to_be_visible()

    for keys, heading in (("gh", "History"), ("gr", "Recordings"), ("gl", "Share")):
        tab.page.evaluate("document.activeElement.blur()")
        tab.type(keys)
        expect(tab.page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
        if heading == "History":  # its field takes the focus a moment after it is seen
            expect(tab.page.get_by_role("searchbox")).to_be_focused()


def test_f6_goes_from_region_to_region(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    expect(tab.page.locator(".xterm-helper-textarea")).to_be_focused()

    seen: list[str] = []
    for _ in range(4):
        tab.press("F6")
        seen.append(
            str(
                tab.page.evaluate(
                    "(document.activeElement.closest('[data-region]') ?? {}).ariaLabel ?? 'bar'"
                )
            )
        )

    assert set(seen) == {"bar", "Sessions", "Session s", "Commands and facts"}


def test_a_browser_without_a_cookie_is_told_how_to_sign_in(
    browser: Browser, server: ServerProcess
) -> None:
    with browsing(browser, server, sign_in=False) as tab:
        tab.goto("s/s")
        expect(tab.page.get_by_role("heading", name="Sign in to Duetty")).to_be_visible()
        field = tab.page.get_by_label("Open that link, or paste it here").bounding_box()
        button = tab.page.get_by_role("button", name="Sign in").bounding_box()
        assert field is not None
        assert button is not None
        assert button["y"] - field["y"] - field["height"] >= 8  # room for the ring of the focus

        link = str(server.client.post("/server/link")["link"])
        tab.page.get_by_label("Open that link, or paste it here").fill(link)
        tab.page.get_by_role("button", name="Sign in").click()
        expect(tab.page.locator("#connection")).to_have_attribute("data-is", "live")

        assert "code" not in tab.page.url


SCREENS = ("", "s/s", "history?q=x", "recordings", "recordings/s", "tools", "policy", "audit")


def test_no_screen_asks_for_anything_that_is_refused_to_who_is_signed_out(
    browser: Browser, server: ServerProcess
) -> None:
    with browsing(browser, server, sign_in=False) as tab:
        refused: list[str] = []
        tab.page.on("response", lambda got: refused.append(got.url) if got.status >= 400 else None)
        for path in (*SCREENS, "approvals", "approvals/none", "share?session=s", "settings"):
            tab.goto(path)
            expect(tab.page.get_by_role("heading", name="Sign in to Duetty")).to_be_visible()
            assert tab.page.url.endswith(f"/ui/{path}")

        assert (refused, tab.problems) == ([], [])


def test_a_link_on_another_site_leads_into_the_page_of_who_is_signed_in(
    browser: Browser, server: ServerProcess
) -> None:
    """The cookie stays at home on the way there, so the page itself came as to a stranger."""
    with browsing(browser, server) as tab:
        tab.page.goto(f"data:text/html,<a href='{server.url()}/ui/settings'>go</a>")
        tab.page.get_by_role("link", name="go").click()

        expect(tab.page.locator("#connection")).to_have_attribute("data-is", "live")
        assert tab.page.evaluate("document.documentElement.dataset.signed") == ""


def test_how_far_the_server_is_is_measured_when_the_page_has_come_to_rest(
    browser: Browser, server: ServerProcess
) -> None:
    with browsing(browser, server) as tab:
        tab.page.add_init_script(
            """const send = WebSocket.prototype.send;
            WebSocket.prototype.send = function (data) {
              if (String(data).includes('server.health')) window.measuredAt ??= performance.now();
              return send.call(this, data);
            };
            window.WebSocket = class extends WebSocket {
              constructor(...given) {
                super(...given);
                this.addEventListener('message', () => (window.beganAt ??= performance.now()));
              }
            };"""
        )
        tab.goto()
        expect(tab.page.locator("#connection")).to_contain_text(re.compile(r"live · [\d.]+ ms"))

        assert tab.page.evaluate("measuredAt - beganAt") >= 999  # clocks of a page are rounded


def test_signing_out_ends_it_for_this_browser(browser: Browser, server: ServerProcess) -> None:
    with browsing(browser, server) as tab:
        tab.goto("settings")

        tab.page.get_by_role("button", name="Sign out").click()

        expect(tab.page.get_by_role("heading", name="Sign in to Duetty")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "contrast", "dark"])
def test_a_theme_colours_the_page_and_its_terminals(tab: Tab, theme: str) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.goto("settings")

    tab.page.locator("#theme").select_option(theme)
    tab.open("s")

    grounds = {"light": "#ffffff", "contrast": "#000000", "dark": "#0b0e14"}
    assert tab.view("s", "view.term.options.theme.background") == grounds[theme]
    assert tab.page.evaluate("document.documentElement.dataset.theme") == theme


def test_a_font_is_that_of_every_terminal(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.goto("settings")

    tab.page.get_by_label("Font", exact=True).fill("Courier, monospace")
    tab.page.get_by_label("Font", exact=True).press("Enter")
    tab.open("s")

    assert tab.view("s", "view.term.options.fontFamily") == "Courier, monospace"


def test_settings_survive_a_reload(tab: Tab) -> None:
    tab.goto("settings")
    tab.page.get_by_label("Text size of terminals").fill("19")
    tab.page.get_by_label("Text size of terminals").press("Enter")
    tab.page.get_by_label("Screen reader mode").check()

    tab.page.reload()

    expect(tab.page.get_by_label("Text size of terminals")).to_have_value("19")
    expect(tab.page.get_by_label("Screen reader mode")).to_be_checked()


def test_a_screen_reader_gets_the_rows_as_text(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.server.client.post("/sessions/s/run", {"input": "echo read me out"})
    tab.goto("settings")
    tab.page.get_by_label("Screen reader mode").check()

    tab.open("s")

    expect(
        tab.page.locator(".xterm-accessibility")
        .get_by_role("listitem")
        .filter(has_text="read me out")
        .first
    ).to_be_attached()


def test_the_text_view_is_a_document_of_commands(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.server.client.post("/sessions/s/run", {"input": "echo plain words"})
    tab.server.client.post("/sessions/s/run", {"input": "false"})
    tab.open("s")

    tab.press("Control+Shift+X")
    view = tab.page.locator("#text-view")

    expect(view.get_by_role("heading", name="echo plain words")).to_be_visible()
    expect(view.get_by_role("heading", name="false")).to_contain_text("✗ 1")
    expect(view).to_contain_text("plain words")


def test_a_token_is_made_shown_once_and_taken_back(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.goto("share?session=s")
    tab.page.get_by_label("For whom").fill("grace")
    tab.page.get_by_label("May").select_option("view")
    tab.page.get_by_role("combobox", name="For", exact=True).select_option("10 minutes")

    tab.page.get_by_role("button", name="Create").click()
    token = tab.page.get_by_label("Token", exact=True)
    expect(token).to_be_visible()
    row = tab.page.locator("tr").filter(has_text="grace")
    expect(row).to_contain_text("read")
    made = [each for each in tab.server.client.get("/tokens") if each["name"] == "grace"]
    assert [(each["scopes"], each["session"]) for each in made] == [(["read"], "s")]
    lasts = datetime.fromisoformat(made[0]["expires_at"]) - datetime.fromisoformat(
        made[0]["created_at"]
    )
    assert lasts == timedelta(minutes=10)
    row.get_by_role("button", name="Take back").click()
    tab.page.get_by_role("dialog").get_by_role("button", name="Take back").click()

    expect(row).to_contain_text("taken back")


def test_a_shared_link_shows_one_session_and_takes_no_keys(
    browser: Browser, server: ServerProcess
) -> None:
    for name in ("shown", "hidden"):
        server.client.post("/sessions", {"name": name, "command": "bash"})
    with browsing(browser, server) as owner:
        owner.goto("share?session=shown")
        owner.page.get_by_label("For whom").fill("grace")
        owner.page.get_by_role("button", name="Create").click()
        link = owner.page.get_by_label("Link", exact=True).inner_text()

    with browsing(browser, server, sign_in=False) as guest:
        guest.page.goto(link)
        guest.wait_ready("shown")
        expect(guest.page.get_by_text("view only")).to_be_visible()
        guest.type("echo not typed\n")
        server.client.post("/sessions/shown/run", {"input": "echo typed by the owner"})
        guest.wait_text("shown", "typed by the owner")
        guest.page.get_by_role("button", name="More for shown").click()
        offered = set(guest.page.get_by_role("menuitem").all_inner_texts())
        assert not {each.split("\n")[0] for each in offered} & {"Take control", "Share…", "End…"}
        assert "Play recording" in offered
        guest.press("Escape")

        assert "token" not in guest.page.url
        assert "not typed" not in guest.text("shown")
        guest.goto()
        expect(guest.page.locator("[data-session]")).to_have_count(1)
        expect(guest.page.get_by_role("link", name="Share")).to_have_count(0)


def test_screens_with_nothing_to_show_say_what_will_be_there(browser: Browser, home: Path) -> None:
    with running_server(home) as server, browsing(browser, server) as tab:
        tab.goto("history")
        expect(
            tab.page.get_by_text("with its output, whether a person or an agent ran it")
        ).to_be_visible()
        tab.goto("recordings")
        expect(tab.page.get_by_role("heading", name="Nothing is recorded yet")).to_be_visible()
        tab.page.get_by_role("button", name="New session").click()

        expect(tab.page.get_by_role("dialog", name="New session")).to_be_visible()


def test_a_recording_plays_with_its_commands_on_the_scrubber(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    for line in ("echo first act", "sleep 0.5; false", "echo last act"):
        tab.server.client.post("/sessions/s/run", {"input": line})

    tab.goto("recordings")
    tab.page.get_by_role("link", name="s", exact=True).click()
    scrubber = tab.page.get_by_label("Place in the recording")
    expect(tab.page.locator("i[data-is]")).to_have_count(3)
    expect(tab.page.locator("i[data-is=bad]")).to_have_count(1)
    rows = tab.page.locator(".xterm-rows")
    expect(rows).not_to_contain_text("last act")
    # Less than a minute is told in tenths: whole seconds would say little about where one is.
    expect(tab.page.get_by_text(re.compile(r"^0\.0 s / \d+\.\d s$"))).to_be_visible()
    scrubber.evaluate(
        "(each) => { each.value = each.max; each.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    expect(rows).to_contain_text("last act")
    tab.press("5")
    tab.page.wait_for_function(
        "() => { const { max, value } = document.querySelector('input[type=range]'); return Math.abs(value - max / 2) < 0.05; }"
    )
    tab.press("9")
    tab.press("]")
    tab.press("]")
    tab.press("]")

    expect(rows).to_contain_text("last act")
    assert float(scrubber.input_value()) > 0.4
    tab.press("0")
    expect(rows).not_to_contain_text("last act")
    tab.page.get_by_label("Speed").select_option("16")
    tab.page.get_by_role("button", name="▶ Play").click()
    expect(rows).to_contain_text("last act")


def test_long_pauses_are_played_short(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    for line in ("echo before", "sleep 2.5", "echo after"):
        tab.server.client.post("/sessions/s/run", {"input": line})
    tab.goto("recordings/s")
    pauses = tab.page.get_by_label("Pauses")
    scrubber = tab.page.get_by_label("Place in the recording")
    expect(tab.page.locator("i[data-is]")).to_have_count(3)

    pauses.select_option("all pauses")
    tab.page.wait_for_function(
        "() => Number(document.querySelector('input[type=range]').max) > 2.4"
    )
    whole = float(scrubber.get_attribute("max") or 0)
    pauses.select_option("pauses up to 1 s")

    tab.page.wait_for_function(
        "(whole) => Number(document.querySelector('input[type=range]').max) < whole - 1", arg=whole
    )


def test_a_recording_plays_as_fast_as_was_chosen(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.server.client.post("/sessions/s/run", {"input": "sleep 2.5; echo after"})
    tab.goto("recordings/s")
    expect(tab.page.locator("i[data-is]")).to_have_count(1)
    tab.page.get_by_label("Pauses").select_option("all pauses")
    tab.page.get_by_label("Speed").select_option("16")
    scrubber = tab.page.get_by_label("Place in the recording")
    expect(scrubber).not_to_have_attribute("max", "1")

    # One frame that is drawn a tenth of a second after the button was pressed, whatever the machine does.
    tab.page.get_by_role("button", name="▶ Play").evaluate(
        """(button) => {
          const real = window.requestAnimationFrame;
          let frame;
          window.requestAnimationFrame = (drawn) => { frame = drawn; return 1; };
          button.click();
          frame(performance.now() + 100);
          window.requestAnimationFrame = real;
          button.click();
        }"""
    )

    tab.page.wait_for_function(
        "() => document.querySelector('input[type=range]').valueAsNumber >= 1.6"
    )


def test_a_person_is_told_once_when_a_session_begins_to_wait(
    browser: Browser, server: ServerProcess
) -> None:
    server.client.post("/sessions", {"name": "asks", "command": "bash"})
    server.client.post("/sessions/asks/wait", {"state": ["prompt"]})
    with browsing(browser, server, permissions=["notifications"]) as tab:
        tab.page.add_init_script(
            "window.told = []; ServiceWorkerRegistration.prototype.showNotification = async (title) => { window.told.push(title); };"
        )
        tab.goto()
        expect(tab.page.get_by_role("link", name="asks").first).to_be_visible()
        tab.press("g")
        tab.press(",")
        tab.page.get_by_label("Tell me when a session waits for me").check()
        # The box is checked at once; the browser permits it, and starts its worker, later.
        tab.page.wait_for_function("() => localStorage.getItem('duetty.prefs')?.includes('notify')")

        server.client.write("/sessions/asks/input", b"read -s -p 'Password: ' secret\n")
        tab.page.wait_for_function("() => window.told.length > 0")

        assert tab.page.evaluate("window.told") == [tab.page.evaluate("window.told[0]")]
        assert "asks waits for" in str(tab.page.evaluate("window.told[0]"))
        expect(tab.page.get_by_role("status").filter(has_text="asks waits")).to_be_attached()


def test_a_lost_server_is_announced_and_the_last_screen_stays(
    browser: Browser, server: ServerProcess
) -> None:
    from tests.web.cutting import Cutter

    server.client.post("/sessions", {"name": "s", "command": "bash"})
    server.client.post("/sessions/s/run", {"input": "echo still here"})
    with Cutter(server.url()) as cutter, browsing(browser, server, sign_in=False) as tab:
        link = str(server.client.post("/server/link")["link"])
        tab.page.goto(link.replace(server.url(), cutter.url))
        tab.page.goto(f"{cutter.url}/ui/s/s")
        tab.wait_ready("s")
        tab.wait_text("s", "still here")

        cutter.cut()
        expect(tab.page.get_by_text("No connection to the server")).to_be_visible()
        assert "still here" in tab.text("s")
        button = tab.page.get_by_role("button", name="Try now").element_handle()
        cutter.mend()
        button.dispatch_event("click")  # by now it may be gone: the page tries by itself too

        expect(tab.page.locator("#connection")).to_have_attribute("data-is", "live")
        tab.forgive_lost_connection()
