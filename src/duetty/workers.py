"""Work that a thread beside the loop does for a caller: paid for as the loop's own time, and interrupted often.

A thread that calls the emulator gives the interpreter away at each call and takes it back at once. The loop's
thread, woken each time and always too late, never gets to ask for it: it would wait until the work is done.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter, thread_time
from typing import TypeVar, TypeVarTuple

import anyio
import anyio.to_thread

PAYS: ContextVar[Callable[[float], object]] = ContextVar("PAYS", default=lambda _seconds: None)
"""Gets the processor time of what is done for the caller of this task."""

WORK_S, REST_S = 0.0003, 0.00005
"""Work at a stretch, and the rest after it, in which the loop goes on if it has something to do."""

Given = TypeVarTuple("Given")
Done = TypeVar("Done")


async def in_worker(
    work: Callable[[*Given], Done],
    *given: *Given,
    limiter: anyio.CapacityLimiter | None = None,
) -> Done:
    pays = PAYS.get()
    spent_s = 0.0

    def timed() -> Done:
        nonlocal spent_s
        began_s = thread_time()
        try:
            return work(*given)
        finally:
            spent_s = thread_time() - began_s

    try:
        return await anyio.to_thread.run_sync(timed, limiter=limiter)
    finally:
        pays(spent_s)


class Rests:
    """Called again and again by work in a thread of its own."""

    def __init__(self) -> None:
        self._since_s = perf_counter()

    def __call__(self) -> None:
        if perf_counter() - self._since_s > WORK_S:
            time.sleep(REST_S)  # noqa: TID251 - in a thread of its own
            self._since_s = perf_counter()
