"""Something changed: wakes whoever waits, and costs nothing when nobody does."""

import anyio
import anyio.lowlevel


class Pulse:
    """Between a waiter's check and its `wait` there must be no await; then none is missed."""

    __slots__ = ("_event", "waiters")

    def __init__(self) -> None:
        self._event: anyio.Event | None = None
        self.waiters = 0

    def fire(self) -> None:
        if self._event is not None:
            self._event.set()
            self._event = None

    async def wait(self) -> None:
        if self._event is None:
            self._event = anyio.Event()
        self.waiters += 1
        try:
            await self._event.wait()
        finally:
            self.waiters -= 1
        # A flood wakes us in every turn of the loop, and a deadline is only delivered to a
        # task that waits: without this one it would never be.
        await anyio.lowlevel.checkpoint_if_cancelled()
