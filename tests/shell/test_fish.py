"""What users do to fish, and the marks all the same."""

from pathlib import Path

import pytest

from tests.shell.real import kinds, open_shell

pytestmark = pytest.mark.shells

CONFIGS = {
    "nothing": "",
    "its own prompt": 'function fish_prompt; echo -n "<$status> "; end',
    "a prompt of several lines": "function fish_prompt; echo top; echo -n '> '; end",
    "a failing prompt": "function fish_prompt; nosuch_prompt; echo -n '> '; return 3; end",
    "a right prompt": "function fish_right_prompt; echo right; end",
    "handlers of its own": "function f --on-event fish_prompt; false; end\n"
    "function g --on-event fish_preexec; false; end",
    "vi keys": "fish_vi_key_bindings",
    "no greeting": "set -g fish_greeting",
    "functions named as builtins": "function printf; builtin printf $argv; end",
}


def configured(home: Path, text: str) -> Path:
    (home / ".config" / "fish").mkdir(parents=True)
    (home / ".config" / "fish" / "config.fish").write_text(text + "\n")
    return home


@pytest.mark.parametrize("config", CONFIGS)
def test_marks_come_whatever_the_configuration_does(tmp_path: Path, config: str) -> None:
    with open_shell(configured(tmp_path, CONFIGS[config]), "fish") as shell:
        rans = [shell.run(line) for line in ("true", "sh -c 'exit 3'", "echo $status\\;", "cd /")]

    assert [(ran.kinds.rstrip("B"), ran.exit_code, ran.cwd, ran.command_line) for ran in rans] == [
        ("CDA", 0, str(tmp_path), "true"),
        ("CDA", 3, str(tmp_path), "sh -c 'exit 3'"),
        ("CDA", 0, str(tmp_path), "echo $status\\;"),
        ("CDA", 0, "/", "cd /"),
    ]
    assert rans[2].output.endswith(b"3;\r\n")


def test_the_prompt_sees_the_users_status(tmp_path: Path) -> None:
    with open_shell(configured(tmp_path, CONFIGS["its own prompt"]), "fish") as shell:
        shell.run("sh -c 'exit 5'")

    assert b"<5> " in shell.output


def test_marks_survive_a_prompt_redefined_later(tmp_path: Path) -> None:
    with open_shell(configured(tmp_path, ""), "fish") as shell:
        shell.run("function fish_prompt; echo -n 'new> '; end")
        ran = shell.run("false")

    assert (ran.kinds.rstrip("B"), ran.exit_code) == ("CDA", 1)
    assert shell.output.count(b"new> \x1b]133;B") >= 1


def test_the_prompt_function_is_the_users_own_while_a_command_runs(tmp_path: Path) -> None:
    with open_shell(configured(tmp_path, CONFIGS["its own prompt"]), "fish") as shell:
        shell.run("true")
        ran = shell.run("functions fish_prompt")

    assert b"status" in ran.output
    assert b"duetty" not in ran.output


def test_a_buffer_of_several_lines_is_one_command(tmp_path: Path) -> None:
    with open_shell(configured(tmp_path, ""), "fish") as shell:
        since = len(shell.trusted)
        shell.write("\x1b[200~echo a\necho b\ncd /\x1b[201~\n")
        shell.wait(lambda: "A" in kinds(shell.trusted[since:]), "prompt")
        marks = [mark for mark in shell.trusted[since:] if mark.kind in "CD"]

    assert [(mark.kind.value, mark.command_line, mark.cwd) for mark in marks] == [
        ("C", "echo a\necho b\ncd /", None),
        ("D", None, "/"),
    ]


def test_a_directory_with_control_characters_is_told_exactly(tmp_path: Path) -> None:
    (tmp_path / "a\nb\x1bc").mkdir()

    with open_shell(configured(tmp_path, ""), "fish") as shell:
        ran = shell.run("cd a*")

    assert ran.cwd == f"{tmp_path}/a\nb\x1bc"


def test_a_login_shell_is_a_login_shell(tmp_path: Path) -> None:
    with open_shell(configured(tmp_path, ""), "fish", "-l") as shell:
        assert shell.run("status is-login").exit_code == 0


def test_a_line_that_was_refused_can_be_given_up(tmp_path: Path) -> None:
    with open_shell(configured(tmp_path, ""), "fish") as shell:
        shell.run("echo )")
        shell.interrupt()
        ran = shell.run("false")

    assert (ran.exit_code, ran.command_line) == (1, "false")


def test_the_end_is_announced_before_the_users_functions(tmp_path: Path) -> None:
    configured(tmp_path, "function mine --on-event fish_postexec; echo MINE; end")

    with open_shell(tmp_path, "fish") as shell:
        ran = shell.run("true")
        again = shell.run("functions --handlers-type generic | string match '*mine*'")

    assert b"MINE" not in ran.output
    assert bytes(shell.output).count(b"MINE\r\n") == 2
    assert again.exit_code == 0


def test_a_tab_that_is_pasted_stays(tmp_path: Path) -> None:
    with open_shell(tmp_path, "fish") as shell:
        ran = shell.run("\x1b[200~printf 'a\tb\\n'\x1b[201~")

    assert ran.command_line == "printf 'a\tb\\n'"
    assert b"a\tb\r\n" in ran.output
