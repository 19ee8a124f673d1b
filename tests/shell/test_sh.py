"""What users do to dash, and the marks all the same."""

from pathlib import Path

import pytest

from tests.shell.real import kinds, open_shell

pytestmark = pytest.mark.shells


@pytest.mark.parametrize("argv", [["dash"], ["dash", "-i"], ["sh"], ["dash", "-l"]])
def test_marks_come_however_it_is_started(tmp_path: Path, argv: list[str]) -> None:
    with open_shell(tmp_path, *argv) as shell:
        first = kinds(shell.trusted)
        rans = [shell.run(line) for line in ("true", "(exit 3)", "echo $?", "cd /", "set -u", "")]

    assert first == "AB"
    assert [(ran.kinds, ran.exit_code, ran.cwd) for ran in rans] == [
        ("DAB", 0, str(tmp_path)),
        ("DAB", 3, str(tmp_path)),
        ("DAB", 0, str(tmp_path)),
        ("DAB", 0, "/"),
        ("DAB", 0, "/"),
        ("DAB", 0, "/"),
    ]
    assert rans[2].output == b"3\r\n"


def test_the_users_env_file_is_read_and_the_variable_given_back(tmp_path: Path) -> None:
    (tmp_path / "shrc").write_text("PS1='P> ' PS2='P2> ' from=shrc\n")

    with open_shell(tmp_path, "dash", env={"ENV": "$HOME/shrc"}) as shell:
        ran = shell.run('echo "$from $ENV"; env | grep ENV')

    assert b"P> \x1b]133;B" in shell.output
    assert ran.output == b"shrc $HOME/shrc\r\nENV=$HOME/shrc\r\n"


def test_without_an_env_file_there_is_no_such_variable(tmp_path: Path) -> None:
    with open_shell(tmp_path, "dash") as shell:
        assert shell.run('test -z "${ENV+set}"').exit_code == 0


def test_a_login_shell_reads_the_profile(tmp_path: Path) -> None:
    (tmp_path / ".profile").write_text("from=profile\n")

    with open_shell(tmp_path, "dash", "-l") as shell:
        assert shell.run('test "$from" = profile').exit_code == 0


def test_a_directory_with_a_line_end_is_told_exactly(tmp_path: Path) -> None:
    (tmp_path / "a\nb;c").mkdir()

    with open_shell(tmp_path, "dash") as shell:
        assert shell.run("cd a*").cwd == f"{tmp_path}/a\nb;c"
