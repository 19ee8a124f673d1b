"""Waiting for something in a session. None of these takes a timeout: the caller bounds the wait."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import anyio

from duetty.blocks import State
from duetty.clock import Clock
from duetty.ids import StateWord
from duetty.session.block import Block
from duetty.session.bounds import BoundReached, Bounds, Left
from duetty.session.matcher import Found, Needle
from duetty.session.output import plain_text
from duetty.session.session import Session
from duetty.session.wait_probe import Looks

KEEP_FIRST_S = 0.05
KEEP_LAST_S = 0.8
"""Between two looks at a program that a viewer watches: a question shows within a second."""

BOUND_LOOK_S = 0.1

SEARCH_BYTES = 64 * 1024
OVERLAP_BYTES = 4_096
"""Of what a command printed: how far back a wait looks at first, and what is looked at twice because
a text may be cut by two turns of output."""

PLACE_ROWS = 1_000
"""Newest rows among which a match is looked for, to say where it stands."""

LINES = 20
"""Newest command lines whose rows are no output."""

SEARCH_ROWS = 4_000
"""Rows looked at after each turn of output; more than one turn can print."""


async def wait_idle(
    session: Session, *, quiet_s: float, last_generation: int | None = None, fresh: bool = False
) -> int:
    """Until nothing touched the session for `quiet_s`; gives its generation.

    With `last_generation` equal to the current one, something must happen first.
    With `fresh`, the silence is counted from this call on.
    """
    activity = session.activity
    if not fresh and last_generation == activity.generation:
        while last_generation == activity.generation and not session.is_exited:
            await session.pulse.wait()
    if fresh:
        await anyio.sleep(quiet_s)
    while (remaining_s := quiet_s - activity.quiet_s()) > 0:  # noqa: ASYNC110 - silence has no event
        await anyio.sleep(remaining_s)
    return activity.generation


async def wait_exit(session: Session) -> None:
    while not session.is_exited:
        await session.pulse.wait()


async def wait_bound(
    session: Session, bounds: Bounds | Left, clock: Clock, *, is_over: Callable[[], bool]
) -> BoundReached | None:
    """Until its time is up, it printed as much as it may, or (None) it is over before that."""
    left_s = None
    if bounds.ends_at_ns is not None:
        left_s = max(0.0, (bounds.ends_at_ns - clock.wall_ns()) / 1e9)
    most = bounds.max_output_bytes
    start = bounds.start if isinstance(bounds, Left) else 0
    with anyio.move_on_after(left_s):
        while not is_over():
            if most is not None and session.journal.end - start > most:
                return "output"
            await session.pulse.wait()
            await anyio.sleep(BOUND_LOOK_S)  # a flood would make us look all the time
    return None if is_over() else "deadline"


async def wait_block(session: Session, *, after: int) -> Block:
    """Until a block with a number above `after` is closed."""
    while True:
        for block in session.recent:
            if block.number > after:
                return block
        if session.is_exited:
            raise anyio.EndOfStream
        await session.pulse.wait()


async def wait_state(session: Session, words: Sequence[StateWord]) -> State:
    """Until the session is in one of these states."""
    looks = Looks()
    while True:
        generation = session.activity.generation
        state = await session.look()
        if state.word in words:
            return state
        if session.is_exited:
            raise anyio.EndOfStream
        if generation != session.activity.generation:
            looks.again_soon()
        await session.pulse.nap(looks.next_s())


async def keep_state(session: Session) -> None:
    """Ask again and again what the program does, while only the kernel can tell; never ends.

    Soon after something happened, then seldom: a program may begin to read at any time.
    """
    while not session.is_exited:
        pause_s = KEEP_FIRST_S
        while session.prompt.is_unannounced and not session.is_exited:
            # Not woken by output: a flood would make us ask all the time.
            await anyio.sleep(pause_s)
            before = session.activity.generation
            state = await session.look()
            if state.word in ("awaiting_input", "awaiting_password"):
                if before == session.activity.generation:
                    await session.pulse.wait()
                pause_s = KEEP_FIRST_S
            else:
                pause_s = min(2 * pause_s, KEEP_LAST_S)
        if not session.is_exited:
            await session.pulse.wait()


async def wait_text(session: Session, needle: Needle) -> Found:
    """Until the text is on the screen, or goes by; gives what matched."""
    block, searched = session.prompt.open_block, 0
    while block is not None and not session.alternate_active:
        # The line that was typed holds the text too, often enough: what counts is what it printed.
        is_over = session.prompt.open_block is None
        end = session.journal.end
        start = max(block.start, searched, end - SEARCH_BYTES, session.journal.start)
        printed = plain_text(session.journal.read(start, end), cols=session.profile.cols)
        if (found := await needle.find_aside(printed)) is not None:
            return found
        searched = max(start, end - OVERLAP_BYTES)
        if session.journal.end > end:
            continue  # something was printed while a worker searched
        if session.is_exited:
            raise anyio.EndOfStream
        if is_over:
            break
        await session.pulse.wait()
    seen_rows = session.total_rows - session.terminal_size[1]
    while True:
        # A program that goes full-screen has fewer rows than were seen before.
        above = session.total_rows - session.terminal_size[1]
        first = max(min(seen_rows, above) - 1, session.total_rows - SEARCH_ROWS, 0)
        generation, seen_rows = session.activity.generation, above
        shown = session.text(first_row=first)
        if session.profile.shell_kind.has_line_editor:  # else a line is known by its echo alone
            shown = _without_lines(shown, reversed(session.recent))
        if (found := await needle.find_aside(shown)) is not None:
            return found
        if generation != session.activity.generation:
            continue  # something was printed while a worker searched
        if session.is_exited:
            raise anyio.EndOfStream
        await session.pulse.wait()


def _without_lines(shown: str, recent: Iterable[Block]) -> str:
    """With the rows on which command lines were typed, behind a prompt, empty: nothing printed those."""
    lines = ((each.command_line or "").strip() for each in islice(recent, LINES))
    typed = tuple(line.partition("\n")[0].rstrip() for line in lines if line)
    rows = shown.split("\n")
    return "\n".join("" if row.endswith(typed) and _has_prompt(row, typed) else row for row in rows)


def _has_prompt(row: str, typed: Iterable[str]) -> bool:
    before = (row.removesuffix(line).rstrip()[-1:] for line in typed if row.endswith(line))
    return any(sign and not sign.isalnum() for sign in before)


def row_of(session: Session, found: Found) -> int | None:
    """Where the match stands, as the scrollback counts; None where it is no longer, or overdrawn."""
    line = found.line.rstrip()
    page = session.scrollback(offset=-PLACE_ROWS, limit=PLACE_ROWS, styled=False)
    cols = session.terminal_size[0]
    for row, shown in reversed([*enumerate(each.rstrip() for each in page.text_lines)]):
        is_its_first = len(shown) >= cols - 1 and line.startswith(shown)  # of a wrapped line
        if shown == line or is_its_first:
            return page.offset + row
    return None
