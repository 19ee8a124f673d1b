"""A run with a standard input of its own: bytes that are on no command line and in no history."""

import base64
from pathlib import Path

import pytest

from duetty.blocks import Phase
from duetty.errors import BadArguments, SessionBusy
from tests.engine import Engine, wait_phase

pytestmark = [pytest.mark.anyio, pytest.mark.shells]

SHELLS = ["bash", "zsh", "fish", "dash"]
AWKWARD = "it's \"x\" `y` $HOME $(z) \\ ! !! # 'é' 漢字 🎉\tTab\x1b[31m\x03\x04\x15\r\nend EOF\n"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("times", [1, 150, 3_000])
@pytest.mark.sampled(3)
async def test_a_file_is_written_byte_by_byte(engine: Engine, shell: str, times: int) -> None:
    session = await engine.open(command=shell)
    text = AWKWARD * times

    written = await engine.run("cat > 'a file'", stdin=text)
    size = await engine.run("wc -c < 'a file'")

    assert (written.exit_code, written.output, written.completed_by) == (0, "", "mark")
    assert size.output.strip() == str(len(text.encode()))
    assert (Path(session.cwd) / "a file").read_bytes() == text.encode()


@pytest.mark.parametrize("shell", SHELLS)
async def test_the_block_and_the_history_have_the_line_and_not_its_input(
    engine: Engine, shell: str
) -> None:
    session = await engine.open(command=shell)

    answer = await engine.run("cat # all of it", stdin="secret text\n")
    history = await engine.run("history; fc -l" if shell != "dash" else "true")

    assert answer.output == "secret text"
    assert session.recent[0].command_line == "cat # all of it"
    assert "secret" not in history.output


@pytest.mark.parametrize("shell", SHELLS)
async def test_the_shell_itself_runs_the_line(engine: Engine, shell: str) -> None:
    await engine.open(command=shell)

    await engine.run("cd /; read NAME", stdin="value\nrest\n")
    answer = await engine.run("pwd; echo $NAME; tty >/dev/null && echo a terminal")

    assert answer.output.split("\n") == ["/", "value", "a terminal"]


async def test_a_line_may_be_several_and_fail(engine: Engine) -> None:
    await engine.open(command="bash")

    answer = await engine.run("head -c 2\necho\nfalse", stdin="abcdef")

    assert (answer.exit_code, answer.output, len(answer.blocks)) == (1, "ab", 1)


async def test_bytes_that_are_no_text_come_as_base64(engine: Engine) -> None:
    await engine.open(command="bash")
    data = bytes(range(256))

    answer = await engine.run(
        "od -An -v -tu1 | tr -s ' \\n' ' '",
        stdin=base64.b64encode(data).decode(),
        stdin_encoding="base64",
    )

    assert answer.output.split() == [str(each) for each in data]
    with pytest.raises(BadArguments):
        await engine.run("cat", stdin="no base64!", stdin_encoding="base64")


async def test_nothing_is_left_of_it(engine: Engine) -> None:
    session = await engine.open(command="bash")

    await engine.run("true", stdin="x" * 100_000)
    await engine.run("cat", stdin="x")
    await engine.run("sleep 60", stdin="x", max_wait_ms=500)

    kept = engine.paths.scratch / f"{session.profile.id}.in"
    assert list(kept.iterdir()) == []


async def test_a_program_that_runs_gets_no_stdin(engine: Engine) -> None:
    session = await engine.open(command="bash")
    await engine.run("cat")

    with pytest.raises(SessionBusy, match="prompt"):
        await engine.run("x", stdin="y")

    await engine.call("input.interrupt", session="s")
    await wait_phase(session, Phase.INPUT)
    assert (await engine.run("echo ok", stdin="y")).output == "ok"
