"""What a sandboxed command leaves in its own directory ends neither a stop nor the next start."""

from pathlib import Path

import anyio
import pytest

from duetty.config import Settings
from duetty.removal import ASIDE
from tests.engine import AGENT, running_engine
from tests.test_clearing import nested

pytestmark = [pytest.mark.anyio, pytest.mark.pty]


async def test_a_deep_tree_ends_neither_the_stop_nor_the_start(home: Path) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="open")
    async with running_engine(home, settings=settings) as engine:
        places = engine.paths
        with anyio.fail_after(60):
            ran = await engine.dispatcher.call(AGENT, "process.run", {"command": "true"})
            nested(places.state / "processes" / ran.process.id / "tmp", depth=2_000)
            session = await engine.open()
            private = places.scratch / f"{session.profile.id}.tmp"
            nested(private, depth=2_000)
            await engine.call("session.close", session="s")
            assert not private.exists()
    with anyio.fail_after(60):
        nested(places.state / "processes" / "killed", depth=2_000)
        nested(places.scratch / "gone.tmp", depth=2_000)
        nested(places.scratch / f"{ASIDE}x", depth=2_000)
        nested(places.journals / f"{ASIDE}x", depth=2_000)
        async with running_engine(home, settings=settings) as engine:
            engine.services.processes.clear_leftovers()
            ran = await engine.dispatcher.call(AGENT, "process.run", {"command": "echo on"})
            while (
                list(places.scratch.iterdir())
                or list(places.journals.glob(f"{ASIDE}*"))
                or list((places.state / "processes").glob("[.k]*"))
            ):
                await anyio.sleep(0.05)

    assert ran.stdout == "on\n"


async def test_a_removed_journal_is_no_session_at_the_next_start(home: Path) -> None:
    """A server may be killed between moving it aside and its end."""
    settings = Settings(session_grace_ms=300, policy_profile="open")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            session = await engine.open()
            await engine.call("session.close", session="s")
        journals = engine.paths.journals
        id_ = session.profile.id
        engine.store.delete_session(id_)
    (journals / id_).rename(journals / f"{ASIDE}x")
    async with running_engine(home, settings=settings) as engine:
        assert engine.registry.sessions() == []
        assert engine.registry.degraded == {}
