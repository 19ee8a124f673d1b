"""Operations that read: screen, scrollback, blocks, their output, search over all history."""

from functools import partial
from itertools import islice
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread

from duetty.calls import Actor, Effect
from duetty.errors import BlockNotFound, OutputExpired
from duetty.ids import BlockId, SessionId, block_id
from duetty.ops.judgements import PLAIN
from duetty.ops.operation import InSession, Operation, PerhapsInSession, Route
from duetty.ops.services import Services
from duetty.ops.shapes import block_info, exit_code_of, stored_block_info
from duetty.session import Block, Session, output_lines, screen_shape
from duetty.session import scrollback_json as scrollback_as_json
from duetty.store import Hit, Store
from duetty.wire.params import (
    BlockOutputParams,
    BlocksParams,
    HistoryParams,
    ReadOutputParams,
    ScreenParams,
    ScrollbackParams,
    SearchParams,
)
from duetty.wire.results import (
    BlockInfo,
    BlockOutput,
    ReadOutput,
    ScrollbackShape,
    SearchHit,
    TimedScreenShape,
)
from duetty.workers import in_worker

MAX_ROWS = 10_000
ROWS_PER_TURN = 200
MAX_SPANS = 100_000
"""Of one answer; the rows below are asked for with the next one. Ten thousand rows of ordinary text have fewer."""

CELLS_PER_TURN = 16_000
"""Styles take 25 µs a row of eighty: ten thousand of them at once would hold all other calls up."""


async def _screen(
    params: ScreenParams, session: Session, services: Services, actor: Actor
) -> dict[str, Any]:
    screen = await screen_shape(session, styled=params.format == "styled", owner=actor.identity)
    screen["last_activity_ms"] = int(session.activity.quiet_s() * 1000)
    return screen


async def _scrollback(
    params: ScrollbackParams, session: Session, services: Services, actor: Actor
) -> dict[str, Any]:
    limit = min(params.limit, MAX_ROWS)
    styled = params.format == "styled"
    turn = max(1, min(ROWS_PER_TURN, CELLS_PER_TURN // session.terminal_size[0]))
    first: dict[str, Any] = scrollback_as_json(
        session.scrollback(offset=params.offset, limit=min(limit, turn), styled=styled)
    )
    spans = _spans(first["lines"]) if styled else 0
    while len(first["lines"]) < limit and len(first["lines"]) % turn == 0 and spans < MAX_SPANS:
        await anyio.lowlevel.checkpoint()
        at = first["offset"] + len(first["lines"])
        rows = min(turn, limit - len(first["lines"]))
        more: dict[str, Any] = scrollback_as_json(
            session.scrollback(offset=at, limit=rows, styled=styled)
        )
        if not more["lines"]:
            break
        first["lines"] += more["lines"]
        spans += _spans(more["lines"]) if styled else 0
    return first


def _spans(lines: list[Any]) -> int:
    return sum(map(len, lines))


async def _blocks(
    params: BlocksParams, session: Session, services: Services, actor: Actor
) -> list[BlockInfo]:
    blocks = list(session.recent)
    if session.prompt.open_block is not None:
        blocks.append(session.prompt.open_block)
    newest_first = [
        block_info(block, session.name)
        for block in reversed(blocks)
        if params.before is None or block.number < params.before
    ][: params.limit]
    missing = params.limit - len(newest_first)
    oldest = newest_first[-1].number if newest_first else params.before
    if missing > 0 and oldest != 1:
        newest_first += await anyio.to_thread.run_sync(
            _stored_blocks, services.store, session.profile.id, oldest, missing
        )
    return newest_first


def _stored_blocks(
    store: Store, session: SessionId, before: int | None, limit: int
) -> list[BlockInfo]:
    store.flush()
    try:
        first = None if before is None else block_id(session, before)
        records = store.blocks(session, before=first, limit=limit)
    except BlockNotFound:
        return []  # history forgot that far back
    return [stored_block_info(record) for record in records]


async def _block_output(
    params: BlockOutputParams, session: Session, services: Services, actor: Actor
) -> BlockOutput:
    info, start, end = await _find_block(params.block, session, services)
    kept = min(max(start, session.journal.start), end)
    if kept == end and start < end:
        raise OutputExpired("the output of this block is no longer kept")
    lines, total = await in_worker(_page, session, kept, end, params.offset, params.limit)
    offset = params.offset if params.offset >= 0 else max(0, total + params.offset)
    return BlockOutput(
        block=info, lines=lines, offset=offset, total_lines=total, gone_bytes=kept - start
    )


async def _read_output(
    params: ReadOutputParams, session: Session, services: Services, actor: Actor
) -> ReadOutput:
    journal = session.journal
    asked = params.cursor if params.cursor >= 0 else max(0, journal.end + params.cursor)
    with anyio.move_on_after(params.wait_ms / 1000):
        while journal.end <= asked and not session.is_exited:
            await session.pulse.wait()
    start = min(max(asked, journal.start), journal.end)
    end = min(start + params.max_bytes, journal.end)
    if end < journal.end and (cut := journal.read(start, end).rfind(b"\n") + 1):
        end = start + cut
    lines, _ = await in_worker(_page, session, start, end, 0, params.max_bytes)
    return ReadOutput(
        text="\n".join(lines),
        cursor=start,
        next=end,
        gone_bytes=max(0, start - asked),
        state=(await session.look()).word,
        exit_code=exit_code_of(session),
    )


async def _find_block(
    wanted: str, session: Session, services: Services
) -> tuple[BlockInfo, int, int]:
    def is_it(block: Block) -> bool:
        return wanted in (block.id, str(block.number))

    known = [*session.recent, *([session.prompt.open_block] if session.prompt.open_block else [])]
    for block in known:
        if is_it(block):
            end = block.end if block.end is not None else session.journal.end
            return block_info(block, session.name), block.start, end
    name = wanted if "-" in wanted else f"{session.profile.id}-{wanted}"
    record = await anyio.to_thread.run_sync(services.store.block, BlockId(name))
    if record.session_id != session.profile.id or record.end_offset is None:
        raise BlockNotFound(wanted)
    return stored_block_info(record), record.start_offset, record.end_offset


def _page(session: Session, start: int, end: int, offset: int, limit: int) -> tuple[list[str], int]:
    """Lines of a block; runs in a worker thread, since a block may be all of the journal."""
    lines = output_lines(session.journal, start, end, cols=session.profile.cols)
    if offset < 0:
        every = list(lines)
        return every[offset:][:limit], len(every)
    skipped = sum(1 for _ in islice(lines, offset))
    page = list(islice(lines, limit))
    return page, skipped + len(page) + sum(1 for _ in lines)


async def _history(
    params: HistoryParams, session: Session | None, services: Services, actor: Actor
) -> list[BlockInfo]:
    session_id = None if session is None else session.profile.id
    await anyio.to_thread.run_sync(services.store.flush)
    records = await anyio.to_thread.run_sync(
        partial(services.store.blocks, session_id, limit=params.limit)
    )
    return [stored_block_info(record) for record in records]


async def _search(
    params: SearchParams, session: Session | None, services: Services, actor: Actor
) -> list[SearchHit]:
    session_id = None if session is None else session.profile.id
    await anyio.to_thread.run_sync(services.store.flush)
    hits = await in_worker(
        partial(
            services.store.search,
            params.query,
            session=session_id,
            cwd=params.cwd,
            failed=params.failed,
            limit=params.limit,
        )
    )
    return [_hit(hit) for hit in hits]


def _hit(hit: Hit) -> SearchHit:
    text = ""
    matches: list[tuple[int, int]] = []
    for part in hit.snippet.parts:
        if part.matched:
            matches.append((len(text), len(text) + len(part.text)))
        text += part.text
    return SearchHit(
        block=stored_block_info(hit.block), field=hit.field, snippet=text, matches=matches
    )


SCREEN = Operation(
    name="screen.get",
    summary="The visible screen, as text or as styled spans.",
    effect=Effect.READ,
    judged=PLAIN,
    params=ScreenParams,
    result=TimedScreenShape,
    run=InSession(_screen),
    route=Route(method="GET", path="/sessions/{session}/screen"),
)
SCROLLBACK = Operation(
    name="scrollback.get",
    summary="Rows of scrollback and screen, by offset from either end.",
    effect=Effect.READ,
    judged=PLAIN,
    params=ScrollbackParams,
    result=ScrollbackShape,
    run=InSession(_scrollback),
    route=Route(method="GET", path="/sessions/{session}/scrollback"),
)
BLOCKS = Operation(
    name="block.list",
    summary="The session's commands, newest first, with exit code, directory and duration.",
    effect=Effect.READ,
    judged=PLAIN,
    params=BlocksParams,
    result=list[BlockInfo],
    run=InSession(_blocks),
    route=Route(method="GET", path="/sessions/{session}/blocks"),
)
BLOCK_OUTPUT = Operation(
    name="block.output",
    summary="Lines of one command's output, by range.",
    effect=Effect.READ,
    judged=PLAIN,
    params=BlockOutputParams,
    result=BlockOutput,
    run=InSession(_block_output),
    route=Route(method="GET", path="/sessions/{session}/blocks/{block}/output"),
    errors=(BlockNotFound, OutputExpired),
)
READ_OUTPUT = Operation(
    name="output.read",
    summary="What a session printed, as text, from a cursor on; may wait for more.",
    effect=Effect.READ,
    judged=PLAIN,
    params=ReadOutputParams,
    result=ReadOutput,
    run=InSession(_read_output),
    route=Route(method="GET", path="/sessions/{session}/output"),
    waits=True,
)
HISTORY = Operation(
    name="history.list",
    summary="Every command of every session, newest first.",
    effect=Effect.READ,
    judged=PLAIN,
    params=HistoryParams,
    result=list[BlockInfo],
    run=PerhapsInSession(_history),
    route=Route(method="GET", path="/history"),
)
SEARCH = Operation(
    name="history.search",
    summary="Search command lines and output of everything that was ever run.",
    effect=Effect.READ,
    judged=PLAIN,
    params=SearchParams,
    result=list[SearchHit],
    run=PerhapsInSession(_search),
    route=Route(method="GET", path="/search"),
)
