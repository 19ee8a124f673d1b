"""What a session is doing, asked of real programs on real PTYs."""

import re
import shutil
from collections.abc import AsyncIterator
from itertools import groupby
from pathlib import Path

import anyio
import pytest

from duetty.clock import SystemClock
from duetty.events import Entry, StateChanged
from tests.engine import Engine, running_engine

pytestmark = [pytest.mark.anyio, pytest.mark.pty]

TOLD_S = 5  # benchmarks/states.py measures it; here the machine has other tests to run
"""The promise is 200 ms; a loaded test machine gets some more. `make bench` measures the promise."""

APT_LIKE = """python3 -c "import sys; sys.stdout.write('Do you want to continue? [Y/n] '); sys.stdout.flush(); sys.stdin.readline()" """
GETPASS = """python3 -c "import getpass; getpass.getpass('Password: ')" """
COMPILE = "python3 -c 'sum(i*i for i in range(10**9))'"


@pytest.fixture
async def engine(home: Path) -> AsyncIterator[Engine]:
    async with running_engine(home) as engine:
        await engine.open(command="bash")
        await engine.run("true")
        with anyio.fail_after(60):
            yield engine


async def start(engine: Engine, line: str) -> None:
    await engine.call("input.write", session="s", data=line + "\r")
    await engine.call(
        "session.wait",
        session="s",
        state=["running", "awaiting_input", "awaiting_password", "fullscreen"],
    )


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("read x", "awaiting_input"),
        ("python3 -c 'input()'", "awaiting_input"),
        (APT_LIKE, "awaiting_input"),
        ("cat", "awaiting_input"),
        ("cat > /dev/null", "awaiting_input"),
        ("read -s x", "awaiting_password"),
        ("stty -echo; head -1; stty echo", "awaiting_password"),
        (GETPASS, "awaiting_password"),
        ("bash --norc", "awaiting_input"),
        ("python3 -q", "awaiting_input"),
        ("less /etc/passwd", "fullscreen"),
        ("vi -u NONE", "fullscreen"),
    ],
)
async def test_a_program_that_waits_for_a_person_is_told(
    engine: Engine, line: str, state: str
) -> None:
    await start(engine, line)

    waited = await engine.call("session.wait", session="s", state=[state], max_wait_ms=30_000)

    assert waited.state == state
    assert waited.state_known_by in ("kernel", "terminal")


@pytest.mark.parametrize(
    "line",
    [
        "sleep 30",
        COMPILE,
        "sleep 30 | cat",
        "yes > /dev/null",
        "tail -f /dev/null",
        "sh -c 'sleep 30; read x'",
    ],
)
async def test_a_program_that_works_is_never_said_to_wait(engine: Engine, line: str) -> None:
    await start(engine, line)

    seen: set[str] = set()
    with anyio.move_on_after(0.6):
        while True:
            seen.add((await engine.call("session.get", session="s")).state)
            await anyio.sleep(0.02)

    assert seen == {"running"}


async def test_waiting_is_told_soon_after_it_begins(engine: Engine, home: Path) -> None:
    """Nothing is printed before it: only the kernel can tell."""
    clock = SystemClock()
    began = home / "began"
    line = f"sleep 2; date +%s%N > {began}; read x"
    await engine.call("input.write", session="s", data=f"{line}\r")

    await engine.call("session.wait", session="s", state=["awaiting_input"], max_wait_ms=30_000)
    told_s = clock.wall_ns() / 1e9

    assert told_s - int(began.read_text()) / 1e9 < TOLD_S


async def test_followers_are_told_of_each_change_of_state(engine: Engine) -> None:
    session = engine.registry.find("s")
    words: list[str] = []

    with session.log.subscribe() as entries, anyio.fail_after(60):
        await engine.run("read x")
        await engine.run("answer")
        while "prompt" not in words:
            entry = await entries.receive()
            if isinstance(entry, Entry) and isinstance(entry.event, StateChanged):
                words.append(entry.event.state)
        # It may be told again when it is only known in another way.
        words = [word for word, _ in groupby(words)]

    assert words == ["running", "awaiting_input", "running", "prompt"] or words == [
        "running",
        "awaiting_input",
        "prompt",
    ]


async def test_a_shell_without_integration_says_so_and_waits_fall_back(engine: Engine) -> None:
    await engine.open("plain", command="bash --norc --noprofile")

    info = await engine.call("session.get", session="plain")
    answer = await engine.run("echo hello; sleep 0.2; echo there", session="plain")

    assert (info.integration, info.integration_reason is not None) == ("none", True)
    assert answer.completed_by in ("input", "idle")
    assert answer.exit_code is None
    assert answer.output == "hello\nthere"


async def test_without_marks_silence_is_an_end_where_nothing_else_tells(engine: Engine) -> None:
    await engine.open("plain", command="bash --norc --noprofile")

    answer = await engine.run("echo hello; sleep 100", session="plain", timeout_ms=300)

    assert (answer.completed_by, answer.exit_code) == ("idle", None)
    assert answer.output == "hello"


async def test_integration_is_turned_off_with_one_setting(engine: Engine) -> None:
    await engine.open("off", command="bash", integration=False)

    info = await engine.call("session.get", session="off")

    assert (info.integration, info.integration_reason) == ("none", "turned off by a setting")


async def test_a_program_gets_the_answer_that_it_asks_its_terminal_for(engine: Engine) -> None:
    ask = """IFS= read -rs -d R -p $'\\e[6n' place; echo "<${place#*[}>" """

    answer = await engine.run(ask)

    assert (answer.completed_by, answer.exit_code) == ("mark", 0)
    assert re.search(r"<\d+;\d+>", answer.output)


async def test_a_nested_shell_answers_without_marks(engine: Engine) -> None:
    await engine.run("bash --norc")

    answer = await engine.run("echo inner; sleep 0.3; echo end")
    left = await engine.run("exit 3")

    assert answer.completed_by == "input"
    assert answer.output == "inner\nend"
    assert (left.completed_by, left.exit_code) == ("mark", 3)


async def test_a_python_prompt_answers_each_line(engine: Engine) -> None:
    opened = await engine.run("python3 -q")

    answer = await engine.run("print(6 * 7)")

    assert (opened.completed_by, answer.completed_by) == ("input", "input")
    assert answer.output == "42"


async def test_a_full_screen_program_is_an_answer_and_can_be_left(engine: Engine) -> None:
    opened = await engine.run("vi -u NONE")
    await engine.call("input.press", session="s", keys=["i", "h", "i", "Escape"])
    left = await engine.run(":q!")

    assert (opened.completed_by, opened.state) == ("fullscreen", "fullscreen")
    assert (left.completed_by, left.exit_code, left.state) == ("mark", 0, "prompt")


PROMPT_LIKE = """
import asyncio, sys
async def main():
    loop = asyncio.get_running_loop()
    key = loop.create_future()
    loop.add_reader(0, lambda: key.done() or key.set_result(sys.stdin.readline()))
    print("press", "enter", flush=True)
    await key
asyncio.run(main())
"""


async def test_a_program_with_an_event_loop_that_waits_for_a_key_is_told(
    engine: Engine, home: Path
) -> None:
    (home / "prompt.py").write_text(PROMPT_LIKE)

    answer = await engine.run(f"python3 {home}/prompt.py")

    assert (answer.completed_by, answer.state) == ("input", "awaiting_input")


@pytest.mark.skipif(not (shutil.which("cc") and shutil.which("make")), reason="no compiler")
async def test_a_compile_is_never_said_to_wait(engine: Engine, home: Path) -> None:
    body = "".join(f"int f{i}(int x) {{ return x * {i} + (x >> 3); }}\n" for i in range(4_000))
    (home / "big.c").write_text(body + "int main(void) { return f1(2); }\n")
    (home / "Makefile").write_text("big: big.c\n\tcc -O2 -o big big.c\n")
    session = engine.registry.find("s")

    seen: set[str] = set()
    ran = len(session.recent)
    await engine.call("input.write", session="s", data=f"make -C {home} big\r")
    while len(session.recent) == ran:
        seen.add((await session.look()).word)
        await anyio.sleep(0.005)

    assert (home / "big").exists()
    assert seen <= {"running", "prompt"}
    assert "running" in seen
