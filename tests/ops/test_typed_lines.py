"""Lines typed where no shell asks: judged by their text, which can only block."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from duetty.blocks import Phase
from duetty.calls import Actor
from duetty.config import Settings
from duetty.errors import PolicyDenied
from duetty.ops.judging.typed_lines import Typed, TypedLines
from duetty.policy import analyse
from duetty.policy.scanning.fed import RUNS_PRINTED
from duetty.session import Session
from tests.engine import Engine, running_engine
from tests.ops.at_a_shell import session_of
from tests.ops.test_policy_path import answer_next

GUARDED = Settings(session_grace_ms=300, policy_profile="guarded")
DESTRUCTIVE = "mkfs.ext4 /nowhere/at/all"
ANNA = Actor(kind="person", name="anna")


def test_a_line_is_whole_when_its_end_comes() -> None:
    typed = TypedLines()

    assert _taken(typed, "s", "rm -rf ") == []
    assert _taken(typed, "other", "ls\r") == ["ls"]
    assert _taken(typed, "s", "x\rls\nnext") == ["rm -rf x", "ls"]
    assert _taken(typed, "s", "\x15again\r") == ["again"]
    assert _taken(typed, "s", "ab\x7fc\x1b[D\x1b[200~d\x1b[201~\r") == ["acd"]


def _taken(typed: TypedLines, session: str, text: str) -> list[str]:
    lines = typed.lines(session, text)
    typed.take(session, text)
    return list(lines.commands)


def test_a_line_that_was_not_let_through_is_still_there() -> None:
    typed = TypedLines()
    typed.take("s", "rm -rf x")

    assert typed.lines("s", "\r") == typed.lines("s", "\r") == Typed(("rm -rf x",))


PARTS = [
    ("r\\", "m -rf victim"),
    ("r\\", "\\", "m -rf victim"),
    (": 'a' r\\\\; r\\", "m -rf victim"),
    ("rm -r\\", "f victim"),
    ("e'va'l \"r\"\\", "'m -rf victim'"),
    ('x="', '"; echo rm -rf victim |', "sh"),
    ("echo rm -rf victim |", "sh"),
    ("echo rm -rf victim |", "", "sh"),
    ("$(", "echo rm", ") -rf victim"),
    ("{ echo rm -rf victim", "} | sh"),
    ("(echo rm -rf victim", ") | sh"),
    ("if true", "then echo rm -rf victim", "fi | sh"),
    ("for x in 1", "do echo rm -rf victim", "done | sh"),
    ("while echo rm -rf victim", "do break; done | sh"),
    ("`", "echo rm`  -rf victim"),
    ("sh <<E", "r\\", "m -rf victim", "E"),
    ("{ echo rm -rf victim; } | sh",),
    ("if true; then", "rm -rf victim", "fi"),
]  # fmt: skip


@pytest.mark.parametrize("lines", PARTS, ids=" / ".join)
def test_the_parts_of_a_line_are_judged_as_one(lines: tuple[str, ...]) -> None:
    typed = TypedLines()
    found = [_taken(typed, "s", f"{line}\r") for line in lines]

    scans = [analyse(each).scan for commands in found for each in commands]
    assert any(scan.findings or RUNS_PRINTED in scan.unreadable for scan in scans)


def test_a_line_that_goes_on_for_longer_than_can_be_judged_says_so() -> None:
    typed = TypedLines()
    assert typed.lines("s", "r" + "''\\\r" * 2_100).is_untold
    assert typed.lines("s", "rm -rf x #" + "x" * 9_000 + "\r").is_untold
    assert not typed.lines("other", "(\r" + "x\r" * 5_000).is_untold


@pytest.mark.parametrize(
    "lines",
    [
        ("echo one", "echo two"),
        ("don't", "ls", "it isn't", "ls"),
        ("if x > 3:", "    print(1)", "", "x = 'a'"),
        ("cat > notes <<E", "it's (a list", "E", "ls"),
        ("for x in 1 2; do", "echo $x", "done"),
        ("f() {", "ls", "}"),
        ("make \\", "  test"),
        ('git commit -m "one', '', 'two, and a third"'),
        ("ls |", "wc -l"),
    ],
    ids=" / ".join,
)  # fmt: skip
def test_lines_of_several_parts_that_destroy_nothing_are_left_alone(lines: tuple[str, ...]) -> None:
    typed = TypedLines()
    for line in lines:
        assert not any(analyse(each).scan.findings for each in _taken(typed, "s", f"{line}\r"))


def test_what_is_open_at_a_shell_that_asks_is_kept_only_behind_a_line_of_its_own() -> None:
    typed = TypedLines()
    typed.take("own", "r\\\n", asks=True)
    typed.take("ahead", "dash\nr\\\n", asks=True)

    assert "rm x" not in typed.lines("own", "m x\n").commands
    assert "rm x" in typed.lines("ahead", "m x\n").commands


def test_a_whole_line_and_ctrl_c_end_what_was_open() -> None:
    typed = TypedLines()

    assert _taken(typed, "s", "echo 'a\rb'\rc\r")[-1] == "c"
    assert _taken(typed, "s", "echo 'a\r\x03b\r")[-1] == "b"


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize("shell", ["dash", "bash --norc", "zsh -f"])
async def test_no_shell_without_a_question_deletes_what_was_typed_in_parts(
    home: Path, shell: str
) -> None:
    (home / "victim").mkdir()
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(120):
            await engine.open(command=shell, cwd=str(home))
            for lines in PARTS:
                for line in lines:
                    with suppress(PolicyDenied):
                        await engine.call("input.write", session="s", data=f"{line}\r")
                    await engine.call("session.wait", session="s", idle_ms=50, max_wait_ms=2_000)
                assert (home / "victim").is_dir(), lines
                await engine.call("input.write", session="s", data="\x03")
                await engine.call("session.wait", session="s", idle_ms=50, max_wait_ms=2_000)


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_second_enter_does_not_run_what_the_first_one_did_not(home: Path) -> None:
    (home / "victim").mkdir()
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            session = await engine.open(command="dash", cwd=str(home))
            await engine.call("input.write", session="s", data="rm -rf victim")
            for _ in range(3):
                with pytest.raises(PolicyDenied):
                    await engine.call("input.write", session="s", data="\r")
            await engine.call("input.write", session="s", data="\x15echo har''mless\r")

            await see(session, "harmless")
            assert (home / "victim").is_dir()


async def see(session: Session, text: str) -> None:
    while not any(text in str(line) for line in session.screen(styled=False).lines):
        await session.pulse.wait()


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.parametrize("program", ["bash --norc", "python3 -q", "sh"])
async def test_a_destructive_line_is_not_typed_into_what_may_run_it(
    home: Path, program: str
) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            await engine.open(command=program)
            calls: list[tuple[str, dict[str, Any]]] = [
                ("input.write", {"data": f"{DESTRUCTIVE}\r"}),
                ("input.write", {"data": "bWtmcyAvbm93aGVyZQ0=", "encoding": "base64"}),
                ("input.paste", {"text": f"{DESTRUCTIVE}\n"}),
                ("input.press", {"keys": [*DESTRUCTIVE.replace(" ", "\t"), "Enter"]}),
            ]
            for name, arguments in calls:
                with pytest.raises(PolicyDenied) as refused:
                    await engine.call(name, session="s", **arguments)
                assert refused.value.details["reason"] == "destructive"
            for key in DESTRUCTIVE:
                await engine.call("input.write", session="s", data=key)
            with pytest.raises(PolicyDenied):
                await engine.call("input.press", session="s", keys=["Enter"])


@pytest.mark.parametrize(
    "line",
    [
        'import os; os.system("rm -rf victim")',
        'shutil.rmtree("victim")',
        '    os.remove("a")',
        'require("fs").rmSync("victim", {recursive: true})',
        'FileUtils.rm_rf "victim"',
        "unlink 'a'",
        "DROP TABLE users;",
        "delete from users;",
        "FLUSHALL",
        "db.users.drop()",
    ],
)
def test_a_line_that_may_be_code_is_judged_as_such(line: str) -> None:
    first, *others = TypedLines().lines("s", f"{line}\r").commands

    assert first == line
    [code] = others
    assert analyse(code).scan.findings


@pytest.mark.parametrize("line", ["print(1 + 1)", "x = [1, 2]", "select * from users;", "y = 'a'"])
def test_code_that_destroys_nothing_is_left_alone(line: str) -> None:
    for each in TypedLines().lines("s", f"{line}\r").commands:
        assert not analyse(each).scan.findings


@pytest.mark.anyio
@pytest.mark.pty
async def test_destructive_code_is_not_typed_into_an_interpreter(home: Path) -> None:
    (home / "victim").mkdir()
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            session = await engine.open(command="python3 -q", cwd=str(home))
            await see(session, ">>>")
            write = {"session": "s", "data": "import shutil, os\r"}
            await engine.call("input.write", **write)
            for code in ('shutil.rmtree("victim")', 'os.system("rm -rf victim")'):
                with pytest.raises(PolicyDenied) as refused:
                    await engine.call("input.write", session="s", data=f"{code}\r")
                assert refused.value.details["reason"] == "destructive"
            await engine.call("input.write", session="s", data='\x15print("har" + "mless")\r')

            await see(session, "harmless")
            assert (home / "victim").is_dir()


async def nested(engine: Engine) -> Session:
    session = await engine.open(command="bash")
    await engine.run("true")
    await engine.call("input.write", session="s", data="PS1='in''ner> ' sh\r")
    await see(session, "inner>")
    return session


@pytest.mark.anyio
@pytest.mark.pty
async def test_nor_into_a_shell_that_an_agent_started_in_another(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            session = await nested(engine)

            with pytest.raises(PolicyDenied):
                await engine.call("input.write", session="s", data=f"{DESTRUCTIVE}\r")
            await engine.call(
                "input.write", session="s", data="echo har''mless; $(echo ec''ho) a\r"
            )

            await see(session, "harmless")


SSH = """\
#!{python}
# What ssh does to its terminal: raw on this side, a shell on a terminal of its own on the other.
import os, pty
os.environ["PS1"] = "box> "
pty.spawn(["/bin/sh", "-i"])
"""


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_nor_into_ssh_whatever_shell_it_was_started_from(home: Path, shell: str) -> None:
    ssh = home / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(SSH.format(python=sys.executable))
    ssh.chmod(0o755)
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            session = await engine.open(command=shell)
            await engine.run("true")
            await engine.call("input.write", session="s", data=f"{ssh} box\r")
            await see(session, "box>")
            while session.echo_and_canonical() != (False, False):  # raw, as soon as it relays
                await anyio.sleep(0.01)

            with pytest.raises(PolicyDenied) as refused:
                await engine.call("input.write", session="s", data=f"{DESTRUCTIVE}\r")
            for key in DESTRUCTIVE:
                await engine.call("input.write", session="s", data=key)
            with pytest.raises(PolicyDenied):
                await engine.call("input.press", session="s", keys=["Enter"])
            await engine.call("input.write", session="s", data="\x15echo har''mless\r")

            await see(session, "harmless")
            assert refused.value.details["reason"] == "destructive"
            assert not any("not found" in line for line in session.screen(styled=False).text_lines)


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_person_types_there_what_they_like(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            session = await nested(engine)

            write = {"session": "s", "data": f"echo '{DESTRUCTIVE}' o''k\r"}
            await engine.dispatcher.call(ANNA, "input.write", write)

            await see(session, "all ok")


@pytest.mark.anyio
@pytest.mark.pty
async def test_what_is_typed_at_a_password_prompt_is_not_kept(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            session = await engine.open(
                command="sh -c 'stty -echo; echo ask; read x; stty echo; echo got'"
            )
            await see(session, "ask")
            with pytest.raises(PolicyDenied) as refused:
                await engine.call("input.write", session="s", data=f"{DESTRUCTIVE}\r")
            await engine.call("input.write", session="s", data="\x15rm-like;p4ss|word\r")
            await see(session, "got")

            assert DESTRUCTIVE not in str(refused.value)
            trail = engine.services.trail.directory
            for text in (DESTRUCTIVE, "p4ss|word"):
                assert not any(text.encode() in each.read_bytes() for each in trail.iterdir())


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.parametrize(
    "shell", ["sh", "bash --norc --noediting", "python3 -c 'import sys; sys.stdin.readline()'"]
)
async def test_a_shell_that_shows_nothing_is_typed_nothing_destructive(
    home: Path, shell: str
) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            session = await engine.open(command="bash")
            await engine.run("true")
            await engine.call("input.write", session="s", data=f"stty -echo; {shell}\r")
            while (
                session.echo_and_canonical() != (False, True) or session.phase is not Phase.RUNNING
            ):
                await anyio.sleep(0.01)

            with pytest.raises(PolicyDenied):
                await engine.call("input.write", session="s", data=f"{DESTRUCTIVE}\r")


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_shell_on_the_other_screen_is_typed_nothing_destructive_either(home: Path) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            session = await engine.open(command="bash")
            await engine.run("true")
            line = "printf '\\033[?1049h'; PS1='in''ner> ' bash --norc\r"
            await engine.call("input.write", session="s", data=line)
            await see(session, "inner>")

            with pytest.raises(PolicyDenied) as refused:
                await engine.call("input.write", session="s", data=f"{DESTRUCTIVE}\r")

            assert refused.value.details["reason"] == "destructive"


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_program_on_the_other_screen_gets_its_keys_but_no_command_for_a_shell(
    home: Path,
) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            session = await engine.open(command="bash")
            await engine.run("true")
            await engine.call("input.write", session="s", data="printf '\\033[?1049h'; cat\r")
            await engine.call("session.wait", session="s", state=["fullscreen"])

            for keys in (
                "ggdGifoo (bar)\t$x\r",
                "\x1b:%s/foo/bar/\r",
                "dd\r",
                ":q!\r",
                "/dev/sda\r",
            ):
                await engine.call("input.write", session="s", data=keys)
            for keys in (f":!{DESTRUCTIVE}\r", f"!{DESTRUCTIVE}\r", f":r !{DESTRUCTIVE}\r"):
                with pytest.raises(PolicyDenied):
                    await engine.call("input.write", session="s", data=keys)

            assert session.alternate_active


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize(
    ("shell", "reads"),
    [
        ("bash", "read -s word"),
        ("zsh", "read -s word"),
        ("fish", "read -s word"),
        ("bash", "python3 -c 'import tty; tty.setraw(0); input()'"),
    ],
)
async def test_what_nobody_sees_is_in_no_record_though_it_looks_like_a_command(
    home: Path, shell: str, reads: str
) -> None:
    async with running_engine(home, settings=GUARDED) as engine:
        with anyio.fail_after(60):
            session = await engine.open(command=shell)
            await engine.run("true")
            await engine.run(reads, max_wait_ms=3_000)
            await engine.call(
                "session.wait", session="s", state=["awaiting_input", "awaiting_password"]
            )
            while session.echo_and_canonical()[0]:
                await anyio.sleep(0.01)

            with suppress(PolicyDenied):
                await engine.call("input.write", session="s", data="rm -rf /home/SEKRET\r")

            records = await engine.dispatcher.call(ANNA, "audit.list", {"limit": 1_000})
            trail = engine.services.trail.directory
            assert "SEKRET" not in str(records)
            assert not any(b"SEKRET" in each.read_bytes() for each in trail.iterdir())


@pytest.mark.anyio
@pytest.mark.pty
async def test_what_was_typed_unseen_is_in_no_record_of_a_line_judged_with_it(home: Path) -> None:
    asking = Settings(
        session_grace_ms=300, policy_profile="guarded", approval_ask="always", approval_wait_s=2
    )
    async with running_engine(home, settings=asking) as engine:
        with anyio.fail_after(60):
            session = await engine.open(
                command="sh -c 'stty -echo; echo ask; read x; stty echo; echo g''ot; exec cat'"
            )
            await see(session, "ask")
            await engine.call("input.write", session="s", data="it's SEKRET\r")
            await see(session, "got")
            while not session.echo_and_canonical()[0]:
                await anyio.sleep(0.01)

            with pytest.raises(PolicyDenied) as refused:
                await engine.call("input.write", session="s", data="'; rm -rf victim\r")

            records = await engine.dispatcher.call(ANNA, "audit.list", {"limit": 1_000})
            assert "SEKRET" not in f"{refused.value} {refused.value.details} {records}"


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    "keys",
    [
        "dash\nrm -rf victim\n",
        "dash\nr\\\nm -rf victim\n",
        "true\ndash\nrm -rf victim\n",
        "dash \\\n-i\nrm -rf victim\n",
    ],
)
async def test_lines_for_the_program_that_a_line_starts_are_judged_with_it(
    home: Path, shell: str, keys: str
) -> None:
    (home / "victim").mkdir()
    async with session_of(home, shell, policy_profile="guarded") as engine:
        with pytest.raises(PolicyDenied):
            await engine.call("input.write", session="s", data=keys)
        await engine.call("session.wait", session="s", idle_ms=300, max_wait_ms=5_000)

    assert (home / "victim").is_dir()


@pytest.mark.anyio
@pytest.mark.pty
@pytest.mark.shells
@pytest.mark.parametrize("shell", ["bash", "zsh"])
async def test_a_document_that_names_what_destroys_is_typed_at_a_prompt_unasked(
    home: Path, shell: str
) -> None:
    async with session_of(home, shell, policy_profile="guarded") as engine:
        data = "cat > notes <<E\rrm -rf build\rE\r"
        await engine.call("input.write", session="s", data=data)
        await engine.call("input.write", session="s", data="ls\recho ok\r")
        await engine.call("session.wait", session="s", idle_ms=500, max_wait_ms=5_000)
        assert (await engine.run("cat notes")).output == "rm -rf build"


@pytest.mark.anyio
@pytest.mark.pty
async def test_a_line_that_a_person_let_through_is_over(home: Path) -> None:
    (home / "victim").mkdir()
    asking = Settings(session_grace_ms=300, policy_profile="guarded", approval_ask="always")
    async with running_engine(home, settings=asking) as engine, anyio.create_task_group() as tasks:
        with anyio.fail_after(60):
            session = await engine.open(command="dash", cwd=str(home))
            await engine.call("input.write", session="s", data="rm -rf victim")
            tasks.start_soon(answer_next, engine, "approval.approve")
            await engine.call("input.write", session="s", data="\r")
            await engine.call("input.write", session="s", data="echo har''mless\r")

            await see(session, "harmless")
            assert not (home / "victim").exists()
