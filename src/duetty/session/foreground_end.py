"""End what has a session's terminal in front of its shell, and leave the shell alone."""

from signal import Signals
from typing import Protocol

import anyio

from duetty.calls import Actor
from duetty.session.keeper_link import Whom
from duetty.session.session import Session

STEP_S = 0.7
"""What a program gets to obey each step."""


class Signalling(Protocol):
    """Who can reach the session's processes."""

    async def interrupt(self, session: Session, *, actor: Actor) -> None: ...
    async def signal(self, session: Session, signal: Signals, *, whom: Whom) -> None: ...


async def end_foreground(by: Signalling, session: Session, *, actor: Actor) -> bool:
    """Whether the shell is back at its prompt then, or the session has exited."""
    # Shells and pagers take no notice of TERM.
    for signal in (None, Signals.SIGHUP, Signals.SIGKILL):
        if await _is_at_prompt(session):
            break
        if signal is None or session.foreground is None:
            await by.interrupt(session, actor=actor)
        else:
            await by.signal(session, signal, whom="foreground")
        with anyio.move_on_after(STEP_S):
            while not await _is_at_prompt(session):
                await session.pulse.nap(0.05)
    return await _is_at_prompt(session)


async def _is_at_prompt(session: Session) -> bool:
    if session.is_exited:
        return True
    return session.prompt.is_open or (await session.look()).word == "prompt"
