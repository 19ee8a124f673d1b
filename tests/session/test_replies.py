"""Questions to the terminal: answered to who asked, and never typed into the next command line."""

import os
import sys
import tty
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from duetty.journal import Journal
from duetty.platform.terminals import has_output
from duetty.session import replies
from duetty.session.pump import InputQueue
from duetty.session.replies import PTY_BYTES, Replies
from tests.engine import Engine

pytestmark = [pytest.mark.anyio, pytest.mark.shells]

QUESTIONS = {
    "what are you": b"\x1b[c",
    "what are you, as a VT52 asks": b"\x1bZ",
    "which unit are you": b"\x1b[=c",
    "which version are you": b"\x1b[>c",
    "what is your name": b"\x1b[>q",
    "are you well": b"\x1b[5n",
    "where is the cursor": b"\x1b[6n",
    "is wrapping on": b"\x1b[?7$p",
    "which style is set": b"\x1bP$qm\x1b\\",
    "which keys do you report": b"\x1b[?u",
}

ASKS = """\
import os, select, sys, termios, time, tty

def ask(question=b"\\x1b[6n"):
    os.write(1, question)

def read_keys():
    tty.setcbreak(0, termios.TCSANOW)

def tell(end=b"R", count=1, within_s=20):
    got = b""
    while got.count(end) < count and select.select([0], [], [], within_s)[0]:
        got += os.read(0, 4096)
    termios.tcsetattr(0, termios.TCSANOW, kept)
    print("got", got.count(end), got[:2])

kept = termios.tcgetattr(0)
"""
ANSWERED = r"got 1 b'\x1b['"


async def told(engine: Engine, home: Path, program: str) -> str:
    """What this program prints, after `ASKS`."""
    (home / "asks.py").write_text(ASKS + program)
    answer = await engine.run(f"{sys.executable} {home}/asks.py")
    assert (answer.completed_by, answer.exit_code) == ("mark", 0)
    return answer.output


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.sampled(3)
async def test_a_question_that_nobody_waits_for_spoils_no_line(
    engine: Engine, shell: str, home: Path, question: bytes
) -> None:
    """Asked by the shell, by a program that is gone at once, and by one before others."""
    octal = "".join(f"\\{byte:03o}" for byte in question)
    (home / "asks").write_bytes(b"one\n" + question * 5 + b"two\n")
    await engine.open(command=shell, cwd=str(home))

    for line in (f"printf 'one\\n{octal}two\\n'", "cat asks", "cat asks; sleep 0.05; true"):
        asked = await engine.run(line)
        after = await engine.run("echo calm")

        assert (asked.completed_by, asked.exit_code, asked.output) == ("mark", 0, "one\ntwo")
        assert (after.completed_by, after.exit_code, after.output) == ("mark", 0, "calm")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.sampled(3)
async def test_a_file_that_is_no_text_spoils_no_line(
    engine: Engine, shell: str, home: Path, seed: int
) -> None:
    noise = Random(seed).randbytes(200_000)
    (home / "noise").write_bytes(noise.replace(b"\x1b", b"\x1b[") + b"".join(QUESTIONS.values()))
    await engine.open(command=shell, cwd=str(home))

    answer = await engine.run("cat noise; false")
    after = await engine.run("echo calm")

    assert (answer.completed_by, answer.exit_code) == ("mark", 1)
    assert (after.completed_by, after.exit_code) == ("mark", 0)
    assert after.output.rstrip().endswith("calm")


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("read_keys(); ask(); tell()", id="reads keys already"),
        pytest.param("ask(); read_keys(); tell()", id="asks first"),
        pytest.param("ask(); time.sleep(0.3); read_keys(); tell()", id="takes its time"),
    ],
)
@pytest.mark.sampled(3)
async def test_a_program_that_reads_is_answered(
    engine: Engine, shell: str, home: Path, program: str
) -> None:
    await engine.open(command=shell)

    shown = await told(engine, home, program)

    assert ANSWERED in shown


async def test_beside_a_flood_an_answer_waits_for_what_a_pty_holds_and_no_longer(
    tmp_path: Path,
) -> None:
    """There is always more to take; behind what was printed before, no end of the line can be."""
    master, slave = os.openpty()
    tty.setraw(slave)
    os.write(slave, b"more")  # and nobody ever takes it
    with closing(Journal.create(tmp_path / "j")) as journal:
        into = InputQueue(master, "s")
        answers = Replies(master, journal, into, can_be_read=lambda: True)
        answers.send(b"answer")
        journal.append(bytes(PTY_BYTES - 1))
        answers.look()
        before = has_output(slave)
        journal.append(b"x")
        answers.look()
        after = has_output(slave)
        into.close()
    os.close(master)
    os.close(slave)

    assert (before, after) == (False, True)


async def test_many_questions_at_once_are_all_answered(engine: Engine, home: Path) -> None:
    await engine.open(command="bash")

    shown = await told(engine, home, "read_keys(); ask(b'\\x1b[6n' * 2_000); tell(count=2_000)")

    assert shown == r"got 2000 b'\x1b['"


async def test_who_does_not_read_in_time_is_not_answered(
    engine: Engine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies, "PATIENCE_S", 0.05)
    await engine.open(command="bash")

    shown = await told(engine, home, "ask(); time.sleep(0.3); read_keys(); tell(within_s=0.05)")

    assert shown == "got 0 b''"


async def test_a_prompt_may_ask_where_the_cursor_is(engine: Engine) -> None:
    await engine.open(command="bash")
    await engine.run(r"""PROMPT_COMMAND+='; printf "\033[6n"; IFS= read -rsd R place'""")

    for _ in range(3):
        answer = await engine.run("printf '%q\\n' \"$place\"; false")

        assert (answer.completed_by, answer.exit_code) == ("mark", 1)
        assert answer.output.startswith("$'\\E[")
