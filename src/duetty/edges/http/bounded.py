"""A bounded wait that costs nothing where nothing has to be waited for."""

from collections.abc import Awaitable, Generator
from types import coroutine
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


async def within(seconds: float, awaited: Awaitable[T]) -> T:
    """As with `anyio.fail_after`, whose scope is made only if the first step does not give the answer:
    most bodies are there when they are asked for.

    Raises:
        TimeoutError: if it takes longer.
    """
    steps = awaited.__await__()
    try:
        waited_for = next(steps)
    except StopIteration as ended:
        return ended.value
    with anyio.fail_after(seconds):
        return await _rest(steps, waited_for)


@coroutine
def _rest(steps: Generator[Any, Any, T], waited_for: Any) -> Generator[Any, Any, T]:
    """What is left of it, after a first step that waits for this."""
    error: BaseException | None = None
    sent: Any = None
    while True:
        try:
            sent = yield waited_for
        except BaseException as thrown:  # noqa: BLE001 - whatever it is, it is theirs to see
            error = thrown
        try:
            waited_for = steps.send(sent) if error is None else steps.throw(error)
        except StopIteration as ended:
            return ended.value
        sent = error = None
