"""What holds for every shell we know."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from duetty.shell import MarkKind, strip_nonce
from tests.shell.real import NONCE, Ran, RealShell, kinds, open_shell

pytestmark = pytest.mark.shells

SHELLS = ["bash", "zsh", "fish", "dash"]
WITH_OUTPUT = ["bash", "zsh", "fish"]
"""dash has no hook before a command: no C, and D at every prompt."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".zshrc").touch()  # or zsh greets a new user
    return tmp_path


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, home: Path) -> Iterator[RealShell]:
    with open_shell(home, request.param) as opened:
        yield opened


@pytest.fixture(params=WITH_OUTPUT)
def hooked(request: pytest.FixtureRequest, home: Path) -> Iterator[RealShell]:
    with open_shell(home, request.param) as opened:
        yield opened


def test_a_new_shell_announces_its_prompt_and_no_end(shell: RealShell) -> None:
    assert kinds(shell.trusted) == "AB"


def test_a_line_is_announced_from_its_start_to_the_next_prompt(
    hooked: RealShell, home: Path
) -> None:
    ran = hooked.run("echo hello")

    assert (ran.kinds, ran.exit_code, ran.command_line) == ("CDAB", 0, "echo hello")
    assert ran.output.endswith(b"hello\r\n")
    assert Path(ran.cwd or "").samefile(home)


def test_dash_announces_the_end_with_the_next_prompt(home: Path) -> None:
    with open_shell(home, "dash") as shell:
        ran = shell.run("echo hello")

    assert ran == Ran(
        kinds="DAB", exit_code=0, cwd=str(home), command_line=None, output=b"hello\r\n"
    )


@pytest.mark.parametrize(
    ("line", "exit_code"),
    [
        ("true", 0),
        ("false", 1),
        ("sh -c 'exit 3'", 3),
        ("true | false", 1),
        ("false | true", 0),
        ("nosuch_command", 127),
        ("cd /nosuch 2>/dev/null; false; true", 0),
        ("sh -c 'kill -9 $$'", 137),
    ],
)
def test_an_exit_code_is_the_shells_own(shell: RealShell, line: str, exit_code: int) -> None:
    shell.run("false")

    assert shell.run(line).exit_code == exit_code


def test_an_interrupted_command_ends_with_130(shell: RealShell) -> None:
    since = len(shell.trusted)
    shell.write("sh -c 'echo started; exec sleep 100'\n")
    shell.wait_text("started\r\n")

    shell.write("\x03")
    done = shell.wait_mark(MarkKind.DONE, since=since)

    assert done.exit_code == 130


def test_a_job_in_the_background_ends_its_line_at_once(shell: RealShell) -> None:
    assert shell.run("sleep 100 &").exit_code == 0
    assert shell.run("kill %1 2>/dev/null; true").exit_code == 0


def test_output_without_a_line_end_is_all_of_the_output(shell: RealShell) -> None:
    assert shell.run("printf partial").output.endswith(b"partial")


def test_an_empty_line_ends_nothing(hooked: RealShell) -> None:
    hooked.run("false")

    assert hooked.enter("\n") == "AB"


def test_an_interrupted_prompt_ends_nothing(hooked: RealShell) -> None:
    hooked.run("true")
    at = len(hooked.output)
    hooked.write("abandoned")
    hooked.wait_text("abandoned", since=at)

    assert hooked.interrupt().replace("B", "") in ("A", "AA")
    assert hooked.run("true").kinds == "CDAB"


@pytest.mark.parametrize(
    "name", ["with space", "ünï€", "semi;colon=x", "quote'\"s", "percent%41\\n", "trailing "]
)
def test_a_directory_is_told_exactly(shell: RealShell, home: Path, name: str) -> None:
    (home / name).mkdir()
    (home / "there").symlink_to(home / name)

    shell.run("cd there")

    assert shell.run('cd "$(pwd -P)"').cwd == str(home / name)


@pytest.mark.parametrize(
    "line",
    [
        "echo 'a; b' \"c\" \\d",
        "echo ünïcödé € 😀",
        "true; true && true | cat # comment",
        "echo %41 $HOME 'it'\"'\"'s'",
        "echo '; nonce=1; cwd=/x'",
        "printf '%s\\n' 'a  b'   >  /dev/null",
    ],
)
def test_a_command_line_is_told_exactly(hooked: RealShell, line: str) -> None:
    assert hooked.run(line).command_line == line


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_a_command_line_with_control_characters_is_told_exactly(home: Path, name: str) -> None:
    line = "echo '\x1b]0;x\x07\ty'"
    typed = "".join("\x16" + char if char in "\x1b\x07\t" else char for char in line)

    with open_shell(home, name) as shell:
        assert shell.run(typed).command_line == line


def test_a_command_line_that_is_too_long_is_not_told(hooked: RealShell) -> None:
    ran = hooked.run("true " + "x" * 5000)

    assert (ran.kinds, ran.exit_code, ran.command_line) == ("CDAB", 0, None)


def test_a_line_of_several_lines_is_one_command(hooked: RealShell) -> None:
    line = "echo 'one\ntwo'"

    ran = hooked.run(line)

    assert ran.exit_code == 0
    assert ran.command_line == line
    assert ran.output.endswith(b"one\r\ntwo\r\n")


@pytest.mark.parametrize("name", ["bash", "zsh", "dash"])
def test_a_line_that_goes_on_is_asked_for_by_a_secondary_prompt(home: Path, name: str) -> None:
    with open_shell(home, name) as shell:
        since = len(shell.trusted)
        shell.write("cat <<END\n")
        shell.wait_mark(MarkKind.INPUT, since=since, secondary=True)
        first = kinds(shell.trusted[since:])
        ran = shell.run("text\nEND")

    assert first == "ab"
    assert ran.kinds in ("abCDAB", "abDAB")
    assert ran.output.endswith(b"text\r\n")


@pytest.mark.parametrize("name", ["bash", "zsh", "dash"])
def test_a_line_given_up_at_a_secondary_prompt_ends_without_having_run(
    home: Path, name: str
) -> None:
    with open_shell(home, name) as shell:
        since = len(shell.trusted)
        shell.write("echo 'open\n")
        shell.wait_mark(MarkKind.INPUT, since=since, secondary=True)
        shell.write("more")
        shell.wait_text("more")
        given_up = shell.interrupt()
        ran = shell.run("true")

    assert given_up == "DAB"
    assert ran.exit_code == 0


@pytest.mark.parametrize(
    ("name", "exit_code"), [("bash", 2), ("zsh", None), ("fish", None), ("dash", 2)]
)
def test_a_line_the_shell_refuses_ends_without_having_run(
    home: Path, name: str, exit_code: int | None
) -> None:
    with open_shell(home, name) as shell:
        ran = shell.run("echo )")

    assert (ran.kinds.rstrip("B"), ran.exit_code) == ("DA", exit_code)


def test_the_nonce_is_not_given_to_children(shell: RealShell) -> None:
    export = {"fish": "set --show"}.get(str(shell.shell), "export -p")
    leaks = shell.run(f"env; cat /proc/$PPID/environ /proc/self/environ; {export} | grep -i x")
    files = shell.run("cat /proc/self/fd/9")

    assert NONCE.encode() not in leaks.output.replace(b"$_duetty_nonce[1]: |", b"")
    assert NONCE.encode() not in files.output
    assert b"_DUETTY" not in leaks.output


@pytest.mark.parametrize("name", ["bash", "zsh", "dash"])
def test_the_descriptor_of_the_nonce_is_closed(home: Path, name: str) -> None:
    with open_shell(home, name) as shell:
        assert shell.run("test -e /proc/self/fd/9").exit_code == 1


def test_a_program_that_prints_marks_is_not_trusted(shell: RealShell, home: Path) -> None:
    (home / "forged").write_bytes(b"\x1b]133;D;0;nonce=0\x07\x1b]133;A\x07\x1b]133;C;nonce=\x07")

    ran = shell.run("cat forged; false")

    assert ran.exit_code == 1
    assert [mark.kind.value for mark in shell.marks if not mark.trusted] == ["D", "A", "C"]


def test_a_recording_of_the_session_is_not_trusted_in_it(shell: RealShell, home: Path) -> None:
    shell.run("false")
    (home / "recording").write_bytes(strip_nonce(bytes(shell.output), NONCE))

    assert shell.run("cat recording; true").exit_code == 0


@pytest.mark.parametrize("nested", ["bash --norc", "zsh -f", "dash"])
@pytest.mark.parametrize("name", ["bash", "zsh", "dash"])
def test_a_shell_inside_the_shell_announces_nothing(home: Path, name: str, nested: str) -> None:
    for file in (".bashrc", ".zshrc"):
        (home / file).write_text("export PS0 PS1='at> ' PS2\n")

    with open_shell(home, name, env={"PS1": "at> "}) as shell:
        since, at = len(shell.trusted), len(shell.output)
        shell.write(f"{nested}\n")
        shell.wait_text("at> ", since=at)
        shell.write("false\n")
        shell.write("exit 7\n")
        done = shell.wait_mark(MarkKind.DONE, since=since)
        marks = kinds(shell.trusted[since:])

    assert done.exit_code == 7
    assert marks in ("CD", "D", "CDA", "DA", "CDAB", "DAB")


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_that_replaces_the_shell_announces_nothing(home: Path, name: str) -> None:
    with open_shell(home, name) as shell:
        since, at = len(shell.trusted), len(shell.output)
        shell.write("exec bash --norc\n")
        shell.wait_text("bash-5", since=at)
        shell.write("echo re''placed; false; true\n")
        shell.wait_text("replaced\r\n")
        shell.wait_text("bash-5", since=shell.output.index(b"replaced\r\n"))

    assert kinds(shell.trusted[since:]) in ("C", "")


KEPT = {
    "bash": ("false | (exit 3)", 'echo "$? ${PIPESTATUS[*]}"', b"3 1 3"),
    "zsh": ("false | (exit 3)", 'echo "$? $pipestatus"', b"3 1 3"),
    "fish": ("false | sh -c 'exit 3'", 'echo "$status $pipestatus"', b"3 1 3"),
    "dash": ("(exit 3)", "echo $?", b"3"),
}


@pytest.mark.parametrize("name", SHELLS)
def test_the_next_line_sees_the_status_of_the_line_before(home: Path, name: str) -> None:
    line, ask, told = KEPT[name]
    with open_shell(home, name) as shell:
        shell.run("true")
        shell.run(line)

        ran = shell.run(ask)

    assert ran.output.strip().endswith(told)


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_the_next_line_sees_the_last_word_of_the_line_before(home: Path, name: str) -> None:
    with open_shell(home, name) as shell:
        shell.run("mkdir 'a place'")

        ran = shell.run('cd "$_"')

    assert (ran.exit_code, ran.cwd) == (0, str(home / "a place"))


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_the_shell_tells_when_a_line_began_and_ended(home: Path, name: str) -> None:
    before_ns = time.time_ns()
    with open_shell(home, name) as shell:
        since = len(shell.trusted)
        shell.run("sleep 0.05")
        times = {mark.kind: mark.at_ns for mark in shell.trusted[since:] if mark.at_ns}
    began, ended = times[MarkKind.OUTPUT], times[MarkKind.DONE]

    assert before_ns <= began <= ended - 50_000_000
    assert ended <= time.time_ns()


def test_fish_tells_how_long_a_line_took(home: Path) -> None:
    with open_shell(home, "fish") as shell:
        since = len(shell.trusted)
        shell.run("sleep 0.05")
        done = shell.wait_mark(MarkKind.DONE, since=since)

    assert done.took_ns is not None
    assert done.took_ns >= 50_000_000
