"""Lines of zsh at a real zsh: what aliases make of a line is judged, or the line asks."""

from pathlib import Path

import pytest

from tests.ops.at_a_shell import ANNA, session_of

pytestmark = [pytest.mark.anyio, pytest.mark.pty, pytest.mark.shells]


async def test_a_line_of_zsh_that_aliases_make_too_long_to_tell_is_asked_about(home: Path) -> None:
    (home / "victim").mkdir()
    async with session_of(home, "zsh", policy_profile="guarded") as engine:
        for line in ("alias -g P2=-rf", f"alias -g ZZ='{'a' * 3_900}'", "clear"):
            keys = {"session": "s", "data": line + "\r"}
            await engine.dispatcher.call(ANNA, "input.write", keys)
            await engine.call("session.wait", session="s", idle_ms=300, max_wait_ms=30_000)
        await engine.call("input.write", session="s", data="rm P2 victim ZZ ZZ ZZ\r")
        await engine.call("session.wait", session="s", text="duetty: not run", max_wait_ms=30_000)

    assert (home / "victim").exists()
