"""Chromium on a real server's page: what tests do and see there."""

import os
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    ViewportSize,
    expect,
)

from tests.server_process import ServerProcess

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]
"""The last one makes every name but loopback unknown, whatever a page tries."""

WAIT_MS = int(os.environ.get("DUETTY_TEST_WAIT_MS", "60000"))
"""For a machine that is busy with something else; less where a test is meant to fail (tests/mutants)."""

DESKTOP: ViewportSize = {"width": 1280, "height": 800}
TABLET: ViewportSize = {"width": 820, "height": 1180}
PHONE: ViewportSize = {"width": 390, "height": 844}

_CELLS = """(name) => {
  const term = window.duettyViews.get(name).term, buffer = term.buffer.active, rows = [];
  for (let row = 0; row < term.rows; row++) {
    const line = buffer.getLine(buffer.baseY + row), cells = [];
    for (let col = 0; col < term.cols; col++) {
      const cell = line.getCell(col);
      const colour = (isDefault, isRgb, value) => isDefault ? null : isRgb ? [value >> 16, value >> 8 & 255, value & 255] : value;
      cells.push(cell.getWidth() === 0 ? null : [
        cell.getChars() || " ",
        colour(cell.isFgDefault(), cell.isFgRGB(), cell.getFgColor()),
        colour(cell.isBgDefault(), cell.isBgRGB(), cell.getBgColor()),
        !!cell.isBold(), !!cell.isUnderline(), !!cell.isInverse(),
      ]);
    }
    rows.push(cells);
  }
  return rows;
}"""

_TEXT = """(name) => window.duettyViews?.get(name)?.text() ?? ''"""


def chromium() -> str:
    return shutil.which("chromium") or "/usr/bin/chromium"


Cell = tuple[str, Any, Any, bool, bool, bool]


@dataclass(slots=True)
class Tab:
    """One page of one browser window, signed in."""

    server: ServerProcess
    page: Page
    problems: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])
    """Every address that was asked for."""

    def goto(self, path: str = "") -> None:
        self.page.goto(f"{self.server.url()}/ui/{path}")

    def open(self, session: str) -> None:
        self.goto(f"s/{session}")
        self.wait_ready(session)

    def wait_still(self) -> None:
        """Until the screen is there and nothing in it moves any more, but what moves for ever."""
        self.page.wait_for_function(
            """() => document.querySelector('main [data-region], main[data-region], main section')
              && document.getAnimations().every((each) =>
                each.playState !== 'running' || each.effect.getComputedTiming().iterations === Infinity)""",
            timeout=WAIT_MS,
        )

    def wait_cells(self, session: str) -> None:
        """Until the page has drawn what the server's terminal has, cell by cell."""
        deadline_s = time.monotonic() + WAIT_MS / 1000
        while time.monotonic() < deadline_s:
            if self.cells(session) == server_cells(self.server, session):
                return
            self.page.wait_for_timeout(100)
        assert self.cells(session) == server_cells(self.server, session)

    def wait_ready(self, session: str) -> None:
        self.page.wait_for_function(
            "(name) => window.duettyViews?.get(name)?.stream.ready.value",
            arg=session,
            timeout=WAIT_MS,
        )

    def text(self, session: str) -> str:
        """What the terminal of the page shows."""
        return cast(str, self.page.evaluate(_TEXT, session))

    def wait_text(self, session: str, wanted: str) -> None:
        self.page.wait_for_function(
            "([name, wanted]) => window.duettyViews?.get(name)?.text().includes(wanted)",
            arg=[session, wanted],
            timeout=WAIT_MS,
        )

    def cells(self, session: str) -> list[list[Cell]]:
        """Every cell of the page's terminal, as far as it can be seen."""
        rows = cast(list[list[list[Any] | None]], self.page.evaluate(_CELLS, session))
        return [
            _seen([cast(Cell, tuple(_plain(cell))) for cell in row if cell is not None])
            for row in rows
        ]

    def copied(self) -> str:
        """What the clipboard holds."""
        return cast(str, self.page.evaluate("navigator.clipboard.readText()"))

    def wait_copied(self, wanted: str, *, and_more: bool = False) -> None:
        """Until the clipboard holds it: a page may write it only some time after the click."""
        deadline_s = time.monotonic() + WAIT_MS / 1000
        while (found := self.copied()) != wanted and not (and_more and found.startswith(wanted)):
            assert time.monotonic() < deadline_s, found
            self.page.wait_for_timeout(50)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)

    def press(self, keys: str) -> None:
        self.page.keyboard.press(keys)

    def forgive_lost_connection(self) -> None:
        """After a server was out of reach on purpose: a browser writes that into its console itself.

        That the server refused something, or the page threw, is forgiven nowhere.
        """
        self.problems[:] = [each for each in self.problems if "net::ERR_" not in each]

    def view(self, session: str, expression: str) -> Any:
        """The value of an expression over `view`, the page's terminal."""
        return self.page.evaluate(
            f"(name) => {{ const view = window.duettyViews.get(name); return {expression}; }}",
            session,
        )


def _plain(cell: list[Any]) -> list[Any]:
    return [tuple(cast(list[int], each)) if isinstance(each, list) else each for each in cell]


@contextmanager
def browsing(
    browser: Browser, server: ServerProcess, *, sign_in: bool = True, **options: Any
) -> Generator[Tab]:
    """A window of its own. Whatever the console complains about fails the test."""
    window = Window(browser, server, sign_in=sign_in, **options)
    try:
        with window.tab() as tab:
            yield tab
    finally:
        window.close()


class Window:
    """One window, signed in once, for tests one after another: each finds nothing that another left there."""

    def __init__(
        self, browser: Browser, server: ServerProcess, *, sign_in: bool = True, **options: Any
    ) -> None:
        settings: dict[str, Any] = {"viewport": DESKTOP, "color_scheme": "dark", **options}
        self._server = server
        self._context: BrowserContext = browser.new_context(**settings)
        self._context.set_default_timeout(WAIT_MS)
        expect.set_options(timeout=WAIT_MS)
        self._page = self._context.new_page()
        if sign_in:
            # The cookie alone, without a page that would be left at once; one test signs in as people do.
            link = str(server.client.post("/server/link")["link"])
            assert self._context.request.get(link, max_redirects=0).status in (302, 303, 307)

    @contextmanager
    def tab(self) -> Generator[Tab]:
        tab = Tab(self._server, self._page)
        listeners: list[tuple[Any, Callable[[Any], None]]] = [
            ("console", _note_complaint(tab.problems)),
            ("pageerror", lambda error: tab.problems.append(f"page error: {error}")),
            ("request", _note_request(tab.asked)),
        ]
        for event, listener in listeners:
            tab.page.on(event, listener)
        yield tab
        for event, listener in listeners:
            tab.page.remove_listener(event, listener)
        hosts = {urlsplit(url).hostname for url in tab.asked if url.startswith(("http", "ws"))}
        elsewhere = sorted(str(each) for each in hosts - {"127.0.0.1"})
        assert not elsewhere, f"asked {elsewhere}, {tab.problems}"
        assert not tab.problems, tab.problems

    def forget(self) -> None:
        """Leave the page, with what it kept in the browser."""
        if self._page.url.startswith("http"):
            self._page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self._page.goto("about:blank")

    def close(self) -> None:
        self._context.close()


def _note_complaint(problems: list[str]) -> Callable[[ConsoleMessage], None]:
    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"{message.type}: {message.text} {message.location['url']}")

    return note


def _note_request(asked: list[str]) -> Callable[[Request], None]:
    def note(request: Request) -> None:
        asked.append(request.url)

    return note


def _seen(row: list[Cell]) -> list[Cell]:
    """Without what nobody can see: the ink of blanks, and the empty end of a row."""
    blank: Cell = (" ", None, None, False, False, False)
    seen = [
        (cell[0], None, cell[2], False, False, False)
        if cell[0] == " " and not cell[4] and not cell[5]
        else cell
        for cell in row
    ]
    while seen and seen[-1] == blank:
        seen.pop()
    return seen


def server_cells(server: ServerProcess, session: str) -> list[list[Cell]]:
    """The same cells as the server's own terminal has them."""
    screen = server.client.get(f"/sessions/{session}/screen")
    rows: list[list[Cell]] = []
    for line in screen["lines"]:
        cells: list[Cell] = [
            (
                char,
                _colour(span.get("fg")),
                _colour(span.get("bg")),
                bool(span.get("bold")),
                bool(span.get("underline")),
                bool(span.get("inverse")),
            )
            for span in line
            for char in span["text"]
        ]
        rows.append(_seen(cells))
    return rows


def _colour(shape: dict[str, Any] | None) -> Any:
    if shape is None:
        return None
    if "indexed" in shape:
        return shape["indexed"]
    return (shape["rgb"]["r"], shape["rgb"]["g"], shape["rgb"]["b"])


def written_home(home: Path) -> None:
    """A prompt that does not change with the machine."""
    (home / ".bashrc").write_text("PS1='$ '\n")
