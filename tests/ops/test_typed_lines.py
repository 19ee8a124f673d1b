"""An agent's Enter needs a known line: what it types is judged like a run, and refused where it is not known."""

import sys
from pathlib import Path
from shutil import which

import anyio
import pytest

from duetty.blocks import Phase
from duetty.errors import PolicyDenied, SessionBusy
from duetty.session import edited_text, ends_line, plain_text
from duetty.session.typed_text import TypedText
from tests.engine import AGENT, Engine, wait_phase
from tests.ops.at_a_shell import ANNA, session_of, typed

pytestmark = [pytest.mark.anyio, pytest.mark.shells]

EDITORS = ["bash", "zsh", "fish"]
SHELLS = [*EDITORS, "dash"]
GRAVE = "mkfs.ext4 /nowhere/at/all"
"""Does nothing should it run after all; then it would say so."""


async def shown(engine: Engine, text: str) -> None:
    await engine.call("session.wait", session="s", text=text, max_wait_ms=30_000)


async def refused(engine: Engine, *pieces: str, hint: str = "") -> None:
    with pytest.raises(PolicyDenied) as error:
        await typed(engine, *pieces)
    assert hint in (error.value.hint or "")
    screen = "\n".join(engine.registry.find("s").screen(styled=False).text_lines)
    assert "mke2fs" not in screen
    assert "No such file" not in screen


async def pressed(engine: Engine, *keys: str) -> None:
    await engine.call("input.press", session="s", keys=list(keys))


# --- at a shell's prompt ------------------------------------------------------------


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_harmless_line_runs_however_it_is_typed(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        await typed(engine, "echo o''ne\r")
        await shown(engine, "one")
        await typed(engine, *"echo t''wo", "\r")
        await shown(engine, "two")
        await engine.call("input.paste", session="s", text="echo th''ree")
        await pressed(engine, "Enter")
        await shown(engine, "three")
        await pressed(engine, *"echo", "Space", *"fo''ur", "Enter")
        await shown(engine, "four")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("pieces", [(f"{GRAVE}\r",), (*GRAVE, "\r")], ids=["at once", "by keys"])
@pytest.mark.sampled(3)
async def test_a_destructive_line_is_refused_and_the_next_one_runs(
    home: Path, shell: str, pieces: tuple[str, ...]
) -> None:
    async with session_of(home, shell) as engine:
        await refused(engine, *pieces)
        await pressed(engine, "Ctrl-C")

        answer = await engine.run("echo after")

        assert (answer.exit_code, answer.output.strip()) == (0, "after")


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_pasted_line_is_judged(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        await engine.call("input.paste", session="s", text=GRAVE)

        await refused(engine, "\r")


@pytest.mark.parametrize("shell", SHELLS)
async def test_several_lines_in_one_write_are_judged_together(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        await refused(engine, f"echo first\r{GRAVE}\r")
        await typed(engine, "echo fi''rst\recho sec''ond\r")

        await shown(engine, "second")


@pytest.mark.parametrize("shell", EDITORS)
@pytest.mark.parametrize(
    "keys",
    [("ls", "\x01", "\r"), ("\x1b[A", "\r"), ("ech", "\t", "\r"), ("lsx", "\x7f", "\r")],
    ids=["edited", "recalled", "completed", "backspace"],
)
@pytest.mark.sampled(3)
async def test_a_line_that_is_not_known_is_refused_with_the_hint_to_run_it(
    home: Path, shell: str, keys: tuple[str, ...]
) -> None:
    async with session_of(home, shell) as engine:
        await refused(engine, *keys, hint="run")
        await pressed(engine, "Ctrl-C")
        await wait_phase(engine.registry.find("s"), Phase.INPUT)

        await typed(engine, "echo kn''own\r")

        await shown(engine, "known")


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_persons_half_line_is_not_ended_by_an_agent(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        half = {"session": "s", "data": "echo half "}
        await engine.dispatcher.call(ANNA, "input.write", half)
        await shown(engine, "echo half")

        await refused(engine, "line\r")
        await refused(engine, "\r")


@pytest.mark.parametrize(
    ("shell", "may"), [("bash", False), ("zsh", False), ("fish", True), ("dash", True)]
)
async def test_history_signs_are_refused_where_the_shell_has_them_on(
    home: Path, shell: str, may: bool
) -> None:
    async with session_of(home, shell) as engine:
        if may:
            await typed(engine, "echo o''k!\r")
            await shown(engine, "ok!")
        else:
            await refused(engine, "echo ok!!\r", hint="run")


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_line_that_goes_on_is_judged_as_a_whole(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        await typed(engine, "echo be\\\r")
        await typed(engine, "gun\r")
        await shown(engine, "begun")
        await typed(engine, "rm -rf \\\r")

        await refused(engine, "/nowhere/at/all\r")


@pytest.mark.parametrize("shell", ["bash", "zsh", "dash"])
async def test_a_loop_is_typed_line_by_line(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        session = engine.registry.find("s")
        for line in ("for i in 1 2", "do echo round-$i"):
            await typed(engine, f"{line}\r")
            await wait_phase(session, Phase.CONTINUATION)
        await typed(engine, "done\r")

        await shown(engine, "round-2")


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_line_that_somebody_else_began_is_not_ended_by_a_run(
    home: Path, shell: str
) -> None:
    async with session_of(home, shell) as engine:
        session = engine.registry.find("s")
        begun = {"session": "s", "data": "echo x \\\r"}
        await engine.dispatcher.call(ANNA, "input.write", begun)
        if shell == "fish":
            await engine.call("session.wait", session="s", idle_ms=300, max_wait_ms=30_000)
        else:
            await wait_phase(session, Phase.CONTINUATION)

        with pytest.raises((PolicyDenied, SessionBusy)):
            await engine.run("more")


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_persons_own_line_is_never_judged(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        line = {"session": "s", "data": f"{GRAVE}\r"}
        await engine.dispatcher.call(ANNA, "input.write", line)

        await engine.call(
            "session.wait",
            session="s",
            regex="mke2fs|No such|not found|Unknown",
            max_wait_ms=30_000,
        )


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_yes_lets_the_line_run(home: Path, shell: str) -> None:
    (home / "config.toml").write_text(
        '[[policy.rules]]\nname = "asks"\ndecide = "ask"\ncommand = ["touch **"]\n'
    )
    async with session_of(home, shell, approval_ask="always") as engine:
        desk = engine.services.approvals
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(typed, engine, "touch made && echo do''ne\r")
            while not desk.pending():
                with desk.subscribe() as entries:
                    await entries.wait()
            assert not (home / "made").exists()
            answer = {"approval": desk.pending()[0].id}
            await engine.dispatcher.call(ANNA, "approval.approve", answer)

        await shown(engine, "done")
        assert (home / "made").exists()


async def test_a_line_that_changes_while_a_person_is_asked_is_not_typed(home: Path) -> None:
    (home / "config.toml").write_text(
        '[[policy.rules]]\nname = "asks"\ndecide = "ask"\ncommand = ["touch **"]\n'
    )
    async with session_of(home, "bash", approval_ask="always") as engine:
        desk, failed = engine.services.approvals, list[Exception]()

        async def types() -> None:
            try:
                await typed(engine, "touch made\r")
            except SessionBusy as error:
                failed.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(types)
            while not desk.pending():
                with desk.subscribe() as entries:
                    await entries.wait()
            await engine.dispatcher.call(ANNA, "input.write", {"session": "s", "data": "rmx"})
            await shown(engine, "rmx")
            answer = {"approval": desk.pending()[0].id}
            await engine.dispatcher.call(ANNA, "approval.approve", answer)

        assert len(failed) == 1
        assert not (home / "made").exists()


async def test_typed_lines_and_runs_take_turns(home: Path) -> None:
    async with session_of(home, "bash") as engine:
        answers: list[str] = []

        async def runs(number: int) -> None:
            answers.append((await engine.run(f"echo run-{number}")).output)

        async with anyio.create_task_group() as tasks:
            for number in range(5):
                tasks.start_soon(runs, number)
                tasks.start_soon(typed, engine, f"echo ty''ped-{number} >>seen\r")
        seen = await engine.run("sort seen")

        assert sorted(answers) == [f"run-{number}" for number in range(5)]
        assert seen.output.split() == [f"typed-{number}" for number in range(5)]


@pytest.mark.parametrize("shell", SHELLS)
async def test_strict_lets_agents_type_at_no_prompt(home: Path, shell: str) -> None:
    async with session_of(home, shell, policy_profile="strict") as engine:
        await refused(engine, "l", hint="run")
        await refused(engine, "ls\r", hint="run")

        await pressed(engine, "Ctrl-C")


@pytest.mark.parametrize(
    "line",
    ["set -x", 'PS1="(x) $PS1"', "stty -ixon", "printf '\\033]133;D'", "set +H", "unset PS0"],
)
async def test_lines_that_change_the_shell_are_plain_lines(home: Path, line: str) -> None:
    async with session_of(home, "bash") as engine:
        first = await engine.run(line)
        await engine.run("{ set +x; } 2>/dev/null")

        answer = await engine.run("echo after")

        assert first.exit_code == 0
        assert (answer.exit_code, answer.output.strip()) == (0, "after")


# --- into a program -----------------------------------------------------------------


async def program(engine: Engine, line: str, prompt: str) -> None:
    await engine.run(line)
    await shown(engine, prompt)


@pytest.mark.parametrize("shell", SHELLS)
async def test_python_takes_keys_and_asks_about_what_destroys(home: Path, shell: str) -> None:
    async with session_of(home, shell) as engine:
        await program(engine, f"{sys.executable} -q", ">>>")
        await typed(engine, "x = '${unclosed'\r", "print(len(x) * 1111)\r")
        await shown(engine, "11110")

        await refused(engine, "import shutil; shutil.rmtree('/')\r")
        await refused(engine, "import os; os.system('rm ", "-rf /')\r")

        await pressed(engine, "Ctrl-C")
        await shown(engine, "KeyboardInterrupt")
        await typed(engine, "print('al' 'ive')\r")
        await shown(engine, "alive")


@pytest.mark.parametrize("inner", ["bash --norc", "dash", "script -qc 'bash --norc' /dev/null"])
async def test_a_shell_in_the_shell_takes_keys_and_asks_about_what_destroys(
    home: Path, inner: str
) -> None:
    if which(inner.split()[0]) is None:
        pytest.skip(f"{inner} is not here")
    async with session_of(home, "bash") as engine:
        await engine.run(inner)
        await typed(engine, "echo in''side\r")
        await shown(engine, "inside")

        await refused(engine, f"{GRAVE}\r")
        await refused(engine, *GRAVE, "\r")
        with pytest.raises(PolicyDenied):
            await engine.run(GRAVE)


async def test_a_password_is_not_judged_and_not_kept(home: Path) -> None:
    async with session_of(home, "bash") as engine:
        await engine.run("read -s -p 'password: ' x; echo got ${#x}", max_wait_ms=60_000)
        await typed(engine, "rm -rf /\r")
        await shown(engine, "got 8")

        records = await engine.dispatcher.call(ANNA, "audit.list", {})

        assert "rm -rf" not in str(records)


@pytest.mark.skipif(which("vim") is None and which("vi") is None, reason="no vi here")
async def test_an_editor_takes_text_and_asks_about_what_it_hands_to_a_shell(home: Path) -> None:
    editor = "vim -u NONE" if which("vim") else "vi"
    async with session_of(home, "bash") as engine:
        await engine.run(f"{editor} script.sh")
        await typed(engine, "i", "rm -rf /\r", f"{GRAVE}\r", "\x1b")

        await refused(engine, f":!{GRAVE}\r")

        await typed(engine, "\x1b", ":wq\r")
        await wait_phase(engine.registry.find("s"), Phase.INPUT)
        answer = await engine.run("cat script.sh")
        assert answer.output.strip().splitlines()[:2] == ["rm -rf /", GRAVE]


async def test_keys_behind_the_first_line_go_to_the_program_that_it_starts(home: Path) -> None:
    async with session_of(home, "bash") as engine:
        await typed(engine, f"{sys.executable} -q\rx=1\x1b[D\x1b[C\rprint('al' 'ive')\r")

        await shown(engine, "alive")


# --- the text of keys ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"ls -l", "ls -l"),
        (b"ls\r", "ls\n"),
        (b"a\r\nb\n", "a\nb\n"),
        (b"\x1b[200~a\tb\rc\x1b[201~\r", "a\tb\nc\n"),
        ("grüße 🙂".encode(), "grüße 🙂"),
        (b"l\ts", None),
        (b"\x1b[A\r", None),
        (b"ls\x7f", None),
        (b"\x1b[200~a\x03b\x1b[201~", None),
    ],
)
def test_only_text_and_line_ends_are_known(data: bytes, text: str | None) -> None:
    assert plain_text(data) == text


def test_what_keys_take_away_is_not_in_the_text() -> None:
    assert edited_text(b"rmx\x7f -rf\x1b[D /\r") == "rm -rf /\n"
    assert edited_text(b"first\rsecond\x15third") == "first\nthird"


@pytest.mark.parametrize(
    ("data", "ends"),
    [
        (b"ls", False),
        (b"ls\r", True),
        (b"ls\n", True),
        (b"ls\x0f", True),
        (b"\x18\x05", True),
        (b"\x1b[200~a\rb\x1b[201~", False),
    ],
)
def test_which_keys_end_a_line(data: bytes, ends: bool) -> None:
    assert ends_line(data) is ends


def test_a_backslash_ends_no_line_of_a_program() -> None:
    typed = TypedText()
    typed.add(b"first\rrm -rf \\\r/nowhere", AGENT)

    assert typed.begun == "rm -rf \\\n/nowhere"
