"""What the store records about a session and its blocks."""

from collections.abc import Callable
from dataclasses import replace

from duetty.calls import Actor
from duetty.errors import OutputExpired
from duetty.ids import Offset
from duetty.session.block import Block
from duetty.session.bounds import bounds_text
from duetty.session.output import output_text
from duetty.session.profile import Profile
from duetty.session.session import Session
from duetty.store import BlockRecord, SessionRecord

INDEXED_CHARS = 64 * 1024
"""Output of one block that search looks at: its head and tail."""


def session_record(session: Session) -> SessionRecord:
    profile = session.profile
    return SessionRecord(
        id=profile.id,
        name=profile.name,
        command=profile.argv,
        shell=profile.shell,
        integration=profile.integration_reason,
        nonce=profile.nonce,
        tags=tuple(sorted(profile.tags)),
        cols=profile.cols,
        rows=profile.rows,
        cwd=profile.cwd,
        created_at_ns=profile.created_at_ns,
        pid=profile.pid,
        tty=profile.tty,
        exited_at_ns=session.exited_at_ns,
        exit_code=session.exit_code,
        exit_signal=session.exit_signal,
        sandbox=profile.sandbox,
        owner=profile.owner,
        workspace=profile.workspace or None,
        network=profile.network,
        bounds=bounds_text(replace(profile.bounds, left=session.left)),
        keeps_name=profile.keeps_name,
    )


def block_record(block: Block, profile: Profile) -> BlockRecord:
    return BlockRecord(
        id=block.id,
        session_id=profile.id,
        session_name=profile.name,
        number=block.number,
        command_line=block.command_line,
        cwd=block.cwd,
        exit_code=block.exit_code,
        started_at_ns=block.started_at_ns,
        finished_at_ns=block.finished_at_ns,
        duration_ms=None if block.duration_ms is None else int(block.duration_ms),
        start_offset=Offset(block.start),
        end_offset=None if block.end is None else Offset(block.end),
        actor_kind=block.actor.kind,
        actor_name=block.actor.name,
        state="open" if block.is_open else "closed",
    )


def recorded_actor(record: BlockRecord) -> Actor:
    kind = record.actor_kind
    return Actor(
        kind=kind if kind in ("person", "agent", "node") else "person", name=record.actor_name
    )


def block_text(block: Block, session: Session) -> Callable[[], str]:
    """Renders the block's output; the store calls it in its own thread."""
    journal, cols = session.journal, session.profile.cols

    def render() -> str:
        if block.end is None:
            return ""
        try:
            return output_text(journal, block.start, block.end, cols=cols, limit=INDEXED_CHARS).text
        except OutputExpired:
            return ""

    return render
