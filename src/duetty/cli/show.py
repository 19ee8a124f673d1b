"""Tables and colours for people, JSON for scripts."""

import json
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

PIPE_COLS = 1_000
PROGRESS_AFTER_S = 1.0
"""What is over sooner needs no sign that it goes on."""


def as_json(value: Any) -> None:
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def as_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="ellipsis", no_wrap=True)
    for row in rows:
        table.add_row(*(Text.from_ansi(visible(cell)) for cell in row))
    # A pipe has no width: nothing is cut for whatever reads it.
    Console(width=None if sys.stdout.isatty() else PIPE_COLS).print(table)


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
