"""`make bench-web`: the page in Chromium on a real server, against its budget; writes its part of docs/benchmarks.md."""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from playwright.sync_api import Browser, WebSocket, expect, sync_playwright

from benchmarks.__main__ import REPORT
from benchmarks.machine import describe
from benchmarks.measure import Effort, median, percentile, temporary_home
from benchmarks.report import Line, Table, kb, mb, mb_s, ms, table_markdown
from benchmarks.sections import put
from duetty.edges.web.page import BUILT
from tests.homes import settle_home
from tests.server_process import ServerProcess, running_server
from tests.web.browsing import FLAGS, Tab, browsing, chromium, written_home

FLOOD_BYTES = 300_000_000
ECHO = """async ([name, keys, pause]) => {
  const view = window.duettyViews.get(name), found = [];
  for (let key = 0; key < keys; key++) {
    const column = view.term.buffer.active.cursorX;
    const began = performance.now();
    view.stream.type(key % 60 === 59 ? "\\u0015" : "x");
    await new Promise((resolve) => {
      const end = setTimeout(resolve, 5000);
      const heard = view.term.onWriteParsed(() => {
        if (view.term.buffer.active.cursorX === column) return;
        heard.dispose(); clearTimeout(end); resolve();
      });
    });
    found.push((performance.now() - began) / 1000);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return found;
}"""
GAPS = """(ms) => new Promise((resolve) => {
  const gaps = []; let last = performance.now(); const began = last;
  const frame = (now) => { gaps.push((now - last) / 1000); last = now; now - began < ms ? requestAnimationFrame(frame) : resolve(gaps.slice(1)); };
  requestAnimationFrame(frame);
})"""


def measure(effort: Effort, minutes: float) -> list[Line]:
    lines = sizes()
    with temporary_home() as home:
        written_home(settle_home(home))
        with running_server(home) as server, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            lines += paint(browser, server, effort)
            lines += echo(browser, server, effort)
            lines += flood(browser, server, effort)
            lines += listing(browser, server, effort)
            lines += memory(browser, server, effort, minutes)
            browser.close()
    return lines


def line(what: str, shown: str, limit: str, met: bool | None, beside: str = "") -> Line:
    return Line(what=what, measured=shown, target=limit, met=met, beside=beside)


def sizes() -> list[Line]:
    meta = json.loads((BUILT / "meta.json").read_text())
    every: dict[str, Any] = meta["sizes"]

    def loaded(file: str, seen: set[str]) -> set[str]:
        if file not in seen:
            seen.add(file)
            for each in every[file]["imports"]:
                if each["kind"] == "import-statement":
                    loaded(each["file"], seen)
        return seen

    shell = loaded(meta["shell"]["script"], set())
    session = next(
        name for name, each in every.items() if each["entry"] == "src/screens/Session.tsx"
    )
    terminal = loaded(session, set()) - shell
    gzip = {name: int(each["gzip"]) for name, each in every.items()}
    style = gzip[meta["shell"]["style"]]
    scripts, chunk = sum(gzip[each] for each in shell), sum(gzip[each] for each in terminal)
    return [
        line("scripts of the page's shell, gzip", kb(scripts), "≤ 25 KB", scripts <= 25 * 1024),
        line("style sheet, gzip", kb(style), "≤ 8 KB", style <= 8 * 1024),
        line("what opening a terminal adds, gzip", kb(chunk), "≤ 115 KB", chunk <= 115 * 1024),
    ]


def paint(browser: Browser, server: ServerProcess, effort: Effort) -> list[Line]:
    effort.say("paint")
    server.client.post("/sessions", {"name": "s", "command": "bash"})
    painted: list[float] = []
    usable: list[float] = []
    with browsing(browser, server) as tab:
        for _ in range(effort.times(12, quick=3)):
            tab.goto()
            tab.page.wait_for_function(
                "() => performance.getEntriesByName('first-contentful-paint').length"
            )
            painted.append(
                cast(
                    float,
                    tab.page.evaluate(
                        "performance.getEntriesByName('first-contentful-paint')[0].startTime"
                    ),
                )
                / 1000
            )
            tab.page.goto("about:blank")
            begun_s = time.perf_counter()
            tab.goto("s/s")
            tab.wait_ready("s")
            usable.append(time.perf_counter() - begun_s)
    server.client.delete("/sessions/s")
    return [
        line(
            "first contentful paint, warm, median",
            ms(median(painted)),
            "≤ 300 ms",
            median(painted) <= 0.3,
        ),
        line(
            "from address to a terminal that takes keys, median",
            ms(median(usable)),
            "≤ 600 ms",
            median(usable) <= 0.6,
        ),
    ]


def echoed(tab: Tab, session: str, keys: int) -> list[float]:
    return cast(list[float], tab.page.evaluate(ECHO, [session, keys, 20]))


def echo(browser: Browser, server: ServerProcess, effort: Effort) -> list[Line]:
    effort.say("echo")
    server.client.post("/sessions", {"name": "s", "command": "cat"})
    with browsing(browser, server) as tab:
        tab.open("s")
        echoed(tab, "s", 20)
        found = echoed(tab, "s", effort.times(300, quick=40))
    server.client.delete("/sessions/s")
    return [
        line(
            "key to echo parsed, idle, 95 of 100 within",
            ms(percentile(found, 95)),
            "≤ 15.0 ms",
            percentile(found, 95) <= 0.015,
            f"{ms(median(found))} median",
        )
    ]


def show_both(tab: Tab) -> None:
    """The quiet session and the one that floods, side by side."""
    tab.open("s")
    tab.press("Control+Shift+|")
    tab.page.get_by_role("option", name="flood").click()
    tab.wait_ready("flood")


def flood(browser: Browser, server: ServerProcess, effort: Effort) -> list[Line]:
    effort.say("flood")
    file = server.home / "flood"
    size = effort.times(FLOOD_BYTES, quick=30_000_000)
    with file.open("wb") as out:
        row = b"2026-01-01T00:00:00Z INFO request handled path=/api/items status=200 took=12ms\n"
        for _ in range(size // (len(row) * 1000)):
            out.write(row * 1000)
    client = server.client
    client.post("/sessions", {"name": "flood", "command": "bash"})
    client.post("/sessions", {"name": "s", "command": "cat"})

    def speed() -> float:
        begun_s = time.perf_counter()
        client.post(
            "/sessions/flood/run",
            {
                "input": f"cat {file}",
                "max_wait_ms": 300_000,
                "max_output_bytes": 256,
                "screen": False,
            },
            wait_s=320,
        )
        return file.stat().st_size / (time.perf_counter() - begun_s)

    alone: list[float] = []
    seen: list[float] = []
    # In turns: the machine itself is not equally fast at all times.
    for _ in range(effort.times(3, quick=1)):
        alone.append(speed())
        with browsing(browser, server) as tab:
            show_both(tab)
            seen.append(speed())
    with browsing(browser, server) as tab:
        show_both(tab)
        client.write("/sessions/flood/input", f"while cat {file}; do :; done\n".encode())
        time.sleep(1)
        found = echoed(tab, "s", effort.times(150, quick=20))
        gaps = cast(list[float], tab.page.evaluate(GAPS, effort.times(6_000, quick=2_000)))
        client.post("/sessions/flood/signal", {"signal": "KILL", "whom": "all"})
    for name in ("flood", "s"):
        client.delete(f"/sessions/{name}")
    ratio = median(seen) / median(alone)
    return [
        line(
            "the same beside a flood in the next pane, 95 of 100 within",
            ms(percentile(found, 95)),
            "≤ 100.0 ms",
            percentile(found, 95) <= 0.1,
            f"{ms(median(found))} median",
        ),
        Line(
            what="speed of the flooding program while it is looked at",
            measured=mb_s(median(seen)),
            beside=f"{mb_s(median(alone))} unseen",
            ratio=ratio,
            target="ratio ≥ 0.8",
            met=ratio >= 0.8,
        ),
        line(
            "frames during the flood, 95 of 100 gaps within",
            ms(percentile(gaps, 95)),
            "",
            None,
            f"{ms(max(gaps))} longest",
        ),
    ]


CALM = "sh -c 'echo here; exec sleep 1000'"
BUSY = "perl -e '$|=1; while(1){print ++$n,\" of many lines\\n\"; select(undef,undef,undef,0.2)}'"
"""Prints without starting a process for each line: a hundred of those would be measured instead."""


def listing(browser: Browser, server: ServerProcess, effort: Effort) -> list[Line]:
    effort.say("listing")
    count = effort.times(100, quick=20)
    names = [f"s{number:03}" for number in range(count)]

    def open_all(command: str) -> None:
        for name in names:
            server.client.post("/sessions", {"name": name, "command": command})

    def remove_all() -> None:
        for name in names:
            server.client.delete(f"/sessions/{name}")

    rounds = effort.times(9, quick=2)
    open_all(CALM)
    with browsing(browser, server) as tab:
        drawn = [draw_list(tab, count) for _ in range(rounds)]
        nodes = cast(int, tab.page.evaluate("document.querySelectorAll('*').length"))
    remove_all()
    open_all(BUSY)
    with browsing(browser, server) as tab:
        drawn_busy = [draw_list(tab, count) for _ in range(rounds)]
        traffic = list_traffic(tab)
    remove_all()
    return [
        line(
            f"{count} sessions listed, median",
            ms(median(drawn)),
            "≤ 150 ms",
            median(drawn) <= 0.15,
            f"{nodes} nodes",
        ),
        line(
            "the same while each of them prints five lines a second, median",
            ms(median(drawn_busy)),
            "≤ 150 ms",
            median(drawn_busy) <= 0.15,
        ),
        line(
            f"traffic of the list with {count} sessions that print",
            f"{traffic / 1000:.0f} KB/s",
            "≤ 100 KB/s",
            traffic <= 100_000,
        ),
    ]


def draw_list(tab: Tab, count: int) -> float:
    """From the click until the list is drawn."""
    tab.goto("settings")
    expect(tab.page.locator("#theme")).to_be_visible()
    tab.page.wait_for_timeout(500)
    return cast(
        float,
        tab.page.evaluate(
            """(count) => new Promise((resolve) => {
              const began = performance.now();
              const look = () => document.querySelectorAll('[data-session]').length === count
                ? requestAnimationFrame(() => setTimeout(() => resolve((performance.now() - began) / 1000)))
                : setTimeout(look);
              document.querySelector('nav a').click();
              look();
            })""",
            count,
        ),
    )


def list_traffic(tab: Tab) -> float:
    """Bytes a second that the server sends for the list."""
    received = [0]

    def took(frame: str | bytes) -> None:
        received[0] += len(frame)

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", took)

    tab.page.on("websocket", listen)
    tab.goto()
    tab.page.wait_for_timeout(2000)
    before, begun_s = received[0], time.perf_counter()
    tab.page.wait_for_timeout(5000)
    return (received[0] - before) / (time.perf_counter() - begun_s)


def memory(browser: Browser, server: ServerProcess, effort: Effort, minutes: float) -> list[Line]:
    effort.say(f"memory, {minutes:g} minutes")
    server.client.post("/sessions", {"name": "s", "command": "bash"})
    found: list[float] = []
    with browsing(browser, server) as tab:
        devtools: Any = tab.page.context.new_cdp_session(tab.page)

        def used() -> float:
            devtools.send("HeapProfiler.collectGarbage")
            return float(devtools.send("Runtime.getHeapUsage")["usedSize"])

        tab.open("s")
        # The terminal with all the rows that it keeps, as after any long output.
        server.client.post("/sessions/s/run", {"input": "seq 20000", "max_output_bytes": 256})
        tab.wait_text("s", "\n20000\n")
        before = used()
        server.client.write(
            "/sessions/s/input", f"while cat {server.home / 'flood'}; do :; done\n".encode()
        )
        end_s = time.monotonic() + minutes * 60
        while time.monotonic() < end_s:
            tab.page.wait_for_timeout(min(10_000, minutes * 60_000 / 6))
            found.append(used())
        server.client.post("/sessions/s/signal", {"signal": "KILL", "whom": "all"})
    server.client.delete("/sessions/s")
    effort.say(", ".join(mb(each) for each in [before, *found]))
    last = median(found[-max(1, len(found) // 3) :])
    is_flat = last <= before * 1.1 and max(found) < 60 * (1 << 20)
    return [
        line(
            f"heap of the page at the end of a flood of {minutes:g} minutes",
            mb(last),
            "flat: at most a tenth more than before it, < 60 MB",
            is_flat,
            f"{mb(before)} before it, {mb(max(found))} at most",
        )
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.web")
    parser.add_argument(
        "--quick", action="store_true", help="few rounds: shows that it works, no more"
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="of flood for the memory line")
    parser.add_argument(
        "--output", type=Path, help="report to write into (default: docs/benchmarks.md)"
    )
    given = parser.parse_args(arguments)
    load_before = os.getloadavg()[0]
    effort = Effort(name="web", quick=given.quick)
    found = measure(effort, min(given.minutes, 0.2) if given.quick else given.minutes)
    table = Table(
        name="web",
        title="The page in a browser",
        lines=found,
        notes=[
            "Made by `make bench-web`. Headless Chromium on the same machine as the server, without a GPU; the page draws by the DOM.",
            "Key to echo: from the page's own call that types a character into `cat` until the page's terminal has parsed the echo. The flood runs in the pane beside it, on the same WebSocket.",
            "The heap is what is left after a garbage collection, in a terminal that has all the rows it keeps; at the end: median of the last third of the looks, one every ten seconds.",
            *(each.removeprefix("- ") for each in describe(load_before)[:2]),
        ],
    )
    text = table_markdown(table)
    print(text)
    path = given.output or (None if given.quick else REPORT)
    if path is not None:
        put(path, "web", text)
        print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
