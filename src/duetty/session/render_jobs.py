"""What is made of a screen cell by cell: here and now if it is small, by a worker if it is not.

A cell takes three microseconds, and the largest screen has a million. The worker has a copy of the
terminal, which the emulator makes in milliseconds, so the session goes on meanwhile.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import anyio

from duetty.session.session import Session
from duetty.vt import Terminal, screen_json
from duetty.workers import Rests, in_worker

Drawn = TypeVar("Drawn")

LARGE_CELLS = 10_000
"""More take longer than others should wait: some 30 ms. An ordinary screen has two thousand."""

MAX_CELLS = 100_000
"""Of a screen that is written with its styles or drawn: 400 by 250. Each cell may be a hundred bytes."""

MAX_SPANS = 20_000
"""Of a screen that is written with its styles: a megabyte. An ordinary screen has some thousand."""

WORKERS = 2
"""One caller uses one of them at a time; its further requests wait."""

_turns: WeakValueDictionary[str, anyio.Semaphore] = WeakValueDictionary()


def cells_of(session: Session, *, above: int = 0) -> int:
    """Of the screen, and of so many rows above it if there are as many."""
    cols, rows = session.terminal_size
    return cols * min(rows + above, session.total_rows)


async def drawn(
    session: Session,
    draw: Callable[[Terminal], Drawn],
    *,
    cells: int,
    owner: str,
    begun: Callable[[], None] = lambda: None,
) -> Drawn:
    """What `draw` makes of the terminal as it is when its turn comes; `begun` is called at that moment."""
    if cells <= LARGE_CELLS:
        begun()
        return draw(session.terminal)
    turn = _turns.get(owner)
    if turn is None:
        turn = _turns[owner] = anyio.Semaphore(1)
    async with turn, _workers():
        begun()
        state = session.terminal.snapshot()
        return await in_worker(_drawn, state, draw)


async def screen_shape(session: Session, *, styled: bool, owner: str) -> dict[str, Any]:
    """The answer of `screen.get`; a screen that has too many styles comes without them."""
    cells = cells_of(session)
    if not styled or cells > MAX_CELLS:
        return screen_json(session.screen(styled=False))
    return await drawn(session, _styled, cells=cells, owner=owner)


def _styled(terminal: Terminal) -> dict[str, Any]:
    if terminal.cols * terminal.rows <= LARGE_CELLS:
        return screen_json(terminal.screen(styled=True))
    screen = terminal.styled_screen(max_spans=MAX_SPANS)
    return screen_json(terminal.screen(styled=False) if screen is None else screen)


def _drawn(state: bytes, draw: Callable[[Terminal], Drawn]) -> Drawn:
    terminal = Terminal.restore(state, between_rows=Rests())
    try:
        return draw(terminal)
    finally:
        terminal.close()


@cache
def _workers() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(WORKERS)
