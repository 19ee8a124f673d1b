"""Lines of fish whose commands are computed: run or typed, nobody can read them, so they are asked about."""

from pathlib import Path

import anyio
import pytest

from duetty.config import Settings
from duetty.errors import PolicyDenied
from tests.engine import running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty, pytest.mark.shells]


@pytest.mark.parametrize(
    "line",
    [
        "eval (string join '' to uch)' made'",
        "env (echo touch) made",
        "string join '' to 'uch made' | source",
        "source (string join '' to 'uch made' | psub)",
        "sh -c (string join '' to uch)' made'",
    ],
)
async def test_a_computed_command_does_not_run_unasked(home: Path, line: str) -> None:
    settings = Settings(session_grace_ms=300, policy_profile="guarded")
    async with running_engine(home, settings=settings) as engine:
        with anyio.fail_after(60):
            await engine.open(command="fish")
            await engine.run("true")
            with pytest.raises(PolicyDenied):
                await engine.run(line)
            await engine.call("input.write", session="s", data=line + "\r")
            await engine.call(
                "session.wait", session="s", text="duetty: not run", max_wait_ms=30_000
            )

    assert not (home / "made").exists()
