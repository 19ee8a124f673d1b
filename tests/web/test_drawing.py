"""What agents draw is seen where they drew it, with their name, and a person can be rid of it."""

import httpx
import pytest
from playwright.sync_api import expect

from tests.server_process import ServerProcess
from tests.web.agent import Mcp
from tests.web.browsing import Tab

pytestmark = [pytest.mark.browser, pytest.mark.pty]

OVERLAY = {
    "x": 40,
    "y": 4,
    "width": 24,
    "height": 3,
    "background": {"bg": {"r": 10, "g": 20, "b": 60}},
    "spans": [
        {"text": "Tests: ", "bold": True},
        {"text": "213 passed\nfixing retry.py", "fg": "green"},
    ],
}


def as_agent(server: ServerProcess, name: str) -> httpx.Client:
    """An agent with a token of its own, so that what it draws carries its name."""
    made = server.client.post("/tokens", {"name": name, "scopes": ["read", "input", "control"]})
    return httpx.Client(
        base_url=server.url(), headers={"authorization": f"Bearer {made['token']}"}, timeout=30
    )


def test_an_overlay_is_drawn_in_its_cells_with_the_name_of_its_agent(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash", "cols": 80, "rows": 24})
    tab.open("s")

    with as_agent(tab.server, "claude") as agent:
        made = agent.post("/sessions/s/overlay", json=OVERLAY).json()
    drawn = tab.page.locator(f"[data-overlay='{made['id']}']")
    expect(drawn).to_contain_text("Tests: 213 passed")
    expect(drawn).to_contain_text("claude")

    box, cell = drawn.bounding_box(), tab.view("s", "view.fitting.viewport.value")
    screen = tab.page.locator(".xterm-screen").bounding_box()
    assert box is not None
    assert screen is not None
    assert abs(box["x"] - screen["x"] - 40 * cell["cellWidth"]) < 1
    assert abs(box["y"] - screen["y"] - 4 * cell["cellHeight"]) < 1
    assert abs(box["width"] - 24 * cell["cellWidth"]) < 1
    assert abs(box["height"] - 3 * cell["cellHeight"]) < 1


def test_a_panel_takes_its_rows_and_the_program_keeps_the_others(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash", "cols": 80, "rows": 24})
    tab.open("s")

    for position, height in (("top", 1), ("bottom", 2)):
        tab.server.client.post(
            "/sessions/s/panel",
            {"position": position, "height": height, "spans": [{"text": f"at the {position}"}]},
        )
    top = tab.page.get_by_role("group", name="Panel").filter(has_text="at the top")
    bottom = tab.page.get_by_role("group", name="Panel").filter(has_text="at the bottom")
    expect(top).to_be_visible()
    expect(bottom).to_be_visible()
    tab.page.wait_for_function("() => duettyViews.get('s').term.rows === 21")

    above, screen, below = (
        each.bounding_box() for each in (top, tab.page.locator(".xterm-screen"), bottom)
    )
    assert above is not None
    assert screen is not None
    assert below is not None
    assert above["y"] + above["height"] <= screen["y"] + 1
    assert screen["y"] + screen["height"] <= below["y"] + 1


def test_an_agent_over_mcp_draws_and_a_person_sees_it(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")

    with Mcp(tab.server) as agent:
        agent.call(
            "wsh_overlay",
            {
                "session": "s",
                "x": 3,
                "y": 3,
                "width": 20,
                "height": 1,
                "spans": [{"text": "hello from MCP"}],
            },
        )
        agent.call(
            "wsh_panel",
            {"session": "s", "position": "bottom", "height": 1, "spans": [{"text": "step 3 of 5"}]},
        )
        expect(tab.page.get_by_role("group", name="Overlay")).to_contain_text("hello from MCP")
        expect(tab.page.get_by_role("group", name="Panel")).to_contain_text("step 3 of 5")


def test_a_person_dismisses_what_was_drawn(tab: Tab) -> None:
    client = tab.server.client
    client.post("/sessions", {"name": "s", "command": "bash"})
    client.post("/sessions/s/overlay", OVERLAY)
    tab.open("s")
    drawn = tab.page.get_by_role("group", name="Overlay")
    expect(drawn).to_be_visible()

    drawn.get_by_role("button", name="Dismiss this overlay").click()

    expect(drawn).to_have_count(0)
    assert client.get("/sessions/s/overlay") == []
    client.post(
        "/sessions/s/panel", {"position": "top", "height": 1, "spans": [{"text": "in the way"}]}
    )
    panel = tab.page.get_by_role("group", name="Panel")
    panel.get_by_role("button", name="Dismiss this panel").click()
    expect(panel).to_have_count(0)
    tab.page.wait_for_function("() => duettyViews.get('s').term.rows === 24")


def test_drawn_text_is_text_and_stays_inside_its_box(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash", "cols": 80, "rows": 24})
    tab.open("s")

    tab.server.client.post(
        "/sessions/s/overlay",
        {
            **OVERLAY,
            "width": 10,
            "height": 1,
            "spans": [
                {"text": "<img src=x onerror=alert(1)>\u202e\x1b[31m and much more text than fits"}
            ],
        },
    )
    drawn = tab.page.get_by_role("group", name="Overlay")
    expect(drawn).to_contain_text("<img src=x onerror=alert(1)>��[31m")

    assert tab.page.locator("img").count() == 0
    clipped = drawn.evaluate(
        "each => { const cells = each.firstElementChild; return getComputedStyle(cells).overflow + (cells.scrollWidth > cells.clientWidth); }"
    )
    assert clipped == "hiddentrue"


def test_an_overlay_ends_where_the_screen_does(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash", "cols": 80, "rows": 24})
    tab.open("s")

    tab.server.client.post("/sessions/s/overlay", {**OVERLAY, "x": 70, "y": 22, "height": 5})
    drawn = tab.page.get_by_role("group", name="Overlay")
    expect(drawn).to_contain_text("Tests")

    box, screen = drawn.bounding_box(), tab.page.locator(".xterm-screen").bounding_box()
    assert box is not None
    assert screen is not None
    assert box["x"] + box["width"] <= screen["x"] + screen["width"] + 1
    assert box["y"] + box["height"] <= screen["y"] + screen["height"] + 1


def test_captured_keys_are_announced_and_two_escapes_take_them_back(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    with as_agent(tab.server, "claude") as agent:
        agent.post("/sessions/s/input/capture", json={}).raise_for_status()
    banner = tab.page.get_by_role("alert").filter(has_text="Keys go to claude")
    expect(banner).to_be_visible()

    tab.type("for the agent")
    tab.press("Escape")
    tab.press("Escape")
    expect(banner).to_have_count(0)
    tab.type("echo mine again\n")

    tab.wait_text("s", "mine again")
    assert "for the agent" not in tab.text("s")


def test_the_frame_of_captured_keys_lies_around_the_rows_and_on_none_of_them(tab: Tab) -> None:
    tab.server.client.post("/sessions", {"name": "s", "command": "bash"})
    tab.open("s")
    with as_agent(tab.server, "claude") as agent:
        agent.post("/sessions/s/input/capture", json={}).raise_for_status()
    expect(tab.page.get_by_role("alert").filter(has_text="Keys go to claude")).to_be_visible()

    # An outline is outside of its box; anything painted in the box would be upon the first column.
    outline, inside = tab.page.locator("[data-scroll]").evaluate(
        "(each) => [getComputedStyle(each).outlineStyle, getComputedStyle(each, '::after').content]"
    )

    assert (outline, inside) == ("solid", "none")


def test_one_key_takes_control_from_an_agent(tab: Tab) -> None:
    client = tab.server.client
    client.post("/sessions", {"name": "s", "command": "bash", "cols": 60, "rows": 15})
    tab.open("s")
    with as_agent(tab.server, "claude") as agent:
        agent.post("/sessions/s/input/capture", json={}).raise_for_status()
    expect(tab.page.get_by_role("alert").filter(has_text="claude")).to_be_visible()

    tab.press("Control+Shift+.")
    tab.page.wait_for_function("() => duettyViews.get('s').stream.size.value?.holder === 'you'")

    assert client.get("/sessions/s/input/mode")["mode"] == "passthrough"
    tab.type("echo I drive\n")
    tab.wait_text("s", "I drive")
