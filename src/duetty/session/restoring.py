"""A session from its journal: the newest snapshot, then the bytes after it, replies off."""

from duetty.blocks import BlockTracker, Phase
from duetty.clock import Clock
from duetty.errors import OutputExpired
from duetty.journal import Journal
from duetty.session.envelope import Envelope, parse_envelope
from duetty.session.lane import Lane
from duetty.session.probing import Prober
from duetty.session.profile import Profile
from duetty.session.session import Session
from duetty.session.times import Times
from duetty.shell import MarkScanner
from duetty.vt import Terminal

REPLAY_BYTES = 256 * 1024


def restored(
    profile: Profile,
    journal: Journal,
    *,
    scrollback_rows: int,
    clock: Clock,
    prober: Prober,
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
        prober=prober,
        lane=lane,
    )
    if envelope is not None:
        session.chronicle.open_block = envelope.open_block
        session.question = envelope.question
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
    if profile.shell == "sh" and session.phase is Phase.INPUT and _line_ended(session):
        session.enter()
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
        return b"\n" in session.journal.read(session.input_end, session.journal.end)
    except OutputExpired:
        return False
