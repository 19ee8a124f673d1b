"""A session with a real shell into which an agent types."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from duetty.calls import Actor
from duetty.config import Settings
from tests.engine import Engine, running_engine

ANNA = Actor(kind="person", name="anna")


@asynccontextmanager
async def session_of(home: Path, shell: str, **settings: object) -> AsyncGenerator[Engine]:
    """Opened by a person: in strict, an agent is asked about a shell."""
    given = Settings(**{"session_grace_ms": 300, **settings})  # type: ignore[arg-type]
    async with running_engine(home, settings=given) as engine:
        with anyio.fail_after(60):
            await engine.dispatcher.call(ANNA, "session.open", {"name": "s", "command": shell})
            await engine.run("true")
            yield engine


async def typed(engine: Engine, *pieces: str) -> None:
    for piece in pieces:
        await engine.call("input.write", session="s", data=piece)
