"""A session's journal as a recording that other programs can play."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from duetty.journal import asciicast
from duetty.session.envelope import parse_envelope
from duetty.session.session import Session
from duetty.shell import strip_nonce
from duetty.vt import Terminal


def cast_lines(
    session: Session, *, version: Literal[2, 3], marks: Sequence[tuple[int, str]] = ()
) -> Iterator[str]:
    """The lines of an asciicast of everything that is kept; for a worker thread, lazily.

    Played in its own session, it is text: the marks in it are no longer trusted.

    Raises:
        OutputExpired: if bytes go while they are read.
    """
    return asciicast(
        session.journal,
        version=version,
        title=session.title or session.name,
        exit_code=session.exit_code,
        marks=marks,
        rewrite=partial(strip_nonce, nonce=session.profile.nonce),
        redraw=_redrawn,
    )


def _redrawn(content: bytes) -> bytes:
    """The emulator's own snapshot as bytes for any terminal; nothing if it cannot be read."""
    envelope = parse_envelope(content)
    if envelope is None:
        return b""
    try:
        terminal = Terminal.restore(envelope.terminal)
    except ValueError:
        return b""
    try:
        return terminal.dump()
    finally:
        terminal.close()
