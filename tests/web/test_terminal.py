"""A session in the page is the session itself: what is typed, shown, resumed, resized."""

from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.server_process import ServerProcess
from tests.web.browsing import PHONE, TABLET, WAIT_MS, Tab, browsing
from tests.web.cutting import Cutter

pytestmark = [pytest.mark.browser, pytest.mark.pty]


def test_an_input_method_composes_a_word_before_the_program_gets_it(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "cat"})
    tab.open("s")
    tab.page.locator(".xterm-helper-textarea").focus()
    keyboard: Any = tab.page.context.new_cdp_session(tab.page)

    for part in ("に", "にほ", "日本"):
        keyboard.send(
            "Input.imeSetComposition",
            {"text": part, "selectionStart": len(part), "selectionEnd": len(part)},
        )
    assert "日" not in tab.text("s")  # the program has nothing of it yet
    keyboard.send("Input.insertText", {"text": "日本語"})
    tab.wait_text(
        "s", "日本語"
    )  # xterm sends it a turn later, and cuts it where a key comes before
    tab.press("Enter")

    tab.wait_text("s", "日本語\n日本語")  # the echo, and what `cat` made of it


def test_what_a_person_types_reaches_the_shell(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    tab.type("echo $((40 + 2)) is it\n")

    tab.wait_text("s", "42 is it")


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        ("vim -u NONE -c 'syntax on' -c 'set nu hlsearch' /etc/bash.bashrc", "bash.bashrc"),
        ("htop --no-mouse -d 600", "Swp"),
    ],
    ids=["vim", "htop"],
)
def test_a_full_screen_program_looks_as_the_server_sees_it(
    tab: Tab, program: str, wanted: str
) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash", "cols": 100, "rows": 30})
    tab.open("s")

    tab.type(f"{program}\n")
    tab.wait_text("s", wanted)
    tab.server.client.post("/sessions/s/wait", {"idle_ms": 500})

    tab.wait_cells("s")
    assert tab.view("s", "view.term.buffer.active.type") == "alternate"


def test_a_screen_that_was_there_before_is_rebuilt_exactly(tab: Tab) -> None:
    client = tab.server.client
    client.post("/sessions", {"name": "s", "command": "bash", "cols": 90, "rows": 25})
    client.post(
        "/sessions/s/run",
        {"input": r"printf '\e[31mred\e[0m \e[1;44mbold on blue\e[0m \e[38;2;1;2;3mrgb\e[0m\n'"},
    )
    client.post("/sessions/s/run", {"input": "seq 1 60"})

    tab.open("s")
    tab.wait_text("s", "60")

    tab.wait_cells("s")
    assert tab.view("s", "view.term.buffer.active.baseY") > 30


def test_the_page_answers_no_question_of_a_program(tab: Tab) -> None:
    """The server answers; a second answer would be typed into the shell."""
    client = tab.server.client
    client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    tab.page.evaluate(
        "() => { window.typed = []; duettyViews.get('s').term.onData((data) => window.typed.push(data)); }"
    )

    client.post(
        "/sessions/s/run",
        {
            "input": r"printf '\e[6n\e[c\e[>c\e[5n\e]11;?\a\e[?1$p\e[18t\eP$qm\e\\'; sleep 0.2; echo asked"
        },
    )
    tab.wait_text("s", "asked")

    assert tab.page.evaluate("window.typed") == []


def test_a_dropped_connection_goes_on_where_it_was_with_nothing_lost(
    browser: Browser, server: ServerProcess
) -> None:
    server.client.post("/sessions", {"name": "s", "command": "bash"})
    with Cutter(server.url()) as cutter, browsing(browser, server, sign_in=False) as tab:
        link = str(server.client.post("/server/link")["link"])
        tab.page.goto(link.replace(server.url(), cutter.url))
        tab.page.goto(f"{cutter.url}/ui/s/s")
        tab.wait_ready("s")
        tab.page.evaluate(
            "() => { const { stream } = duettyViews.get('s'), restored = stream.restored.bind(stream);"
            " window.snapshots = 0; stream.restored = (...all) => { window.snapshots += 1; restored(...all); }; }"
        )

        cutter.cut()
        server.client.post("/sessions/s/run", {"input": "seq 1001 1500"})
        expect(tab.page.locator("#connection")).not_to_have_attribute("data-is", "live")
        cutter.mend()
        expect(tab.page.locator("#connection")).to_have_attribute("data-is", "live")
        tab.wait_text("s", "1499\n1500")  # the command itself has the last number too

        lines = tab.view(
            "s",
            "Array.from({length: view.term.buffer.active.length}, (_, row) => view.term.buffer.active.getLine(row).translateToString(true))",
        )
        numbers = [int(line) for line in lines if line.isdigit()]
        assert numbers == list(range(1001, 1501))
        assert tab.page.evaluate("window.snapshots") == 0
        tab.forgive_lost_connection()


def test_two_viewers_of_different_size_see_the_same_whole_screen(
    browser: Browser, server: ServerProcess
) -> None:
    server.client.post("/sessions", {"name": "s", "command": "bash", "cols": 40, "rows": 12})
    with browsing(browser, server) as desk, browsing(browser, server, viewport=PHONE) as phone:
        desk.open("s")
        phone.open("s")

        desk.page.get_by_role("button", name="Fit", exact=True).click()
        desk.page.wait_for_function(
            "() => duettyViews.get('s').stream.size.value?.holder === 'you'"
        )
        phone.page.wait_for_function(
            "() => duettyViews.get('s').stream.size.value?.holder === 'other'"
        )
        desk.view("s", "view.term.focus()")
        desk.type("echo seen by both\n")
        desk.wait_text("s", "seen by both")
        phone.wait_text("s", "seen by both")

        info = server.client.get("/sessions/s")
        for each in (desk, phone):
            each.page.wait_for_function(
                "([cols, rows]) => { const { term } = duettyViews.get('s'); return term.cols === cols && term.rows === rows; }",
                arg=[info["cols"], info["rows"]],
            )
        assert info["cols"] > 40
        phone.page.wait_for_function(
            """() => {
              const screen = document.querySelector('.xterm-screen').getBoundingClientRect();
              return screen.right <= innerWidth + 1 && screen.bottom <= innerHeight + 1;
            }"""
        )
        desk.wait_cells("s")
        phone.wait_cells("s")


def test_looking_at_a_session_does_not_change_its_size(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash", "cols": 77, "rows": 19})

    tab.open("s")
    tab.wait_text("s", "$")

    assert tab.view("s", "[view.term.cols, view.term.rows, view.stream.size.value.holder]") == [
        77,
        19,
        "nobody",
    ]
    info = tab.server.client.get("/sessions/s")
    assert (info["cols"], info["rows"]) == (77, 19)


def test_sending_attached_terminals_away_leaves_the_page_where_it_is(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    tab.server.client.post("/sessions/s/detach")

    tab.server.client.post("/sessions/s/run", {"input": "echo still seen"})
    tab.wait_text("s", "\nstill seen")
    expect(tab.page.get_by_role("alert")).to_have_count(0)


def test_a_session_made_in_the_page_has_the_size_of_the_window(tab: Tab) -> None:
    tab.goto()
    tab.page.get_by_role("button", name="New session").first.click()
    tab.page.get_by_label("Name").fill("mine")
    tab.page.get_by_role("textbox", name="Command").fill("bash")

    tab.page.get_by_role("button", name="Open", exact=True).click()
    tab.wait_ready("mine")
    tab.page.wait_for_function("() => duettyViews.get('mine').stream.size.value?.holder === 'you'")

    tab.page.wait_for_function(
        "() => { const { size } = duettyViews.get('mine').stream; const could = duettyViews.get('mine').fitting.capacity();"
        " return size.value.cols === could.cols && size.value.rows === could.rows; }"
    )
    info = tab.server.client.get("/sessions/mine")
    assert info["cols"] == tab.view("mine", "view.term.cols")
    assert info["cols"] != 80


def test_several_lines_are_pasted_only_after_a_question(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "cat"})
    tab.open("s")

    tab.view("s", "view.paste('one\\ntwo')")
    expect(tab.page.get_by_role("dialog")).to_contain_text("Paste 2 lines?")
    tab.page.get_by_role("button", name="Cancel").click()
    tab.view("s", "view.paste('three\\nfour\\n')")
    tab.page.get_by_role("button", name="Paste", exact=True).click()

    tab.wait_text("s", "four")
    assert "one" not in tab.text("s")


def test_a_paste_is_bracketed_when_the_program_asked_for_it(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    tab.type(r"printf '\e[?2004h'; cat -v" + "\n")
    tab.page.wait_for_function("() => duettyViews.get('s').term.modes.bracketedPasteMode")

    tab.view("s", "view.paste('one line')")

    tab.wait_text("s", "^[[200~one line^[[201~")


def test_find_marks_every_match_and_counts_them(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.server.client.post("/sessions/s/run", {"input": r"printf 'nee''dle %s\n' 1 2 3"})
    tab.open("s")
    tab.wait_text("s", "needle 3")

    tab.press("Control+Shift+F")
    tab.page.get_by_label("Find in this session").fill("needle ")

    expect(tab.page.locator("output")).to_have_text("1 of 3")


def test_text_grows_and_shrinks_by_keys(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    tab.press("Control+Shift+G")
    tab.page.wait_for_function("() => duettyViews.get('s').stream.size.value?.holder === 'you'")
    before = tab.view("s", "view.term.cols")
    for _ in range(4):
        tab.press("Control+Shift++")

    tab.page.wait_for_function("(before) => duettyViews.get('s').term.cols < before", arg=before)
    tab.page.wait_for_function("() => duettyViews.get('s').term.options.fontSize === 18")


def test_sessions_are_shown_side_by_side_and_each_takes_its_own_keys(tab: Tab) -> None:
    for name in ("left", "right"):
        tab.server.client.post("/sessions", {"name": name, "command": "bash"})
    tab.open("left")

    tab.press("Control+Shift+|")
    tab.page.get_by_role("option", name="right").click()
    tab.wait_ready("right")
    tab.page.wait_for_function("() => location.pathname.endsWith('/s/right')")
    tab.page.wait_for_function(
        "() => document.activeElement.closest('[data-pane]')?.dataset.pane === 'right'"
    )
    tab.type("echo on the right\n")
    tab.wait_text("right", "on the right")
    tab.page.locator("[data-pane=left] .xterm").click()
    tab.type("echo on the left\n")
    tab.wait_text("left", "on the left")

    assert "on the left" not in tab.text("right")
    tab.press("Control+Shift+Q")
    expect(tab.page.locator("[data-pane]")).to_have_count(1)


def test_focus_mode_leaves_nothing_but_the_terminal(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    bar = tab.page.get_by_role("navigation", name="Screens").first
    expect(bar).to_be_visible()

    tab.press("Control+Shift+Enter")
    expect(bar).to_be_hidden()
    tab.press("Control+Shift+Enter")

    expect(bar).to_be_visible()


def test_focus_mode_is_left_without_a_keyboard(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    tab.page.get_by_role("button", name="More for s").click()
    tab.page.get_by_role("menuitem", name="Focus mode").click()
    bar = tab.page.get_by_role("navigation", name="Screens").first
    expect(bar).to_be_hidden()

    tab.page.get_by_role("button", name="Leave focus mode").click()

    expect(bar).to_be_visible()
    tab.type("echo still typing\n")
    tab.wait_text("s", "\nstill typing")


def test_the_head_of_a_narrow_pane_shows_what_there_is_room_for(
    browser: Browser, server: ServerProcess
) -> None:
    for name in ("left", "right"):
        server.client.post("/sessions", {"name": name, "command": "bash"})
    with browsing(browser, server, viewport=TABLET, has_touch=True) as tab:
        tab.open("left")
        tab.press("Control+Shift+|")
        tab.page.get_by_role("option", name="right").click()
        tab.wait_ready("right")

        parts = "[data-pane=left] > header > div > *, [data-pane=left] > header > span"
        boxes = [
            box
            for each in tab.page.locator(parts).all()
            if (box := each.bounding_box()) is not None and box["width"]
        ]

        assert len(boxes) >= 4
        for one, next_one in pairwise(sorted(boxes, key=lambda box: box["x"])):
            assert one["x"] + one["width"] <= next_one["x"] + 1
        # Keys of a touch screen once, for the pane that has the attention.
        expect(tab.page.get_by_role("toolbar", name="Keys")).to_have_count(1)


def test_rows_older_than_the_page_keeps_are_read_from_the_server(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.server.client.post("/sessions/s/run", {"input": "seq 1 6000"})
    tab.open("s")
    tab.wait_text("s", "6000")
    assert tab.view("s", "view.term.buffer.active.length") < 1100

    tab.press("Control+Shift+Home")
    tab.page.get_by_role("button", name="Oldest").click()
    pager = tab.page.locator("#scrollback")
    expect(pager).to_contain_text("seq 1 6000")
    nodes = pager.locator("div").count()
    tab.press("Escape")

    assert nodes < 200
    expect(pager).to_have_count(0)


def test_a_wheel_above_the_oldest_row_opens_the_rest(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.server.client.post("/sessions/s/run", {"input": "seq 1 3000"})
    tab.open("s")
    tab.wait_text("s", "3000")

    tab.view("s", "view.term.scrollToTop()")
    tab.page.wait_for_function("() => !duettyViews.get('s').fitting.viewport.value.atBottom")
    tab.page.mouse.move(600, 400)
    tab.page.mouse.wheel(0, -300)

    expect(tab.page.locator("#scrollback")).to_be_visible()


def test_a_program_that_clears_its_scrollback_is_followed_on(tab: Tab) -> None:
    """xterm 6.0 stays at the top for ever after CSI 3 J when somebody had scrolled up."""
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.server.client.post("/sessions/s/run", {"input": "seq 1 200"})
    tab.open("s")
    tab.wait_text("s", "200")

    tab.view("s", "view.term.scrollToTop()")
    tab.server.client.post("/sessions/s/run", {"input": r"printf '\e[3J'; seq 300 500"})
    tab.wait_text("s", "500")

    tab.page.wait_for_function("() => duettyViews.get('s').fitting.viewport.value.atBottom")


def test_a_flood_is_told_and_the_end_is_right(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    tab.server.client.post(
        "/sessions/s/run",
        {"input": "seq 1 800000; echo the very end", "max_wait_ms": 60_000},
    )
    tab.wait_text("s", "the very end")

    tab.page.wait_for_function(
        "() => duettyViews.get('s').text().trimEnd().endsWith('\\n800000\\nthe very end\\n$')"
    )
    shown = [int(line) for line in tab.view("s", "view.text()").split("\n") if line.isdigit()]
    assert shown == list(range(shown[0], 800_001))


def test_the_mouse_reaches_a_program_that_asked_for_it(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    tab.type(r"printf '\e[?1000h\e[?1006h'; cat -v" + "\n")
    tab.page.wait_for_function("() => duettyViews.get('s').term.modes.mouseTrackingMode !== 'none'")

    tab.page.locator(".xterm-screen").click(position={"x": 5, "y": 5})

    tab.wait_text("s", "^[[<0;1;1M")


def test_what_is_selected_is_copied_plain_and_with_colours(
    browser: Browser, server: ServerProcess
) -> None:
    server.client.post("/sessions", {"name": "s", "command": "bash"})
    server.client.post("/sessions/s/run", {"input": r"printf '\e[31mred words\e[0m\n'"})
    permissions = ["clipboard-read", "clipboard-write"]
    with browsing(browser, server, permissions=permissions) as tab:
        tab.open("s")
        tab.wait_text("s", "\nred words")
        tab.view("s", "view.term.select(0, 1, 9)")

        tab.press("Control+Shift+C")
        tab.wait_copied("red words")
        tab.page.get_by_role("button", name="More for s").click()
        tab.page.get_by_role("menuitem", name="Copy with colours").click()
        expect(tab.page.get_by_text("Copied with colours")).to_be_visible()

        html = tab.page.evaluate(
            "async () => { const [item] = await navigator.clipboard.read(); return (await item.getType('text/html')).text(); }"
        )
        assert "red words" in html
        assert "color" in html


def test_text_composed_by_an_input_method_arrives_whole(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "cat"})
    tab.open("s")

    tab.page.locator(".xterm-helper-textarea").focus()
    tab.page.keyboard.insert_text("日本語")
    tab.press("Enter")

    tab.wait_text("s", "日本語")


GPU = """() => {
  const ask = WebGL2RenderingContext.prototype.getParameter;
  WebGL2RenderingContext.prototype.getParameter = function (name) {
    return name === 0x9246 ? "ANGLE (NVIDIA GeForce)" : ask.call(this, name);
  };
}"""


def test_a_software_renderer_is_never_used(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})

    tab.open("s")
    expect(tab.page.locator(".xterm-helper-textarea")).to_be_focused()
    tab.type("echo drawn by the document\n")
    tab.wait_text("s", "\ndrawn by the document")

    expect(tab.page.locator(".xterm-rows")).to_contain_text("drawn by the document")
    assert tab.page.locator(".xterm canvas").count() == 0
    assert not [each for each in tab.asked if "addon-webgl" in each]


def test_a_real_gpu_draws_the_terminal_that_has_the_attention(
    browser: Browser, server: ServerProcess
) -> None:
    server.client.post("/sessions", {"name": "s", "command": "bash"})
    with browsing(browser, server) as tab:
        tab.page.add_init_script(f"({GPU})()")

        tab.open("s")

        expect(tab.page.locator(".xterm canvas").first).to_be_attached()
        assert [each for each in tab.asked if "addon-webgl" in each]
        # What a renderer that is none says when it is asked for this much.
        tab.problems[:] = [
            each for each in tab.problems if "addon-webgl" not in each and "GL" not in each
        ]


def test_the_cursor_blinks_and_stands_while_somebody_types(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "cat"})
    tab.open("s")
    tab.page.locator(".xterm-helper-textarea").focus()
    shows = """(wanted) => {
      const cursor = document.querySelector('.xterm-cursor-blink');
      return cursor && wanted === (getComputedStyle(cursor).backgroundColor !== 'rgba(0, 0, 0, 0)');
    }"""

    for is_seen in (False, True, False, True):
        tab.page.wait_for_function(shows, arg=is_seen, timeout=WAIT_MS)
    seen: list[bool] = []
    for _ in range(15):
        tab.type("x")
        tab.page.wait_for_timeout(100)
        seen.append(tab.page.evaluate(shows, arg=True))

    assert all(seen)


def test_a_page_at_rest_asks_for_no_frame_after_frame(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "sleep 1000"})
    tab.open("s")
    expect(tab.page.locator('[data-state="running"]').first).to_be_visible()
    tab.page.locator(".xterm-helper-textarea").focus()
    tab.wait_still()

    easings = tab.page.evaluate(
        """() => document.getAnimations()
          .filter((each) => each.effect.getComputedTiming().iterations === Infinity)
          .flatMap((each) => each.effect.getKeyframes().map((frame) => frame.easing))"""
    )

    assert easings
    assert all(each.startswith("steps(2") for each in easings), easings
