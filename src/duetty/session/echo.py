"""A typed line as the screen showed it: all there is while bash, which tells a line when it ends, runs it."""

from unicodedata import combining, east_asian_width

from duetty.vt import Terminal

MAX_BYTES = 64 * 1024
ROWS = 50


def typed_line(prompt: bytes, echo: bytes, *, cols: int) -> str | None:
    """The text that `echo` left on a screen which `prompt` had begun; None if there is none.

    A line editor moves about in the line and draws parts of it again, so this takes an emulator.
    """
    if len(prompt) + len(echo) > MAX_BYTES:
        return None
    terminal = Terminal(cols=cols, rows=ROWS, scrollback_rows=1_000)
    terminal.silent = True
    try:
        terminal.feed(prompt)
        cursor = terminal.cursor
        row = terminal.total_rows - ROWS + cursor.row
        terminal.feed(echo)
        shown = terminal.text(join_wraps=True, first_row=row)
    finally:
        terminal.close()
    first, _, rest = shown.partition("\n")
    text = f"{_after(first, cursor.col)}\n{rest}"
    return "\n".join(line.rstrip() for line in text.splitlines()).strip() or None


def has_text(prompt: bytes, echo: bytes, *, cols: int) -> bool:
    """Whether `echo` left a text behind `prompt`; what stands apart on the right is another prompt."""
    terminal = Terminal(cols=cols, rows=ROWS, scrollback_rows=0)
    terminal.silent = True
    try:
        terminal.feed(prompt)
        begin = terminal.cursor
        terminal.feed(echo)
        cursor = terminal.cursor
        first = terminal.screen(styled=False).text_lines[begin.row]
    finally:
        terminal.close()
    return (cursor.row, cursor.col) != (begin.row, begin.col) or bool(
        _after(first, begin.col)[:1].strip()
    )


def _after(line: str, col: int) -> str:
    """What stands at this column and right of it."""
    at = 0
    for index, character in enumerate(line):
        if at >= col and not combining(character):
            return line[index:]
        if not combining(character):
            at += 2 if east_asian_width(character) in "WF" else 1
    return ""
