"""From what the engine knows to what crosses the boundary."""

import signal
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from duetty.approvals import Granted
from duetty.ops.services import Node
from duetty.session import Block, Left, Session
from duetty.store import BlockRecord
from duetty.wire.processes import ProcessInfo, RunProcessResult
from duetty.wire.results import (
    Approved,
    Background,
    BlockInfo,
    Foreground,
    RunResult,
    SessionInfo,
)


def time_text(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / 1e9, UTC).isoformat(timespec="milliseconds")


def signal_name(number: int) -> str:
    """Real-time signals have numbers only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def session_info(session: Session, node: Node) -> SessionInfo:
    profile, state = session.profile, session.state()
    return SessionInfo(
        name=profile.name,
        id=profile.id,
        server=node.hostname,
        pid=None if session.is_exited else profile.pid,
        command=profile.command,
        rows=profile.rows,
        cols=profile.cols,
        clients=len(session.viewers),
        tags=sorted(profile.tags),
        last_activity_ms=int(session.activity.quiet_s() * 1000),
        state=state.word,
        state_known_by=state.known_by,
        integration=profile.integration,
        integration_reason=profile.integration_reason,
        cwd=session.cwd,
        title=session.title,
        created_at=time_text(profile.created_at_ns),
        exit_code=session.exit_code,
        exit_signal=None if session.exit_signal is None else signal_name(session.exit_signal),
        sandbox=profile.sandbox,
        workspace=profile.workspace or None,
        foreground=foreground_info(session),
        terminal=session.terminal_mode,
        background=background_info(session),
        degraded=session.degraded,
        away_since=None,
    )


EXCERPT_CHARS = 200
"""Of a command line that is only named."""


def background_info(session: Session) -> Background | None:
    profile, block = session.profile, session.prompt.open_block
    if (left := session.left.get(profile.id)) is not None:
        bounds = profile.bounds
        return _background(
            session,
            replace(left, ends_at_ns=bounds.ends_at_ns, max_output_bytes=bounds.max_output_bytes),
            line=profile.command,
            block=None,
        )
    if block is None or (left := session.left.get(block.id)) is None:
        return None
    return left_info(session, left, block, block.id)


def left_info(session: Session, left: Left, running: Block | None, block: str) -> Background:
    """A run in front; `running` where the shell has announced it."""
    line = None if running is None else running.command_line
    return _background(session, left, line=line, block=block)


def _background(session: Session, left: Left, *, line: str | None, block: str | None) -> Background:
    return Background(
        owner=left.caller.partition("\t")[0],
        command_line=(line or "")[:EXCERPT_CHARS] or None,
        block=block,
        ends_at=None if left.ends_at_ns is None else time_text(left.ends_at_ns),
        output_bytes=session.journal.end - left.start,
        max_output_bytes=left.max_output_bytes,
    )


def exit_code_of(session: Session) -> int | None:
    """As a shell says it: 128 and the signal, where one ended it."""
    if session.exit_code is None and session.exit_signal is not None:
        return 128 + session.exit_signal
    return session.exit_code


def foreground_info(session: Session) -> Foreground | None:
    found = session.reader or session.foreground
    if found is None:
        return None
    return Foreground(name=found.name, pid=found.pid, running_s=found.since_s)


def with_answer(result: Any, granted: Granted | None) -> Any:
    """The result with the answer of the person who approved the call, where it has a field for it."""
    if granted is None or granted.is_standing:
        return result
    if isinstance(result, RunProcessResult):
        return result.model_copy(update={"process": with_answer(result.process, granted)})
    if not isinstance(result, (RunResult, ProcessInfo)):
        return result
    approved = Approved(
        id=granted.approval,
        edited=granted.command_line is not None,
        command=granted.command_line,
        note=granted.note,
    )
    return result.model_copy(update={"approved": approved})


def block_info(block: Block, session_name: str) -> BlockInfo:
    return BlockInfo(
        id=block.id,
        number=block.number,
        session=session_name,
        command_line=block.command_line,
        cwd=block.cwd,
        exit_code=block.exit_code,
        started_at=time_text(block.started_at_ns),
        duration_ms=block.duration_ms,
        output_bytes=None if block.end is None else block.end - block.start,
        actor=f"{block.actor.kind}:{block.actor.name}",
        running=block.is_open,
    )


def stored_block_info(record: BlockRecord) -> BlockInfo:
    return BlockInfo(
        id=record.id,
        number=record.number,
        session=record.session_name,
        command_line=record.command_line,
        cwd=record.cwd,
        exit_code=record.exit_code,
        started_at=time_text(record.started_at_ns),
        duration_ms=_duration_ms(record),
        output_bytes=None if record.end_offset is None else record.end_offset - record.start_offset,
        actor=f"{record.actor_kind}:{record.actor_name}",
        running=record.end_offset is None,
    )


def _duration_ms(record: BlockRecord) -> float | None:
    """From the times: the store counts whole milliseconds, and most commands take less than one."""
    if record.duration_ms is None or record.finished_at_ns is None:
        return None
    return round((record.finished_at_ns - record.started_at_ns) / 1e6, 3)
