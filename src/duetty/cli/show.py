"""Tables and colours for people, JSON for scripts."""

import argparse
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

PIPE_COLS = 1_000
PROGRESS_AFTER_S = 1.0
"""What is over sooner needs no sign that it goes on."""


_OBEYED = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON leaves as it is and a terminal obeys: C1, and what turns the direction of text."""


def as_json(value: Any) -> None:
    sys.stdout.write(json_text(value, indent=2) + "\n")


def json_text(value: Any, *, indent: int | None = None) -> str:
    """The same value to a parser, without control characters that a terminal would obey."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_LONG = frozenset({"COMMAND", "DIRECTORY", "TAGS", "MEANING", "FROM", "VALUE", "SCOPES", "TITLE"})

LEAST_COLS = 14
"""What a long column keeps before a spare one goes."""

GAP_COLS = 2

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]|" + _OBEYED.pattern)


GO_ON = "agent.resume"
"""Operation of the question whether the agent may go on at a limit; its reason is a whole question."""


def asks(operation: str) -> str:
    return "asks whether to go on" if operation == GO_ON else f"asks for {operation}"


def harmless(text: str) -> str:
    """Text of programs, its lines and tabs kept, with nothing else that a terminal would obey."""
    return _CONTROL.sub("\ufffd", text)


def as_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    styles: Mapping[str, Callable[[str], str]] | None = None,
    spare: Sequence[str] = (),
) -> None:
    """`styles` maps a cell's text to its look; `spare` columns go first where a terminal is narrow."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # A pipe has no width: nothing is cut for the program that reads it.
    console = Console(width=None if sys.stdout.isatty() else PIPE_COLS)
    widths = {
        column: max([len(column), *(len(visible(row[at])) for row in rows)])
        for at, column in enumerate(columns)
    }
    shown = _fitting(widths, spare, console.width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in shown:
        # A narrow terminal costs the long columns their ends, not the short ones.
        least = None if column in _LONG else widths[column]
        table.add_column(column, overflow="ellipsis", no_wrap=True, min_width=least)
    looks = {column: (styles or {}).get(column, _plain) for column in shown}
    for row in rows:
        cells = dict(zip(columns, row, strict=True))
        table.add_row(
            *(Text(visible(cells[each]), style=looks[each](cells[each])) for each in shown)
        )
    console.print(table)


def _fitting(widths: Mapping[str, int], spare: Sequence[str], room: int) -> list[str]:
    """The columns without those that have to go, so that each other has its least width."""
    least = {
        name: min(width, LEAST_COLS) if name in _LONG else width for name, width in widths.items()
    }
    shown = list(widths)
    for each in spare:
        if sum(least[name] + GAP_COLS for name in shown) - GAP_COLS <= room:
            break
        shown.remove(each)
    return shown


def _plain(_cell: str) -> str:
    return ""


def state_style(state: str) -> str:
    """How a session's state looks: one that waits for a person stands out."""
    word = state.split(" ")[0]
    return {
        "prompt": "green",
        "running": "cyan",
        "fullscreen": "cyan",
        "awaiting_input": "bold yellow",
        "awaiting_password": "bold yellow",
        "exited": "dim",
    }.get(word, "")


def exit_style(code: str) -> str:
    return "" if code in ("0", "-") else "red"


def wants_colour(choice: str = "auto") -> bool:
    """`always`, `never`, or by what standard output is and NO_COLOR says."""
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def add_json(parser: argparse.ArgumentParser, *, note: str = "") -> None:
    parser.add_argument("--json", action="store_true", help="for scripts" + note)


def visible(text: str) -> str:
    """Text of programs on one line, with nothing in it that a terminal would obey."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def duration(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "-"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def second(at: str | None) -> str:
    """A time as tables show it."""
    return "-" if at is None else at[:19].replace("T", " ")


def age(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    for size, word in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {word}"
    return f"{seconds} s"


@contextmanager
def progress(what: str) -> Generator[None]:
    """Tell a person who waits that something goes on; scripts and pipes see nothing."""
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()

    def tick() -> None:
        began_s = time.monotonic()
        wait_s = PROGRESS_AFTER_S
        while not over.wait(wait_s):
            sys.stderr.write(f"\r\033[2m{what} … {time.monotonic() - began_s:.0f} s\033[0m\033[K")
            sys.stderr.flush()
            wait_s = 0.5
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()

    ticking = threading.Thread(target=tick, daemon=True)
    ticking.start()
    try:
        yield
    finally:
        over.set()
        ticking.join()
