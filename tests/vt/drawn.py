"""Terminals as tests see them."""

from duetty.vt import Modes, Screen, Scrollback, Terminal


def fed(
    *chunks: bytes | str, cols: int = 20, rows: int = 5, scrollback_rows: int = 100
) -> Terminal:
    terminal = Terminal(cols=cols, rows=rows, scrollback_rows=scrollback_rows)
    for chunk in chunks:
        terminal.feed(chunk.encode() if isinstance(chunk, str) else chunk)
    return terminal


def drawn(terminal: Terminal) -> str:
    """The screen with the cursor in it, without the blank rows at the end."""
    screen = terminal.screen(styled=False)
    lines = list(screen.text_lines)
    row, col = screen.cursor.row, screen.cursor.col
    lines[row] = lines[row].ljust(col)[:col] + "|" + lines[row].ljust(col)[col:]
    return "\n".join(lines).rstrip("\n")


Seen = tuple[Screen, Scrollback, Modes, str, str | None]


def seen(terminal: Terminal) -> Seen:
    """Everything a reader can see of a terminal, besides its epoch."""
    screen = terminal.screen(styled=True)
    scrollback = terminal.scrollback(offset=0, limit=100_000, styled=True)
    return (
        Screen(
            lines=screen.lines,
            cursor=screen.cursor,
            cols=screen.cols,
            rows=screen.rows,
            first_line_index=screen.first_line_index,
            total_lines=screen.total_lines,
            alternate_active=screen.alternate_active,
            epoch=0,
        ),
        Scrollback(
            lines=scrollback.lines,
            offset=scrollback.offset,
            total_lines=scrollback.total_lines,
            epoch=0,
        ),
        terminal.modes(),
        terminal.title,
        terminal.cwd,
    )
