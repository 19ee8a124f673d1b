"""In `guarded`, a line that nobody can read is decided on where it is known who reads it."""

from pathlib import Path

import pytest

from duetty.config import Settings
from duetty.errors import PolicyDenied
from tests.engine import running_engine

pytestmark = [pytest.mark.pty, pytest.mark.shells, pytest.mark.anyio]

GUARDED = Settings(session_grace_ms=300, policy_profile="guarded")


async def test_an_interpreter_reads_what_no_shell_could(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        await engine.open(command="bash")
        await engine.run("python3 -q")

        ran = await engine.run("print('(' * 3)")

        assert "(((" in ran.output


async def test_an_unfinished_line_is_decided_on_when_it_is_complete(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        await engine.open(command="bash")

        begun = await engine.run("echo 'one")
        ended = await engine.run("two'")

        assert begun.continuation
        assert "one\ntwo" in ended.output


@pytest.mark.parametrize("shell", ["bash", "zsh"])
async def test_a_destructive_line_cannot_be_put_together_from_harmless_parts(
    home: Path, shell: str
) -> None:
    (home / "kept").mkdir()
    async with running_engine(home, settings=GUARDED) as engine:
        await engine.open(command=shell, cwd=str(home))

        begun = await engine.run("r\\")
        with pytest.raises(PolicyDenied, match="not run"):
            await engine.run("m -rf kept")

        assert begun.continuation
        assert (home / "kept").exists()


async def test_a_shell_that_does_not_ask_gets_no_parts_of_lines(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        await engine.open(command="dash")

        with pytest.raises(PolicyDenied):
            await engine.run("r\\")


async def test_the_syntax_of_fish_is_read_by_the_shells_question(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        await engine.open(command="fish")

        ran = await engine.run("for i in 1 2; echo $i$i; end")

        assert ran.output.split() == ["11", "22"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash"])
async def test_a_destructive_line_is_refused_when_nobody_can_be_asked(
    home: Path, shell: str
) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        await engine.open(command=shell)

        with pytest.raises(PolicyDenied):
            await engine.run("rm -rf ./nothing-here")


async def test_a_line_too_long_to_be_read_is_refused_before_it_is_typed(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        session = await engine.open(command="bash")
        await engine.run("true")
        before = session.journal.end

        with pytest.raises(PolicyDenied):
            await engine.run("echo " + "x" * 20_000)

        assert session.journal.end == before
