"""Waiting until any of several sessions is idle: the first one wins."""

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from duetty.session.session import Session
from duetty.session.waits import wait_idle


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstIdle:
    session: Session
    generation: int


async def wait_any_idle(
    sessions: Sequence[Session],
    *,
    quiet_s: float,
    last_session: str | None = None,
    last_generation: int | None = None,
    fresh: bool = False,
) -> FirstIdle:
    """The first of these that is quiet for so long.

    `last_generation` counts for the session of that name only: the others have
    news for a caller that has just seen this one. A session that exits while we
    wait is idle at once, as its last output is.
    """
    found: list[FirstIdle] = []
    async with anyio.create_task_group() as tasks:

        async def wait(session: Session) -> None:
            generation = await wait_idle(
                session,
                quiet_s=quiet_s,
                last_generation=last_generation if session.name == last_session else None,
                fresh=fresh,
            )
            found.append(FirstIdle(session=session, generation=generation))
            tasks.cancel_scope.cancel()

        for session in sessions:
            tasks.start_soon(wait, session)
    return found[0]
