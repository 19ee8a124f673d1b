"""What users do to zsh, and the marks all the same."""

import re
from pathlib import Path

import pytest

from duetty.shell import MarkKind
from tests.shell.real import NONCE, kinds, open_shell

pytestmark = pytest.mark.shells

RC_FILES = {
    "nothing": "",
    "a precmd function": 'precmd() { print -r -- "<$? $pipestatus>"; false }',
    "lists of functions": 'f() { print "<$?>"; false }; precmd_functions=(f); preexec_functions=(f)',
    "both": "precmd() { false }; g() { false }; precmd_functions+=(g)",
    "a preexec function": 'preexec() { print -r -- "<run $1>" }',
    "a prompt made anew each time": 'precmd() { PROMPT="[$?] " }',
    "a prompt made anew by the list": 'f() { PS1="$RANDOM " }; precmd_functions+=(f)',
    "substitution in prompts": "setopt prompt_subst; PS1='$(print -n x)%# '; RPROMPT='%~'",
    "a failing prompt": "precmd() { nosuch_prompt; return 3 }",
    "a theme": "autoload -Uz promptinit; promptinit; prompt walters",
    "hooks": "autoload -Uz add-zsh-hook; f() { : }; add-zsh-hook precmd f; add-zsh-hook preexec f",
    "nounset": "setopt nounset",
    "other arrays": "setopt ksh_arrays sh_word_split",
    "no prompt_sp": "setopt no_prompt_sp",
    "no prompt_cr": "setopt no_prompt_cr",
    "its own end-of-line mark": "PROMPT_EOL_MARK='%%eol'",
    "all exported": "setopt all_export; export PS1 PS2 PROMPT_EOL_MARK=x",
    "no clobbering": "setopt noclobber",
    "ignore_eof, no_beep, extended_glob": "setopt ignore_eof no_beep extended_glob null_glob",
    "history without repetitions": "setopt hist_ignore_all_dups",
    "vi keys": "bindkey -v",
    "a DEBUG trap": "TRAPDEBUG() { last=$ZSH_DEBUG_CMD }",
    "err_return": "setopt err_return",
    "posix aliases": "alias -g print=false; alias builtin=false",
    "tracing into nothing": "exec 3>/dev/null",
}


@pytest.mark.parametrize("rc", RC_FILES)
@pytest.mark.sampled(3)
def test_marks_come_whatever_the_rc_file_does(tmp_path: Path, rc: str) -> None:
    (tmp_path / ".zshrc").write_text("HISTSIZE=100\n" + RC_FILES[rc] + "\n")

    with open_shell(tmp_path, "zsh") as shell:
        rans = [shell.run(line) for line in ("true", "(exit 3)", "echo $? \\;", " cd /", "echo )")]
        empty = shell.enter("\n")

    assert [(ran.kinds, ran.exit_code, ran.cwd, ran.command_line) for ran in rans[:4]] == [
        ("CDAB", 0, str(tmp_path), "true"),
        ("CDAB", 3, str(tmp_path), "(exit 3)"),
        ("CDAB", 0, str(tmp_path), "echo $? \\;"),
        ("CDAB", 0, "/", " cd /"),
    ]
    assert (rans[4].kinds, rans[4].exit_code) == ("DAB", None)
    assert rans[2].output.endswith(b"3 ;\r\n")
    assert empty == "AB"


@pytest.mark.parametrize("rc", ["a precmd function", "lists of functions", "no prompt_sp"])
def test_the_end_is_announced_before_the_users_functions(tmp_path: Path, rc: str) -> None:
    (tmp_path / ".zshrc").write_text(RC_FILES[rc] + "\n")

    with open_shell(tmp_path, "zsh") as shell:
        ran = shell.run("echo out; (exit 4)")

    assert ran.exit_code == 4
    assert ran.output.endswith(b"out\r\n")


def test_the_users_functions_see_the_users_status(tmp_path: Path) -> None:
    (tmp_path / ".zshrc").write_text(
        'precmd() { print "<1 $? $pipestatus>" }; f() { print "<2 $? $pipestatus>" }\n'
        "precmd_functions=(f)\n"
    )

    with open_shell(tmp_path, "zsh") as shell:
        shell.run("true | (exit 5)")
        shell.run("false | true")

    seen = re.findall(rb"<(. \d \d \d)>", shell.output)
    assert seen == [b"1 5 0 5", b"2 5 0 5", b"1 0 1 0", b"2 0 1 0"]


@pytest.mark.parametrize(
    "line",
    [
        "precmd_functions=()",
        "precmd_functions=() preexec_functions=()",
        "unset precmd_functions preexec_functions",
        "preexec_functions=()",
        "precmd() { print '<new>' }",
        "PS1='<new>'",
        'PS1="<new>$PS1"',
        "f() { PS1='<new>' }; precmd_functions+=(f)",
        "f() { PS1='<new>' }; precmd_functions=(f)",
        "PROMPT_EOL_MARK=''",
        "unset PROMPT_EOL_MARK",
        "setopt no_prompt_sp",
    ],
)
@pytest.mark.parametrize("rc", ["nothing", "both", "a prompt made anew each time"])
@pytest.mark.sampled(4)
def test_marks_survive_a_line_that_takes_them_away(tmp_path: Path, rc: str, line: str) -> None:
    (tmp_path / ".zshrc").write_text(RC_FILES[rc] + "\n")

    with open_shell(tmp_path, "zsh") as shell:
        changing = shell.run(f"{line}; (exit 6)")
        rans = [shell.run("(exit 3)"), shell.run("true"), shell.run("(exit 5)")]

    assert changing.exit_code == 6
    assert [(ran.kinds, ran.exit_code) for ran in rans] == [("CDAB", 3), ("CDAB", 0), ("CDAB", 5)]


def test_a_line_that_history_leaves_out_is_told_all_the_same(tmp_path: Path) -> None:
    (tmp_path / ".zshrc").write_text("setopt hist_ignore_space hist_no_store\n")

    with open_shell(tmp_path, "zsh") as shell:
        told = [shell.run(line).command_line for line in (" true 1", "history", " true 1")]

    assert told == [" true 1", "history", " true 1"]


def test_a_buffer_of_several_lines_is_one_command(tmp_path: Path) -> None:
    (tmp_path / ".zshrc").touch()

    with open_shell(tmp_path, "zsh") as shell:
        since = len(shell.trusted)
        shell.write("\x1b[200~echo a\n(exit 3)\ncd /\x1b[201~\n")
        shell.wait(lambda: "A" in kinds(shell.trusted[since:]), "prompt")
        marks = [mark for mark in shell.trusted[since:] if mark.kind in "CD"]

    assert [(mark.kind.value, mark.command_line, mark.cwd) for mark in marks] == [
        ("C", "echo a\n(exit 3)\ncd /", None),
        ("D", None, "/"),
    ]


def test_a_directory_with_control_characters_is_told_by_the_prompt(tmp_path: Path) -> None:
    (tmp_path / ".zshrc").touch()
    (tmp_path / "a\nb\x1bc").mkdir()

    with open_shell(tmp_path, "zsh") as shell:
        shell.run("cd a*")
        prompts = [mark for mark in shell.trusted if mark.kind is MarkKind.PROMPT]

    assert [mark.cwd for mark in prompts] == [None, f"{tmp_path}/a\nb\x1bc"]


def test_the_prompts_are_the_users_own_while_a_command_runs(tmp_path: Path) -> None:
    (tmp_path / ".zshrc").write_text("export PS1='P> ' PS2='> ' PROMPT_EOL_MARK='%%'\n")

    with open_shell(tmp_path, "zsh") as shell:
        shell.run("true")
        shown = shell.run("print -r -- $PS1 $PS2; env")
        eol = shell.run("printf x")
        at = shell.trusted[-1].end

    assert shown.output.split()[:2] == [b"P>", b">"]
    assert b"PS1=P> \r\nPS2=> \r\n" in shown.output.replace(b"PROMPT", b"")
    assert NONCE.encode() not in shown.output
    assert eol.output == b"x"
    assert b"\x07%   " in shell.output[:at]


@pytest.mark.parametrize("line", ["! true", "false || false || true && ! true"])
def test_a_shell_that_exits_on_errors_does_not_exit_on_ours(tmp_path: Path, line: str) -> None:
    (tmp_path / ".zshrc").touch()

    with open_shell(tmp_path, "zsh") as shell:
        shell.run("setopt err_exit")
        rans = [shell.run(line), shell.run("true")]

    assert [ran.exit_code for ran in rans] == [1, 0]


def test_a_prompt_is_as_wide_as_it_looks(tmp_path: Path) -> None:
    (tmp_path / ".zshrc").write_text("PS1='P> '\n")

    with open_shell(tmp_path, "zsh") as shell:
        at = shell.trusted[-1].end
        shell.write("x" * 150)
        shell.wait(lambda: shell.output.count(b"x", at) >= 150, "echo")

    assert b"\n" not in shell.output[at:]
    assert b"x \r" not in shell.output[at:]


def test_the_users_files_are_read_from_the_users_directory(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / ".zshenv").write_text(f"ZDOTDIR={other}\n")
    for name in (".zshrc", ".zprofile", ".zlogin"):
        (other / name).write_text(f"from+=({name}:$ZDOTDIR)\n")

    with open_shell(tmp_path, "zsh", "-l") as shell:
        ran = shell.run("print $from; [[ -o login ]]; env | grep -i dotdir")

    assert ran.output.decode().split() == [
        f"{name}:{other}" for name in (".zprofile", ".zshrc", ".zlogin")
    ]


def test_a_zdotdir_of_the_users_is_given_back(tmp_path: Path) -> None:
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / ".zshrc").write_text("from=z\n")

    with open_shell(tmp_path, "zsh", env={"ZDOTDIR": str(tmp_path / "z")}) as shell:
        ran = shell.run("print $from; env | grep ZDOTDIR")

    assert ran.output == f"z\r\nZDOTDIR={tmp_path}/z\r\n".encode()


def test_the_history_is_the_users_own(tmp_path: Path) -> None:
    (tmp_path / ".zshrc").write_text("HISTSIZE=100\n")

    with open_shell(tmp_path, "zsh") as shell:
        shell.run("true one")
        ran = shell.run("fc -l 1")

    assert [line.split(maxsplit=1)[1] for line in ran.output.splitlines()] == [b"true one"]
    assert NONCE.encode() not in ran.output


def test_a_function_that_comes_after_ours_costs_no_mark(tmp_path: Path) -> None:
    (tmp_path / ".zshrc").touch()

    with open_shell(tmp_path, "zsh") as shell:
        first = shell.run("late() { PS1='late> ' }; precmd_functions+=(late)")
        second = shell.run("true")

    assert (first.kinds, second.kinds) == ("CDAB", "CDAB")
    assert b"late> " in shell.output
