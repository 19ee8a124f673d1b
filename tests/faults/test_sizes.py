"""Sizes nobody has a screen for."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from duetty.config import Settings
from duetty.wire.results import RunResult
from tests.engine import Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

JOURNAL_MIB = 16


COLOURS = """
for row in range(12000):
    print("".join(f"\\033[38;5;{(row + place) % 256}m" + "x" * 20 for place in range(50)))
"""


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    settings = Settings(session_grace_ms=300, journal_limit_mib=JOURNAL_MIB)
    async with running_engine(home, settings=settings) as engine:
        await engine.open(command="bash")
        await engine.run("true")
        with anyio.fail_after(60):
            yield engine


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ((10_000, 10_000), (1000, 1000)),
        ((0, 0), (1, 1)),
        ((-5, -(2**40)), (1, 1)),
        ((2**40, 24), (1000, 24)),
        ((1, 1000), (1, 1000)),
    ],
)
async def test_a_size_out_of_bounds_is_brought_into_them(
    engine: Engine, asked: tuple[int, int], given: tuple[int, int]
) -> None:
    cols, rows = asked

    resized = await engine.call("session.resize", session="s", cols=cols, rows=rows)
    await engine.run("true")  # the prompt after it is drawn in the new size
    answer = await engine.run("stty size; (exit 3)")
    opened = await engine.call("session.open", name="new", command="bash", cols=cols, rows=rows)

    assert (resized.cols, resized.rows) == given
    assert (answer.exit_code, answer.completed_by) == (3, "mark")
    assert answer.output.split() == [str(given[1]), str(given[0])]
    assert (answer.screen["cols"], answer.screen["rows"]) == given
    assert (opened.cols, opened.rows) == given


async def test_a_storm_of_sizes_leaves_a_working_session(engine: Engine) -> None:
    await engine.run("seq 1 500")

    for number in range(1000):
        cols, rows = 1 + number * 37 % 1000, 1 + number * 11 % 1000
        await engine.call("session.resize", session="s", cols=cols, rows=rows)
    last = await engine.call("session.resize", session="s", cols=80, rows=24)
    answer = await engine.run("stty size")

    assert (last.cols, last.rows) == (80, 24)
    assert (answer.output, answer.exit_code) == ("24 80", 0)


async def test_a_storm_of_sizes_while_a_program_prints_loses_nothing(engine: Engine) -> None:
    async def resize_often() -> None:
        for number in range(1000):
            await engine.call(
                "session.resize", session="s", cols=20 + number % 200, rows=2 + number % 50
            )
            await anyio.sleep(0)

    answers: list[RunResult] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(resize_often)
        answers.append(await engine.run("seq 1 5000; (exit 4)"))

    [answer] = answers
    assert (answer.exit_code, answer.completed_by) == (4, "mark")
    assert answer.output == "\n".join(str(number) for number in range(1, 5001))


async def test_the_largest_scrollback_is_kept_and_the_session_goes_on(
    engine: Engine, home: Path
) -> None:
    """Its snapshot is the largest there can be; the journal turns over all the same."""
    (home / "colours.py").write_text(COLOURS)
    session = engine.registry.find("s")
    await engine.call("session.resize", session="s", cols=1000, rows=1000)

    answer = await engine.run("python3 colours.py; (exit 2)", max_wait_ms=50_000, screen=False)
    after = await engine.run("echo after", screen=False)

    assert (answer.exit_code, answer.completed_by) == (2, "mark")
    assert (after.output, after.completed_by) == ("after", "mark")
    assert session.journal.degraded is None
    assert session.journal.end - session.journal.start <= JOURNAL_MIB << 20
