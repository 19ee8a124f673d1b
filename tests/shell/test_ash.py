"""The fifth shell: ash of busybox, which has a line editor and no hook but its prompts."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.engine import Engine, running_engine
from tests.shell.real import kinds, open_shell

BUSYBOX = shutil.which("busybox")

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.shells,
    pytest.mark.skipif(BUSYBOX is None, reason="busybox is not installed"),
]


@pytest.fixture
def ash(tmp_path: Path) -> str:
    program = tmp_path / "bin" / "ash"
    program.parent.mkdir()
    program.symlink_to(BUSYBOX or "")
    return str(program)


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        with anyio.fail_after(90):
            yield engine


def test_its_prompts_announce_where_a_line_ends(tmp_path: Path, ash: str) -> None:
    with open_shell(tmp_path, ash) as shell:
        first = kinds(shell.trusted)
        rans = [shell.run(line) for line in ("(exit 3)", "echo $?", "cd /")]

    assert (shell.shell, first) == ("ash", "AB")
    assert [(ran.kinds, ran.exit_code, ran.cwd) for ran in rans] == [
        ("DAB", 3, str(tmp_path)),
        ("DAB", 0, str(tmp_path)),
        ("DAB", 0, "/"),
    ]
    assert rans[1].output == b"3\r\n"


async def test_a_run_gives_exit_code_output_and_the_line(engine: Engine, ash: str) -> None:
    session = await engine.open(command=ash)

    answers = [
        await engine.run(line) for line in ("echo a", "false", "for x in 1 2\ndo echo $x\ndone")
    ]

    assert session.profile.integration == "ash"
    assert [(each.completed_by, each.exit_code, each.output) for each in answers] == [
        ("mark", 0, "a"),
        ("mark", 1, ""),
        ("mark", 0, "1\n2"),
    ]


async def test_a_typed_line_is_in_its_block_as_it_was_typed(engine: Engine, ash: str) -> None:
    """Its editor asks where the cursor is, beside the line."""
    session = await engine.open(command=ash)
    await engine.run("true")

    await engine.call("input.write", session="s", data="echo typed\r")
    while len(session.recent) < 2:
        await session.pulse.wait()

    assert [block.command_line for block in session.recent] == ["true", "echo typed"]
