"""How a run left its terminal: the note that a model gets, in every dialect."""

import re
from typing import Any

from duetty.edges.mcp.dialect import Json

INCOMPLETE = (
    "the line is not complete (a quote, a bracket, a here-document): send its rest, or press Ctrl-C"
)

_PAGES = re.compile(
    r":|.*\(END\).*|.*\(press RETURN\)|--More--.*| Manual page .*|HELP -- .*|lines \d+-\d+.*"
)
"""The last row of a pager that waits for a key."""

_PAGERS = frozenset({"less", "more", "most", "pager", "man"})


def program(known: Any) -> Json:
    """Who has the terminal, and what is unusual about it; nothing for a shell at its prompt."""
    shape: Json = {}
    if known.foreground is not None:
        shape["foreground"] = known.foreground.model_dump()
    if known.terminal is not None:
        shape["terminal"] = known.terminal
    return shape


def is_in_pager(result: Any) -> bool:
    """A pager has the terminal: by its name, or by what it shows where another program pages."""
    if result.terminal != "raw" or result.state == "prompt":
        return False
    last = (result.output or "").rpartition("\n")[2]
    name = "" if result.foreground is None else result.foreground.name
    return name in _PAGERS or _PAGES.fullmatch(last) is not None


CHANGED_ROWS = 12
"""Of output that scrolls by; an answer has all rows of a full-screen program."""


def changed(result: Any) -> dict[str, str]:
    """The rows that changed, by number: the last of them, where text only scrolls by."""
    by_number: dict[int, str] = result.changed or {}
    rows = [(str(row), text) for row, text in sorted(by_number.items())]
    if result.state != "fullscreen":
        rows = [each for each in rows if each[1]][-CHANGED_ROWS:]
    return dict(rows)
