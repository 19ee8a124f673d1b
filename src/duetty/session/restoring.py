"""A session from its journal: the newest snapshot, then the bytes after it, replies off."""

from duetty.blocks import BlockTracker
from duetty.clock import Clock
from duetty.journal import Journal
from duetty.session.envelope import parse_envelope
from duetty.session.probing import Prober
from duetty.session.profile import Profile
from duetty.session.session import Session
from duetty.shell import MarkScanner
from duetty.vt import Terminal

REPLAY_BYTES = 256 * 1024


def restored(
    profile: Profile, journal: Journal, *, scrollback_rows: int, clock: Clock, prober: Prober
) -> Session:
    """The session as it was when its journal ended; nothing is attached yet."""
    tail = journal.tail()
    envelope = parse_envelope(tail.snapshot) if tail.snapshot is not None else None
    scanner = MarkScanner(profile.nonce)
    tracker = BlockTracker()
    if envelope is not None:
        terminal = Terminal.restore(envelope.terminal)
        scanner.carry = envelope.carry
        tracker = BlockTracker(envelope.progress)
    else:
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
    )
    at = int(tail.base)
    for size in (*tail.sizes, None):
        stop = int(size.offset) if size is not None else int(tail.end)
        for chunk in journal.chunks(at, stop, REPLAY_BYTES):
            session.replay(chunk, at)
            at += len(chunk)
        at = stop
        if size is not None:
            session.replay_resize(cols=size.cols, rows=size.rows)
    return session
