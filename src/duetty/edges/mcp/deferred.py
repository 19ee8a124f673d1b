"""Work beside a call that is needed only if the call takes long: signs of life, a look at who is still there.

Most calls are over before any of it is due, and a task group for each would cost as
much as a tenth of the call. So it begins by a timer, in a group that the caller owns.
"""

import asyncio  # noqa: TID251 - anyio has no timer without a task, whose cost this saves
import logging
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress

import anyio
from anyio.abc import TaskGroup

log = logging.getLogger("duetty.mcp")


@contextmanager
def later(group: TaskGroup, delay_s: float, work: Callable[[], Awaitable[None]]) -> Generator[None]:
    """Begin `work` if what is within takes longer than this, and end it then.

    It is cancelled, and not waited for: its effect must not matter after its time.
    """
    scope: anyio.CancelScope | None = None

    async def run() -> None:
        assert scope is not None
        with scope:
            try:
                await work()
            except Exception:
                # Beside the call: that one says itself how it goes on.
                log.exception("mcp_beside_call_crashed")

    def begin() -> None:
        nonlocal scope
        scope = anyio.CancelScope()
        with suppress(RuntimeError):  # the group is ending, and the call with it
            group.start_soon(run)

    timer = asyncio.get_running_loop().call_later(delay_s, begin)
    try:
        yield
    finally:
        timer.cancel()
        if scope is not None:
            scope.cancel()
