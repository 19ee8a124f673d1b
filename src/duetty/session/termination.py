"""Ending a session's processes: all of them, and no others.

A shell goes at the first HUP and leaves behind what ignores it. The others are
held by pidfd from before the first signal, so that a number which passes to
another process meanwhile is not killed in their place. What they start since
is found by the number of their session, which no other process gets while one of it is left.
"""

import logging
import os
import select
import signal
from contextlib import suppress
from signal import Signals

import anyio
import anyio.to_thread

from duetty.errors import DuettyError
from duetty.ids import SessionId
from duetty.keeper.held_session import kill_session
from duetty.platform.own_process import hold_process, signal_held
from duetty.platform.terminal_probe import session_members
from duetty.session.keeper_link import Keeping, Whom
from duetty.session.session import Session
from duetty.session.waits import wait_exit

log = logging.getLogger("duetty.sessions")

MAX_HELD = 256
"""Processes held at once; a descriptor each."""


GONE_LOOK_S = 0.02
"""Between two looks whether what a shell left behind has ended."""

KILL_S = 1.0
KILLS = 3
"""How long a session waits for its processes after KILL, and how often; uninterruptible I/O may hold one."""


class Members:
    """The processes of one session: those that were there when this was made, and what they started since."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._held: dict[int, int] = {}
        for pid in session_members(frozenset({leader}))[:MAX_HELD]:
            # Gone already, or no descriptor is left: then it is not held.
            with suppress(OSError):
                self._held[pid] = hold_process(pid)

    def alive(self) -> int:
        """How many are left, of those that are held; when these are gone, of all."""
        for pid, fd in list(self._held.items()):
            ended = select.poll()
            ended.register(fd, select.POLLIN)
            if ended.poll(0):
                del self._held[pid]
                os.close(fd)
        return len(self._held) or len(self._now())

    def kill(self) -> None:
        """Takes a moment where they start others all the time: for a worker thread."""
        if self._now():
            kill_session(self._leader)
        for fd in self._held.values():
            with suppress(OSError):
                signal_held(fd, signal.SIGKILL)

    def close(self) -> None:
        for fd in self._held.values():
            os.close(fd)
        self._held.clear()

    def _now(self) -> list[int]:
        found = session_members(frozenset({self._leader}))
        # With its last process the number became free, and its new owner is another process.
        return [] if self._leader in found and self._leader not in self._held else found


class Ending:
    """Ends sessions through the keeper, which forgets them only when their last process is gone."""

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping
        self._under_way: set[SessionId] = set()

    def is_under_way(self, session: Session) -> bool:
        return session.profile.id in self._under_way

    async def end(self, session: Session, *, first: Signals, grace_s: float) -> None:
        """Politely, then by KILL; until they are gone, or the kernel will not let one go."""
        members = Members(session.profile.pid)
        self._under_way.add(session.profile.id)
        try:
            with anyio.CancelScope(shield=True):
                await self._signal(session, first, "group")
                await self._wait_gone(session, members, within_s=grace_s)
                for _ in range(KILLS):
                    if session.is_exited and not members.alive():
                        break
                    await anyio.to_thread.run_sync(members.kill)
                    await self._signal(session, Signals.SIGKILL, "all")
                    await self._wait_gone(session, members, within_s=KILL_S)
                await self.forget(session)
        finally:
            self._under_way.discard(session.profile.id)
            members.close()

    async def end_orphan(self, session: str) -> None:
        """A process that the keeper may have started for a call whose caller has gone."""
        for ask in (
            lambda: self._keeping.signal(session, Signals.SIGKILL, "all"),
            lambda: self._keeping.forget(session),
        ):
            try:
                await ask()
            except DuettyError:
                log.info("no_orphan", extra={"session": session})

    async def forget(self, session: Session) -> None:
        """The keeper need not remember its exit status any more."""
        try:
            await self._keeping.forget(session.profile.id)
        except DuettyError as error:
            log.info("forget_failed", extra={"session": session.name, "code": error.code})

    async def _signal(self, session: Session, signal: Signals, whom: Whom) -> None:
        if session.is_exited:
            return
        try:
            await self._keeping.signal(session.profile.id, signal, whom)
        except DuettyError as error:
            log.info("signal_failed", extra={"session": session.name, "code": error.code})

    async def _wait_gone(self, session: Session, members: Members, *, within_s: float) -> None:
        with anyio.move_on_after(within_s):
            await wait_exit(session)
            while members.alive():  # noqa: ASYNC110 - the kernel is asked, it has no event for us
                await anyio.sleep(GONE_LOOK_S)
