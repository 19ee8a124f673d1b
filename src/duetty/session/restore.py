"""Sessions from what an earlier server left: journals, the store, and sidecars beside them.

A session is the newest snapshot of its journal, then the bytes after it, replies off.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import anyio

from duetty.blocks import BlockTracker, Phase
from duetty.calls import Actor
from duetty.clock import Clock
from duetty.errors import OutputExpired
from duetty.ids import SessionId
from duetty.journal import Journal
from duetty.removal import ASIDE, remove_trees
from duetty.session.block import Block
from duetty.session.bounds import parse_bounds
from duetty.session.envelope import Envelope, parse_envelope
from duetty.session.lane import Lane
from duetty.session.profile import Profile
from duetty.session.session import Owner, Session
from duetty.session.session_start import command_text, is_shell
from duetty.session.sidecar import read_sidecar
from duetty.session.store_records import recorded_actor
from duetty.session.times import Times
from duetty.session.viewers import SizeRule
from duetty.shell import MarkScanner
from duetty.store import SessionRecord, Store
from duetty.vt import Terminal

REPLAY_BYTES = 256 * 1024


def restored(
    profile: Profile,
    journal: Journal,
    *,
    scrollback_rows: int,
    clock: Clock,
    owner: Owner,
    size_rule: SizeRule,
    lane: Lane,
) -> Session:
    """The session as it was when its journal ended; nothing is attached yet."""
    tail = journal.tail()
    envelope = parse_envelope(tail.snapshot) if tail.snapshot is not None else None
    scanner = MarkScanner(profile.nonce)
    tracker = BlockTracker()
    terminal = _terminal(envelope)
    if envelope is not None:
        scanner.carry = envelope.carry
        tracker = BlockTracker(envelope.progress)
    if terminal is None:
        terminal = Terminal(
            cols=tail.cols or profile.cols,
            rows=tail.rows or profile.rows,
            scrollback_rows=scrollback_rows,
        )
    profile.cols, profile.rows = terminal.cols, terminal.rows
    session = Session(
        profile,
        journal=journal,
        terminal=terminal,
        scanner=scanner,
        tracker=tracker,
        clock=clock,
        owner=owner,
        size_rule=size_rule,
        lane=lane,
    )
    session.prompt.line.is_touched = True  # who typed what is unknown
    if envelope is not None:
        session.chronicle.open_block = envelope.open_block
    times = Times(journal.times(tail.base, tail.end), default_ns=profile.created_at_ns)
    at = int(tail.base)
    for size in (*tail.sizes, None):
        stop = int(size.offset) if size is not None else int(tail.end)
        for chunk in journal.chunks(at, stop, REPLAY_BYTES):
            session.replay(chunk, at, times)
            at += len(chunk)
        at = stop
        if size is not None:
            session.replay_resize(cols=size.cols, rows=size.rows)
    if (
        profile.shell_kind.announces == "ends"
        and session.prompt.phase is Phase.INPUT
        and _line_ended(session)
    ):
        session.prompt.enter()
    return session


def _terminal(envelope: Envelope | None) -> Terminal | None:
    """None when there is no snapshot, or one that this version of the emulator cannot read."""
    if envelope is None:
        return None
    try:
        return Terminal.restore(envelope.terminal)
    except ValueError:
        return None


def _line_ended(session: Session) -> bool:
    """Whether a line was echoed since the prompt: then POSIX sh runs it."""
    try:
        return b"\n" in session.journal.read(session.prompt.input_end, session.journal.end)
    except OutputExpired:
        return False


def records(store: Store, journals: Path) -> list[SessionRecord]:
    """What the store remembers, and what only the journals' directories still do. Blocks."""
    found = [_with_newest_bounds(record, journals) for record in store.sessions()]
    known: set[str] = {record.id for record in found}
    for directory in sorted(journals.iterdir()):
        if directory.name in known:
            continue
        is_removed = directory.name.startswith(ASIDE)
        record = None if is_removed else read_sidecar(directory)
        if record is not None:
            found.append(record)
        else:
            # The server was killed while it opened or removed this one.
            remove_trees(directory)
    return found


def _with_newest_bounds(record: SessionRecord, journals: Path) -> SessionRecord:
    """The caller that waits for an end is written beside the journal at once; the store is a second behind."""
    beside = read_sidecar(journals / record.id)
    return record if beside is None else replace(record, bounds=beside.bounds)


class RecordedRun(NamedTuple):
    """A command line as a caller asked for it, from a record that is older than the store's."""

    command_line: str
    at_ns: int
    actor: Actor


Whose = Callable[[SessionId], list[RecordedRun]]
"""The newest runs of a session that were recorded before they ran, newest first."""

LATER_NS = 2_000_000_000
"""By how much a block may seem to have begun before its run was recorded: clocks are read apart."""


async def recall_blocks(
    session: Session, store: Store, whose: Whose, *, save: Callable[[Session, Block], None]
) -> None:
    """Replayed blocks do not know who typed them; the store does, or has not heard of them: a
    server that was killed had recorded who asked, and not yet stored what came of it.
    """
    stored = await anyio.to_thread.run_sync(
        lambda: store.blocks(session.profile.id, limit=len(session.recent) or 1)
    )
    by_id = {record.id: record for record in stored}
    unheard = [block for block in session.recent if block.id not in by_id]
    runs = await anyio.to_thread.run_sync(whose, session.profile.id) if unheard else []
    actors = {block.id: _actor_of(block, runs) for block in reversed(unheard)}
    for place, block in enumerate(session.recent):
        record = by_id.get(block.id)
        if record is not None:
            session.recent[place] = replace(block, actor=recorded_actor(record))
        else:
            restored = replace(block, actor=actors.get(block.id) or block.actor)
            session.recent[place] = restored
            save(session, restored)


def _actor_of(block: Block, runs: list[RecordedRun]) -> Actor | None:
    """Who asked for it; each run is one block's."""
    for place, run in enumerate(runs):
        if run.command_line == block.command_line and run.at_ns < block.started_at_ns + LATER_NS:
            del runs[: place + 1]
            return run.actor
    return None


def profile_of(record: SessionRecord) -> Profile:
    return Profile(
        id=record.id,
        name=record.name,
        argv=record.command,
        command=command_text(record.command),
        shell=record.shell,
        integration_reason=record.integration if record.shell is None else None,
        nonce=record.nonce,
        created_at_ns=record.created_at_ns,
        cwd=record.cwd or "/",
        pid=record.pid or 0,
        tty=record.tty or "",
        cols=record.cols,
        rows=record.rows,
        tags=set(record.tags),
        is_shell=is_shell(record.command),
        sandbox=record.sandbox,
        owner=record.owner,
        workspace=record.workspace or "",
        network=record.network,
        bounds=parse_bounds(record.bounds),
        keeps_name=record.keeps_name,
    )
