"""Nothing poisons a session: what follows a refusal, an open quote or a leaving program works as ever."""

import shutil
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from duetty.errors import Deadline, PolicyDenied, SessionExited
from tests.engine import Engine
from tests.ops.at_a_shell import session_of, typed

pytestmark = [pytest.mark.anyio, pytest.mark.shells]

EDITORS = ["bash", "zsh", "fish"]


@pytest.mark.parametrize("shell", [*EDITORS, "dash"])
@pytest.mark.parametrize("begun", ['echo "open', "echo 'it", "cat <<E\nsome", "if true", "echo ("])
@pytest.mark.sampled(3)
async def test_after_ctrl_c_in_an_open_line_the_next_run_is_as_in_a_fresh_session(
    engine: Engine, shell: str, begun: str
) -> None:
    await engine.open(command=shell)

    await engine.run(begun, max_wait_ms=2_000)
    await engine.call("input.press", session="s", keys=["Ctrl-C"])
    answers = [await engine.run("echo next"), await engine.run("echo more")]

    assert [(each.exit_code, each.output) for each in answers] == [(0, "next"), (0, "more")]


@pytest.mark.parametrize("shell", EDITORS)
async def test_ctrl_c_while_a_paste_is_read_or_its_refusal_drawn_leaves_an_empty_line(
    engine: Engine, shell: str
) -> None:
    """The kernel drops what nobody has read with the key: the end of a paste, or a redrawn line."""
    await engine.open(command=shell)
    outputs: list[str] = []

    for wait_ms in (1, 3, 6, 9, 14, 40):
        await engine.run("true")
        with suppress(Deadline):  # the line was not even typed
            await engine.run("cat <<E\nsome", max_wait_ms=wait_ms)
        await engine.call("input.press", session="s", keys=["Ctrl-C"])
        outputs.append((await engine.run("echo next")).output)

    assert outputs == ["next"] * 6


@pytest.mark.parametrize("shell", EDITORS)
async def test_a_line_that_is_not_complete_has_no_output(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)

    answer = await engine.run('echo "open', max_wait_ms=2_000)

    assert (answer.output, answer.exit_code, answer.completed_by) == ("", None, "input")


@pytest.mark.parametrize("shell", EDITORS)
async def test_after_a_refusal_and_a_failed_history_line_the_next_run_works(
    home: Path, shell: str
) -> None:
    async with session_of(home, shell) as engine:
        with pytest.raises(PolicyDenied):
            await engine.run('rm -rf /etc/x\nif true; then echo "a\n')
        with pytest.raises(PolicyDenied):
            await typed(engine, "echo one; mkfs.ext4 /dev/sda\r")
        with pytest.raises(PolicyDenied):
            await typed(engine, "\x1b[A\r")  # a line that is not known
        answer = await engine.run("echo next!")

        assert (answer.exit_code, answer.output) == (0, "next!")


async def test_after_a_history_line_that_failed_the_next_run_works(engine: Engine) -> None:
    await engine.open(command="bash")

    await engine.call("input.write", session="s", data="echo !nosuch\r")
    answer = await engine.run("echo next")

    assert (answer.exit_code, answer.output) == (0, "next")


@pytest.mark.parametrize("shell", [*EDITORS, "dash"])
async def test_keys_that_an_agent_left_at_the_prompt_are_no_part_of_its_next_run(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)
    outputs: list[str] = []

    for keys in (["Up"], ["Escape"], ["Ctrl-R", "e"], ["a", "Left"], ["Ctrl-V"], ["Ctrl-X"]):
        await engine.run("echo one")
        await engine.call("input.press", session="s", keys=keys)
        outputs.append((await engine.run("echo next")).output)

    assert outputs == ["next"] * 6


@pytest.mark.parametrize("shell", [*EDITORS, "dash"])
async def test_what_an_agent_typed_ahead_or_over_the_row_is_no_part_of_its_next_run(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)

    with suppress(Deadline):
        await engine.run("sleep 0.5", max_wait_ms=100)
    await engine.call("input.write", session="s", data="ahead")
    first = await engine.run("echo first")
    await engine.call("input.write", session="s", data="some words " * 12)
    second = await engine.run("echo second")

    assert (first.output, second.output) == ("first", "second")


@pytest.mark.skipif(shutil.which("vim") is None, reason="this machine has no vim")
@pytest.mark.parametrize("shell", [*EDITORS, "dash"])
async def test_a_run_behind_a_program_that_is_leaving_has_only_its_own_output(
    engine: Engine, shell: str
) -> None:
    await engine.open(command=shell)

    for number in range(3):
        await engine.run("vim -u NONE -n file")
        await engine.call("input.write", session="s", data=f"ggOline {number}\x1b:wq\r")
        answer = await engine.run(f"echo {number}")

        assert (answer.exit_code, answer.output) == (0, str(number))
    assert (await engine.run("wc -l < file")).output.strip() == "4"


async def test_a_line_end_closes_a_block_of_python_and_is_no_line_for_cat(engine: Engine) -> None:
    await engine.open(command="bash")

    await engine.run("python3 -q")
    defined = await engine.run("def f():\n  return 1\n")
    called = await engine.run("f()")
    looped = await engine.run("for i in range(2):\n  print(i)\n")
    single = await engine.run("print(7)\n")
    await engine.run("exit()")
    await engine.run("cat > file")
    await engine.run("a\nb\n")
    await engine.call("input.press", session="s", keys=["Ctrl-D"])
    lines = await engine.run("wc -l < file")

    outputs = [each.output for each in (defined, called, looped, single, lines)]
    assert outputs == ["", "1", "0\n1", "7", "2"]


LATE_PROMPT = r"""
import os, tty
tty.setraw(0)
os.write(1, b">>> ")
heard = b""
while heard.count(b"\r") + heard.count(b"\n") < TYPED:
    heard += os.read(0, 4096)
os.write(1, SHOWN)
os.read(0, 1)
"""


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "for i in range(2):\n  print(i)\n",
            "for i in range(2):\r\n...   print(i)\r\n\r\n... \r\n",
        ),
        (
            "def g():\n  return 7\n\nprint(0); print(1)",
            "def g():\r\n...   return 7\r\n\r\n... \r\n>>> print(0); print(1)\r\n",
        ),
        (
            "for i in range(2):\n  print(i)\n",
            "for i in range(2):\r\n\r\n...   print(i)\r\n... \r\n",
        ),
    ],
    ids=["the last line", "a line in the middle", "the first line"],
)
async def test_a_line_end_that_is_echoed_before_its_prompt_is_drawn_leaves_no_prompt_in_the_output(
    engine: Engine, tmp_path: Path, line: str, shown: str
) -> None:
    """As Python's REPL on a busy machine, which reads no line at that moment."""
    printed = f"{shown}0\r\n1\r\n>>> ".encode()
    ends = len(f"{line}.".splitlines())
    given = f"TYPED = {ends}\nSHOWN = {printed!r}\n"
    Path(tmp_path, "late.py").write_text(given + LATE_PROMPT)
    await engine.open(command="bash")

    await engine.run(f"python3 {tmp_path}/late.py")
    looped = await engine.run(line)

    assert looped.output == "0\n1"


async def test_nobody_is_busy_in_a_session_that_exited(engine: Engine) -> None:
    session = await engine.open(command="bash")
    await engine.call("input.write", session="s", data="exit 3\r")
    with anyio.fail_after(30):
        while not session.is_exited:
            await session.pulse.wait()

    with pytest.raises(SessionExited):
        await engine.run("echo x")
    with pytest.raises(SessionExited):
        await engine.run("cat", stdin="x")


async def test_runs_at_once_on_a_busy_machine_are_never_told_that_somebody_types(
    engine: Engine,
) -> None:
    """Four sessions with something to do, each driven by runs and keys that follow each other at once."""
    names = ["a", "b", "c", "d"]
    for name in names:
        await engine.open(name, command="bash")
    outputs: dict[str, list[str]] = {name: [] for name in names}

    async def drive(name: str) -> None:
        await engine.run("true", session=name)  # a shell that only starts is ended by Ctrl-C
        for number in range(12):
            await engine.call("input.press", session=name, keys=["Ctrl-C"])
            ran = await engine.run(f"seq 3000 | tail -1; echo {number}", session=name)
            outputs[name].append(ran.output)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(drive, name)

    assert outputs == {name: [f"3000\n{number}" for number in range(12)] for name in names}
