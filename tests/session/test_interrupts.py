"""An interrupt reaches the program of the line, also while the shell is still starting it."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from duetty.blocks import Phase
from duetty.platform.terminals import is_still_the_shell
from tests.engine import Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.shells]

TIMES = 12
"""Lost once in twelve (fish) to sixty (bash) when nobody waits for the program."""


@pytest.fixture(params=["bash", "zsh", "fish"])
async def engine(home: Path, request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        with anyio.fail_after(90):
            await engine.open(command=str(request.param))
            await engine.run("true")
            yield engine


async def begin(engine: Engine, line: str) -> None:
    session = engine.registry.find("s")
    await engine.call("input.write", session="s", data=f"{line}\r")
    while session.prompt.phase is not Phase.RUNNING:
        await session.pulse.wait()


async def wait_prompt(engine: Engine) -> None:
    await engine.call("session.wait", session="s", state=["prompt"], max_wait_ms=30_000)
    await engine.run("true")


async def test_a_signal_right_after_a_line_began_ends_its_program(engine: Engine) -> None:
    for _ in range(TIMES):
        await begin(engine, "sleep 1000")
        await engine.call("session.signal", session="s", signal="INT")
        await wait_prompt(engine)


async def test_an_interrupt_right_after_a_line_began_ends_its_program(engine: Engine) -> None:
    for _ in range(TIMES):
        await begin(engine, "sleep 1000")
        await engine.call("input.interrupt", session="s")
        await wait_prompt(engine)


async def test_a_loop_of_the_shell_itself_is_interrupted_too(engine: Engine) -> None:
    fish = engine.registry.find("s").profile.shell == "fish"
    await begin(engine, "while true; end" if fish else "while :; do :; done")
    await engine.call("input.interrupt", session="s")
    await wait_prompt(engine)


async def test_who_has_the_terminal_is_known_from_the_kernel(engine: Engine) -> None:
    session = engine.registry.find("s")
    shell = session.profile.shell or ""

    at_prompt = is_still_the_shell(session.pty.fd, shell)
    await engine.run("sh -c 'echo up; exec sleep 1000'", until_text="up")
    in_program = is_still_the_shell(session.pty.fd, shell)
    neither = os.pipe()

    assert (at_prompt, in_program) == (True, False)
    assert not is_still_the_shell(neither[0], shell)
    for end in neither:
        os.close(end)
