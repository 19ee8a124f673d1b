"""Overlays, panels and capture, as a person at a terminal meets them."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminals import Tmux, tmux, wait_for
from tests.server_process import ServerProcess, running_server

pytestmark = [pytest.mark.pty, pytest.mark.tmux]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="d-", dir="/tmp", ignore_cleanup_errors=True) as home,
        running_server(Path(home)) as server,
    ):
        yield server


@pytest.fixture
def session(server: ServerProcess) -> Iterator[str]:
    opened = server.client.post(
        "/sessions",
        {"command": "bash --norc --noprofile", "env": {"PS1": "in> ", "HOME": str(server.home)}},
    )
    yield opened["name"]
    server.command("kill", opened["name"])


@pytest.fixture
def terminal(server: ServerProcess, session: str) -> Iterator[Tmux]:
    with tmux(server.home, server.env) as terminal:
        terminal.duetty("attach", session, "--no-hints")
        terminal.wait_shown("in>")
        yield terminal


def overlay(server: ServerProcess, session: str, **fields: Any) -> str:
    shape = {"x": 10, "y": 5, "width": 20, "height": 3, "background": {"bg": "blue"}, **fields}
    return server.client.post(f"/sessions/{session}/overlay", shape)["id"]


def panel(server: ServerProcess, session: str, position: str, text: str, height: int = 2) -> str:
    shape = {
        "position": position,
        "height": height,
        "background": {"bg": "green"},
        "spans": [{"text": text}],
    }
    return server.client.post(f"/sessions/{session}/panel", shape)["id"]


def test_an_overlay_over_vim_comes_and_goes_without_a_trace(
    server: ServerProcess, session: str, terminal: Tmux
) -> None:
    (server.home / "text.txt").write_text("".join(f"line {at} of the text\n" for at in range(40)))
    terminal.line("vim -u NONE -N ~/text.txt")
    terminal.wait_shown("line 22 of the text")
    wait_for(lambda: "40L" in terminal.screen(), terminal.screen)
    before = terminal.screen(styled=True)

    made = overlay(server, session, spans=[{"text": "a question\nyes or no?", "bold": True}])
    terminal.wait_shown("a question")
    rows = terminal.rows_shown()
    assert rows[5] == "line 5 of a question"
    assert rows[6] == "line 6 of yes or no?"
    assert rows[4] == "line 4 of the text"
    server.client.delete(f"/sessions/{session}/overlay/{made}")
    terminal.wait_gone("a question")

    assert terminal.screen(styled=True) == before


def test_an_overlay_stays_in_place_while_rows_scroll_under_it(
    server: ServerProcess, session: str, terminal: Tmux
) -> None:
    overlay(server, session, x=60, y=1, spans=[{"text": "PINNED"}])
    terminal.wait_shown("PINNED")
    terminal.line("seq -f 'row %g.' 1 60")
    terminal.wait_shown("row 60.")

    assert terminal.rows_shown()[1][60:] == "PINNED"
    assert terminal.history().count("PINNED") == 1
    assert re.findall(r"row (\d+)\.", terminal.history()) == [str(at) for at in range(1, 61)]


def test_a_panel_at_the_bottom_takes_its_rows_from_the_program(
    server: ServerProcess, session: str, terminal: Tmux
) -> None:
    made = panel(server, session, "bottom", "at the bottom")
    terminal.wait_shown("at the bottom")
    assert terminal.rows_shown()[22].startswith("at the bottom")
    terminal.line("stty size")
    terminal.wait_shown("\n22 80")
    terminal.line("seq -f 'row %g.' 1 60")
    terminal.wait_shown("row 60.")

    assert terminal.rows_shown()[22].startswith("at the bottom")
    assert re.findall(r"row (\d+)\.", terminal.history()) == [str(at) for at in range(1, 61)]
    assert terminal.history().count("at the bottom") == 1

    server.client.delete(f"/sessions/{session}/panel/{made}")
    terminal.wait_gone("at the bottom")
    terminal.line("stty size")
    terminal.wait_shown("\n24 80")


def test_a_panel_at_the_top_moves_the_program_down_vim_included(
    server: ServerProcess, session: str, terminal: Tmux
) -> None:
    panel(server, session, "top", "above all", height=3)
    terminal.wait_shown("above all")
    assert terminal.rows_shown()[0].startswith("above all")
    assert "in>" in terminal.rows_shown()[3]
    terminal.line("vim -u NONE -N ~/fresh.txt")
    terminal.wait_shown('~/fresh.txt" [New]')
    terminal.type("ifirst line")
    terminal.wait_shown("first line")

    rows = terminal.rows_shown()
    assert rows[0].startswith("above all")
    assert rows[3].startswith("first line")
    terminal.press("Escape")
    terminal.line(":q!")
    terminal.wait_gone("first line")
    assert terminal.rows_shown()[0].startswith("above all")


def test_a_panel_shows_its_background(server: ServerProcess, session: str, terminal: Tmux) -> None:
    panel(server, session, "bottom", "green")
    terminal.wait_shown("green")

    row = terminal.screen(styled=True).split("\n")[22]
    assert "\x1b[42m" in row


def test_detaching_leaves_neither_overlays_nor_panels_behind(
    server: ServerProcess, session: str, terminal: Tmux
) -> None:
    overlay(server, session, spans=[{"text": "OVERLAY"}])
    panel(server, session, "top", "PANEL")
    terminal.wait_shown("OVERLAY")
    terminal.wait_shown("PANEL")
    terminal.press("C-\\", "C-\\")
    terminal.wait_outer("[detached]")

    assert "OVERLAY" not in terminal.screen()
    assert "PANEL" not in terminal.screen()
    assert "·" not in terminal.screen()
    assert "in>" in terminal.screen()


def test_one_ctrl_backslash_takes_the_keyboard_and_the_next_gives_it_back(
    server: ServerProcess, session: str, terminal: Tmux
) -> None:
    def mode() -> str:
        return str(server.client.get(f"/sessions/{session}/input/mode")["mode"])

    terminal.press("C-\\")
    wait_for(lambda: mode() == "capture", lambda: "never captured")
    terminal.type("echo captured")
    terminal.press("C-\\")
    wait_for(lambda: mode() == "passthrough", lambda: "never released")
    terminal.line("echo free")
    terminal.wait_shown("\nfree")

    assert "captured" not in terminal.screen()


def test_ctrl_backslash_with_another_key_between_does_not_detach(
    server: ServerProcess, session: str, terminal: Tmux
) -> None:
    terminal.press("C-\\", "x", "C-\\")
    terminal.line("echo still-attached")
    terminal.wait_shown("\nstill-attached")

    assert server.client.get(f"/sessions/{session}")["clients"] == 1
