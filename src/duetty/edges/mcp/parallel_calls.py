"""Several calls of one operation at once: one that is slow or fails costs the others nothing."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import anyio

from duetty.edges.mcp.dialect import Calls
from duetty.errors import DuettyError


async def side_by_side(
    calls: Calls, operation: str, each: Sequence[Mapping[str, object]], *, within_s: float
) -> list[Any]:
    """What came of each in that time; None for one that failed, or took longer."""
    found: list[Any] = [None] * len(each)

    async def call(at: int, arguments: Mapping[str, object]) -> None:
        with suppress(DuettyError):
            found[at] = await calls(operation, arguments)

    with anyio.move_on_after(within_s):
        async with anyio.create_task_group() as tasks:
            for at, arguments in enumerate(each):
                tasks.start_soon(call, at, arguments)
    return found
