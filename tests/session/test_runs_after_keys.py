"""Runs after somebody's keys: the answer is that of the run's own line, and nobody's half line is run."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from duetty.blocks import Phase
from duetty.calls import Actor
from duetty.errors import SessionBusy
from duetty.session import Session
from duetty.session.echo import has_text
from duetty.session.rest import is_at_rest
from tests.engine import AGENT, Engine, wait_phase

pytestmark = [pytest.mark.anyio, pytest.mark.shells]

EDITORS = ["bash", "zsh", "fish"]

ONE_KEY = """\
import os, termios, tty
kept = termios.tcgetattr(0)
tty.setcbreak(0)
print("key?", flush=True)
os.read(0, 1)
termios.tcsetattr(0, termios.TCSANOW, kept)
"""

Type = Callable[[Engine], Awaitable[object]]


async def at_prompt(engine: Engine, shell: str) -> Session:
    session = await engine.open(command=shell)
    await engine.run("true")
    await wait_phase(session, Phase.INPUT)
    return session


async def check_runs(engine: Engine) -> None:
    """Each answer is that of its own line, not of the one before."""
    for line, expected in (("echo a", (0, "a")), ("false", (1, "")), ("echo b", (0, "b"))):
        answer = await engine.run(line)
        assert (answer.completed_by, answer.exit_code, answer.output) == ("mark", *expected), line


PERSON = Actor(kind="person", name="somebody")


async def by_person(engine: Engine, operation: str, **arguments: object) -> object:
    return await engine.dispatcher.call(PERSON, operation, arguments)


def keys(*names: str) -> Type:
    return lambda engine: engine.call("input.press", session="s", keys=list(names))


def text(data: str) -> Type:
    return lambda engine: engine.call("input.write", session="s", data=data)


PROMPTS: dict[str, Type] = {
    "Enter three times": keys("Enter", "Enter", "Enter"),
    "two lines": text("echo hand\recho hand2\r"),
    "half a line and Ctrl-C": text("echo ha\x03"),
    "an interrupt": lambda engine: engine.call("input.interrupt", session="s"),
    "a signal": lambda engine: engine.call("session.signal", session="s", signal="INT"),
}


@pytest.mark.parametrize("typed", PROMPTS.values(), ids=PROMPTS)
@pytest.mark.sampled(3)
async def test_prompts_that_keys_before_it_draw_are_not_a_runs_end(
    engine: Engine, shell: str, typed: Type
) -> None:
    session = await at_prompt(engine, shell)

    for _ in range(3):
        while not await is_at_rest(session):  # bash drops a key after a Ctrl-C while it draws
            await session.pulse.nap(0.01)
        await typed(engine)
        await check_runs(engine)


async def test_a_line_end_that_a_program_left_to_the_shell_is_not_a_runs_end(
    engine: Engine, shell: str, home: Path
) -> None:
    (home / "one_key.py").write_text(ONE_KEY)
    await at_prompt(engine, shell)

    for _ in range(3):
        asked = await engine.run(f"{sys.executable} {home}/one_key.py")
        await engine.run("y")
        assert asked.completed_by == "input"
        await check_runs(engine)


HALVES = {
    "keys": "echo P2",
    "after another line": "echo P1\recho P2",
    "after Ctrl-U": "\x15echo P2",
}


@pytest.mark.parametrize("typed", HALVES.values(), ids=HALVES)
@pytest.mark.sampled(3)
async def test_nothing_is_typed_into_somebodys_half_line(
    engine: Engine, shell: str, typed: str
) -> None:
    session = await at_prompt(engine, shell)

    await by_person(engine, "input.write", session="s", data=typed)
    with pytest.raises(SessionBusy):
        await engine.run("echo a")
    await by_person(engine, "input.interrupt", session="s")
    await check_runs(engine)

    assert "echo a" not in [block.command_line for block in session.recent][:-3]


@pytest.mark.parametrize("shell", ["bash", "fish"])
async def test_what_ctrl_u_leaves_right_of_the_cursor_is_somebodys(
    engine: Engine, shell: str
) -> None:
    await at_prompt(engine, shell)

    await by_person(engine, "input.write", session="s", data="echo P2 ")
    await by_person(engine, "input.write", session="s", data="\x1b[H\x1b[C\x15")

    with pytest.raises(SessionBusy):
        await engine.run("echo a")


async def test_half_a_line_typed_while_a_command_ran_is_somebodys(
    engine: Engine, shell: str
) -> None:
    session = await at_prompt(engine, shell)
    await engine.run("sleep 0.4", max_wait_ms=50)

    await by_person(engine, "input.write", session="s", data="echo P2 ")
    await wait_phase(session, Phase.INPUT)

    with pytest.raises(SessionBusy):
        await engine.run("echo a")


@pytest.mark.parametrize("shell", EDITORS)
async def test_a_pasted_text_is_somebodys_until_it_is_sent(engine: Engine, shell: str) -> None:
    session = await at_prompt(engine, shell)
    while not session.bracketed_paste:
        await session.pulse.wait()

    await by_person(engine, "input.paste", session="s", text="echo P1\necho P2")
    with pytest.raises(SessionBusy):
        await engine.run("echo a")

    assert session.state().word == "prompt"


ERASED: dict[str, Type] = {
    "a letter and Backspace": text("x\x7f"),
    "a word and Ctrl-U": text("echo x\x15"),
    "Ctrl-L": text("\x0c"),
    "the line before and back": text("\x1b[A\x1b[B"),
}


@pytest.mark.parametrize("shell", EDITORS)
@pytest.mark.parametrize("typed", ERASED.values(), ids=ERASED)
@pytest.mark.sampled(3)
async def test_a_line_that_is_empty_again_is_nobodys(
    engine: Engine, shell: str, typed: Type
) -> None:
    await at_prompt(engine, shell)

    await typed(engine)
    await check_runs(engine)


async def test_a_prompt_on_the_right_is_no_half_line(engine: Engine, home: Path) -> None:
    (home / ".zshrc").write_text("PROMPT='%% ' RPROMPT='[right %?]'\n")
    session = await at_prompt(engine, "zsh")

    await by_person(engine, "input.write", session="s", data="x\x7f")
    await check_runs(engine)
    await by_person(engine, "input.write", session="s", data="x")
    with pytest.raises(SessionBusy):
        await engine.run("echo a")

    assert "[right" in "".join(session.screen(styled=False).text_lines)


async def test_fish_that_was_interrupted_before_its_prompt_runs_the_next_line(
    engine: Engine,
) -> None:
    session = await at_prompt(engine, "fish")
    for _ in range(3):
        await engine.run("true")
        session.interrupt(actor=AGENT)
        await check_runs(engine)


@pytest.mark.parametrize(
    ("echo", "expected"),
    [
        (b"", False),
        (b"x", True),
        (b"x\b \b", False),
        (b"echo\r$ ", True),
        (b" ", True),
        (b"\x1b[10Cright\r\x1b[2C", False),
        (b"\r\n", True),
    ],
)
async def test_what_stands_behind_a_prompt_is_a_text(echo: bytes, expected: bool) -> None:
    assert has_text(b"$ ", echo, cols=40) is expected


@pytest.mark.parametrize("shell", [*EDITORS, "dash"])
async def test_what_an_agent_left_at_the_prompt_itself_is_no_part_of_its_run(
    engine: Engine, shell: str
) -> None:
    session = await at_prompt(engine, shell)
    await engine.dispatcher.call(AGENT, "input.press", {"session": "s", "keys": ["q"]})

    given = {"session": session.name, "input": "echo next", "screen": False}
    answer = await engine.dispatcher.call(AGENT, "command.run", given)

    assert (answer.exit_code, answer.output) == (0, "next")
