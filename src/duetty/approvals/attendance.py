"""Who is there to be asked: pages and attached terminals of people who may answer."""

from collections.abc import Generator
from contextlib import contextmanager

import anyio

from duetty.approvals.authority import may_answer
from duetty.approvals.question import HostAsk, may_see
from duetty.calls import Actor
from duetty.clock import Clock

RETURN_S = 3.0
"""A page that reloads comes back within this time. No call waits longer for it to be refused."""


class Attendance:
    def __init__(self, clock: Clock, *, ask: str) -> None:
        self._clock = clock
        self._ask = ask
        self._attending: dict[int, tuple[Actor, str | None]] = {}
        """Who looks, and at which session; None is at all of them."""

        self._next_attendance = 0
        self._came = anyio.Event()
        self._left_s: float | None = None

    @contextmanager
    def attending(self, actor: Actor, *, session_id: str | None = None) -> Generator[None]:
        """While inside, this actor, if it may answer, counts as present.

        `session_id`: it sees this one only, as an attached terminal does; a page or a list
        of sessions shows them all.
        """
        if not may_answer(actor):
            yield
            return
        self._next_attendance += 1
        place = self._next_attendance
        self._attending[place] = actor, session_id
        self._came.set()
        self._came = anyio.Event()
        try:
            yield
        finally:
            del self._attending[place]
            self._left_s = self._clock.monotonic_s()

    def is_attended(self, *, session: str | None = None, session_id: str | None = None) -> bool:
        """Whether a person sees this session now, or would see a new one."""
        return any(
            seen in (None, session_id) and may_see(each, session=session, session_id=session_id)
            for each, seen in self._attending.values()
        )

    def can_ask(
        self,
        host: HostAsk | None = None,
        *,
        session: str | None = None,
        session_id: str | None = None,
    ) -> bool:
        """Whether a person is present for a question about this session, or about none."""
        if self._ask == "never":
            return False
        if self._ask == "always" or host is not None:
            return True
        there = self._attending.values()
        return any(may_see(each, session=session, session_id=session_id) for each, _ in there)

    async def comes_back(self, *, session: str | None = None) -> bool:
        """Whether a person who left a moment ago is back: a page that reloads leaves first."""
        if self._ask != "present" or self._left_s is None:
            return False
        with anyio.move_on_after(self._left_s + RETURN_S - self._clock.monotonic_s()):
            while not self.can_ask(session=session):
                await self._came.wait()
        return self.can_ask(session=session)
