"""A program that never reads what is typed."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from duetty.errors import InputRejected
from tests.engine import Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

CHUNK = ("x" * 99 + "\n") * 2_000
"""Whole lines, which the kernel keeps until they are read."""

COOKED = "sh -c 'echo begun; exec sleep 1000'"
RAW = "sh -c 'stty raw -echo isig; echo begun; exec sleep 1000'"


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        await engine.open(command="bash")
        await engine.open("other", command="bash")
        await engine.run("true")
        with anyio.fail_after(90):
            yield engine


async def start(engine: Engine, line: str) -> None:
    await engine.call("input.write", session="s", data=line + "\r")
    await engine.call("session.wait", session="s", regex="^begun")


async def write_until_refused(engine: Engine) -> int:
    written = 0
    while True:
        try:
            written += (await engine.call("input.write", session="s", data=CHUNK)).bytes
        except InputRejected:
            return written


@pytest.mark.parametrize("line", [COOKED, RAW], ids=["cooked", "raw"])
async def test_input_that_nobody_reads_is_refused_beyond_a_bound(engine: Engine, line: str) -> None:
    await start(engine, line)

    written = await write_until_refused(engine)
    other = await engine.run("echo alive", session="other")
    info = await engine.call("session.get", session="s")

    assert 512 * 1024 < written < 4 * 1024 * 1024
    assert other.output == "alive"
    assert info.state == "running"
    assert engine.registry.find("s").pty.pending_input_bytes <= 1024 * 1024


@pytest.mark.parametrize("line", [COOKED, RAW], ids=["cooked", "raw"])
async def test_a_program_that_reads_nothing_can_be_interrupted(engine: Engine, line: str) -> None:
    await start(engine, line)
    await write_until_refused(engine)

    await engine.call("input.interrupt", session="s")
    await engine.call("session.wait", session="s", state=["prompt"], max_wait_ms=30_000)
    await engine.run("stty sane")
    answer = await engine.run("echo back")

    assert answer.output == "back"


async def test_a_program_that_reads_nothing_can_be_signalled_and_closed(engine: Engine) -> None:
    await start(engine, COOKED)
    await write_until_refused(engine)

    closed = await engine.call("session.close", session="s", grace_ms=300)

    assert closed.state == "exited"
    assert (await engine.run("echo alive", session="other")).output == "alive"


async def test_a_program_that_asks_and_never_reads_loses_only_the_answers(engine: Engine) -> None:
    """Each question makes the terminal write an answer: they are bounded as well."""
    await start(engine, "stty -echo; echo begun; yes $'\\e[c\\e[6n' | head -c 1000000; sleep 1000")

    with anyio.fail_after(80):
        while engine.registry.find("s").journal.end < 1_000_000:
            await anyio.sleep(0.05)
    other = await engine.run("echo alive", session="other")
    closed = await engine.call("session.close", session="s", grace_ms=300)

    assert other.output == "alive"
    assert closed.state == "exited"
